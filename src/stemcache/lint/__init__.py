"""Findings: what breaks the prefix of prompts in a log, what it costs and what mends it."""
