"""Capture of calls as they are made: exact request bytes, times, status, usage; no credentials."""
