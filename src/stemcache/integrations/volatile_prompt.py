"""What to do with a system prompt that will change, before it is sent: warn of it, or refuse it."""

import warnings
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from stemcache.errors import UsageError, unknown_choice
from stemcache.integrations.live_tell import CacheWarning
from stemcache.prompt.part import Text
from stemcache.prompt.segment import Segment
from stemcache.prompt.stability import Stability
from stemcache.prompt.volatile.check import Found, VolatileError, find

__all__ = ["VolatilePolicy", "checked_policy", "look_at"]

_MOST_REMEMBERED = 256


class VolatilePolicy(StrEnum):
    """What is done with a clock in a system prompt."""

    ALLOW = "allow"
    REFUSE = "refuse"
    WARN = "warn"


def checked_policy(policy: str) -> VolatilePolicy:
    """The policy of that name. Raises UsageError for one that there is not."""
    try:
        return VolatilePolicy(policy)
    except ValueError:
        raise UsageError(unknown_choice("policy", policy, "volatile", VolatilePolicy)) from None


def look_at(
    texts: Sequence[str], policy: VolatilePolicy, *, allow: frozenset[str], seen: set[str]
) -> None:
    """Look through the texts of a system prompt: about a second a megabyte, and once a text.

    Raises VolatileError where it is refused; else a `CacheWarning` says what, where, and where it
    belongs, once for each place and kind: `seen` has those of the program so far, and is added to.
    `allow` names families that are meant to be there.
    """
    if policy is VolatilePolicy.ALLOW:
        return
    found = [one for number, text in enumerate(texts) for one in _found(number, text, allow)]
    if not found:
        return
    if policy is VolatilePolicy.REFUSE:
        raise VolatileError(found)
    for one in found:
        key = f"{one.name} {one.part} {one.family} {one.what}"
        if key not in seen and len(seen) < _MOST_REMEMBERED:
            seen.add(key)
            warnings.warn(str(one), CacheWarning, stacklevel=3)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _found(number: int, text: str, allow: frozenset[str]) -> tuple[Found, ...]:
    name = f"system-{number}"
    parts = (Text(text),)
    return find([Segment(name=name, stability=Stability.STATIC, parts=parts, allow=allow)])
