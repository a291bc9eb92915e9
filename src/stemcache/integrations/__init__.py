"""stemcache inside other frameworks; each needs that framework, and is imported by name."""
