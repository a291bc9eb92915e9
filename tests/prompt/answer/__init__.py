"""Tests of `stemcache.prompt.answer`."""
