"""The longest entry that a request can read, and those that it could have read.

```
candidates    ○──────○──────○──────○──────○      walked from the longest down
entries       fresh  fresh         racing expired
                     ▲ read        ▲ raced ▲ expired: noted on the way to the first fresh one
```
"""

from bisect import bisect_left
from dataclasses import dataclass

from stemcache.provider.cache.candidates import Candidates
from stemcache.provider.cache.clock import State, state
from stemcache.provider.cache.entries import Entries, Entry
from stemcache.provider.rule import Rule

__all__ = ["Find", "Finds", "find_longest", "longer", "longer_of_each", "present"]


@dataclass(frozen=True, slots=True)
class Find:
    """An entry at a cut."""

    tokens: int
    """What reading it is worth."""
    chain: int
    """The entry's."""
    position: int
    """The position that ends there, or -1."""
    entry: Entry


@dataclass(frozen=True, slots=True)
class Finds:
    """The longest of each state, those only that are longer than the fresh one."""

    fresh: Find | None = None
    doubtful: Find | None = None
    racing: Find | None = None
    expired: Find | None = None


def present(entries: Entries, places: Candidates, salt: int) -> int:
    """How many of the shortest candidates are there, in a set closed under prefix: O(log)."""
    return bisect_left(places.chains, 1, key=lambda chain: 0 if chain ^ salt in entries else 1)


def find_longest(
    rule: Rule,
    entries: Entries,
    places: Candidates,
    *,
    count: int,
    salt: int,
    now_s: float | None,
    ended: bool,
) -> Finds:
    """Walks from the longest of the first `count` candidates down to one that is fresh.

    With `ended` only entries count at which a whole prompt ended.
    """
    doubtful: Find | None = None
    racing: Find | None = None
    expired: Find | None = None
    for index in range(count - 1, -1, -1):
        entry = entries.find(places.chains[index] ^ salt)
        if entry is None or (ended and not entry.ends_prompt):
            continue
        find = Find(places.tokens[index], places.chains[index], places.positions[index], entry)
        match state(rule, entry, now_s):
            case State.FRESH:
                return Finds(fresh=find, doubtful=doubtful, racing=racing, expired=expired)
            case State.DOUBTFUL:
                doubtful = doubtful or find
            case State.RACING:
                racing = racing or find
            case State.EXPIRED:
                expired = expired or find
    return Finds(doubtful=doubtful, racing=racing, expired=expired)


def longer_of_each(one: Finds, other: Finds) -> Finds:
    """Of each state the longer one."""
    return Finds(
        fresh=longer(one.fresh, other.fresh),
        doubtful=longer(one.doubtful, other.doubtful),
        racing=longer(one.racing, other.racing),
        expired=longer(one.expired, other.expired),
    )


def longer(one: Find | None, other: Find | None) -> Find | None:
    """The one that is worth more; the first where they are equal."""
    if one is None or other is None:
        return one or other
    return other if other.tokens > one.tokens else one
