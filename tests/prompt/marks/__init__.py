"""Tests of `stemcache.prompt.marks`."""
