"""Whether simulated hit rates are those of real engines."""
