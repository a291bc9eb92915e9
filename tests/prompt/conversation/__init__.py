"""Tests of `stemcache.prompt.conversation.conversation`."""
