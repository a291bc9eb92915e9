"""Prompts that are cacheable by construction: layout, marks, pinning, conversations, keep-alive."""
