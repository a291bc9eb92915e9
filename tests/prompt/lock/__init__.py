"""Tests of `stemcache.prompt.lock.portions`."""
