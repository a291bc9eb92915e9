"""Malformed input, made and tried."""
