"""Formats of request logs, one a file: how each is told, read, and how near to the wire it is."""
