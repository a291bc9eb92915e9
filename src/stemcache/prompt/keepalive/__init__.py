"""Pings while they pay."""
