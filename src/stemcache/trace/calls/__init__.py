"""Calls of language model APIs, as somebody recorded them: who reads which format, and the record."""
