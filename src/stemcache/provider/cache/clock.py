"""Whether an entry is there at a moment.

```
start of writing          readable         start of reading        low          high
      ├─────── racing ────────┼─────── fresh ──────┼────────────────┼─ doubtful ──┼── expired
      └──────────────────── gap ───────────────────┘
```
A gap runs from the START of the request that wrote the entry or last read it to the start of the
one that looks. What is not known is never held against an entry: without times nothing expires and
nothing races.
"""

from enum import Enum

from stemcache.provider.cache.entries import Entry
from stemcache.provider.rule import Rule, Ttl
from stemcache.provider.shape import Mark

__all__ = ["State", "gap_s", "state", "ttl_number", "ttl_of"]

_MOST_TTLS = 127


class State(Enum):
    """Of an entry, at a moment."""

    FRESH = 0
    DOUBTFUL = 1
    """Beyond the lifetime's low end, not beyond its high end: counts as there."""
    RACING = 2
    EXPIRED = 3


def ttl_number(rule: Rule, mark: Mark | None) -> int:
    """Which of the rule's lifetimes a mark asks for; the default where it names none of them."""
    name = mark.ttl if mark is not None else None
    for number, ttl in enumerate(rule.ttls[:_MOST_TTLS]):
        if ttl.name == name:
            return number
    return 0


def ttl_of(rule: Rule, number: int) -> Ttl | None:
    """The lifetime, or None where the provider states none."""
    return rule.ttls[number] if number < len(rule.ttls) else None


def gap_s(entry: Entry, now_s: float) -> float:
    """Seconds since the entry was used; `nan` where that is unknown."""
    return now_s - entry.started_s


def state(rule: Rule, entry: Entry, now_s: float | None) -> State:
    """Whether the entry can be found."""
    if now_s is None:
        return State.FRESH
    ttl = ttl_of(rule, entry.ttl)
    gap = gap_s(entry, now_s)
    if ttl is not None and gap > ttl.high_s:
        return State.EXPIRED
    if now_s < entry.readable_s:
        return State.RACING
    return State.DOUBTFUL if ttl is not None and gap > ttl.low_s else State.FRESH
