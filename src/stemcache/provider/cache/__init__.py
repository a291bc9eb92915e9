"""Provider caches as simulators: what a request leaves behind, and what a later one finds."""
