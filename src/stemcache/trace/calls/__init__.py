"""Calls of language model APIs, as somebody recorded them: the record, and readers of formats."""
