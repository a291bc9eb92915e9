"""Stable prefixes pinned by digest: what is pinned, what changed, what that costs."""
