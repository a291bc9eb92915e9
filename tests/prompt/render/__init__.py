"""Tests of `stemcache.prompt.render`."""
