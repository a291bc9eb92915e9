"""Where a request departs from its parent: what changed, and what is shared behind it."""
