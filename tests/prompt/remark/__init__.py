"""Tests of `stemcache.prompt.remark.marked`."""
