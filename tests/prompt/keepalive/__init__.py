"""Tests of `stemcache.prompt.keepalive.plan`."""
