"""Which earlier request a request goes on from, told by content and not by position."""
