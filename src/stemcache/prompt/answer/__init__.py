"""Answers of five APIs, plain or streamed, as parts."""
