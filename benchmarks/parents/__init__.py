"""How often the parent of a request is found among interleaved conversations."""
