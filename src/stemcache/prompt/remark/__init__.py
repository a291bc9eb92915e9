"""Marks for bodies that others have made."""
