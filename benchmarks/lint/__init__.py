"""How fast `stemcache lint` and other linters read a log, and in how much memory."""
