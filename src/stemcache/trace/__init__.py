"""Traces: when requests came and what their prompts share, without a word of any prompt."""
