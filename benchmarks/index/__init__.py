"""What the indexes cost: keys, verbs, eviction, memory; and what other packages cost."""
