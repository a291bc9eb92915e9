"""Tests of `stemcache.prompt.volatile.check`."""
