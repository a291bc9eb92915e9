"""Tests of `stemcache.prompt.warm.plan`."""
