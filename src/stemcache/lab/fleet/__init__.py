"""A fleet of caches behind a router, simulated in time."""
