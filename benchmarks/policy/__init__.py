"""Eviction policies on real traces, beside LRU and the optimum."""
