"""Request bodies as what a provider reads: spans of text in its order, with their markers."""
