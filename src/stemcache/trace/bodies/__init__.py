"""Logs of request bodies: where the body lies in a line, what its prompt is, and its tokens."""
