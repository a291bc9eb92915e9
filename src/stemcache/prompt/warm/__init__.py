"""One request ahead of many with the same beginning."""
