"""Histories made short when that pays."""
