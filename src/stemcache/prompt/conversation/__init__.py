"""Histories that only grow: kept, forked, saved, and told from what was rewritten."""
