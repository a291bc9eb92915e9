"""Compute a shared prompt prefix once, and say truthfully how often that happened."""

__all__ = ["__version__"]

__version__ = "0.1.0"
