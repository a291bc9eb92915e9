"""What a look at a volatile piece gives: whether words or its form tell, and how long it lasts."""

from dataclasses import dataclass

from stemcache.text.volatile.detector import Family

__all__ = ["Sight"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A piece that will change."""

    at: int
    """Characters before it on its line."""
    family: Family
    what: str
    """With an article: `an ISO time with seconds`."""
    said: bool
    """Whether words beside it say that it is of now, or of one request. Else its form does, as
    nobody writes a UUID by hand; documents have such forms for good."""
    each_request: bool
    """False: it may stay as it is for a conversation."""
