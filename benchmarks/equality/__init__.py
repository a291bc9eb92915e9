"""Whether answers change when their prefix comes from the cache."""
