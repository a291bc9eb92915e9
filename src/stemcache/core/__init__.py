"""Chains of block keys, and the two indexes that hold sets of chains closed under prefix.

Knows tokens, blocks, keys, leases and recency. Knows nothing of memory, models or requests.
"""
