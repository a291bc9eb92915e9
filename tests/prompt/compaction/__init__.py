"""Tests of `stemcache.prompt.compaction.step`."""
