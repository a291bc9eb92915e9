"""Warm one, then fan out: of many first requests of one prefix one goes ahead and writes it.

```
all at once      w w w w        four writes, for none can be read before one answer has begun
warm first       w│r r r        one write, three reads; the three begin one first token later
                  └ readable: the leader's answer begins, or ends, as the provider's rule has it
```
If the leader fails before that, the next one leads. A prefix that the provider would not keep is
not waited for.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from stemcache.prompt.given import check_number, check_type
from stemcache.prompt.keepalive.rates import Rates, Unit
from stemcache.provider.cache.cut import counted

__all__ = ["Group", "Queue", "WarmPlan", "plan_warm", "worth_waiting"]

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Calls of one prefix, by their numbers in the order given."""

    leader: int
    followers: tuple[int, ...]
    """They wait for the leader."""
    saved: float
    """What that saves beside sending all at once, in `unit` of the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmPlan:
    """What is sent at first, and what waits for what. For a dry run."""

    groups: tuple[Group, ...]
    """In the order of their leaders."""
    saved: float
    unit: Unit

    @property
    def at_once(self) -> int:
        """How many calls start immediately."""
        return len(self.groups)


def worth_waiting(rates: Rates, prefix_tokens: int) -> bool:
    """Whether a follower that waits pays less than one that writes too.

    False below the provider's minimum, and where nothing is known to be kept.
    """
    if rates.rule.kind in {"usage-only", "objects"} or not counted(rates.rule, prefix_tokens):
        return False
    return rates.cold(prefix_tokens) > rates.warm(prefix_tokens)


def plan_warm(prefixes: Sequence[tuple[K, int]], rates: Rates) -> WarmPlan:
    """The plan for calls with these prefixes, each a key and its tokens. Costs O(calls).

    The longest length given for a key counts, for estimates differ. Raises UsageError for tokens
    that are no whole number from 0 on.
    """
    check_type(rates, Rates, "rates", "give what rates(rule, price) makes")
    calls: dict[K, list[int]] = {}
    longest: dict[K, int] = {}
    groups: list[Group] = []
    for number, (key, tokens) in enumerate(prefixes):
        check_number(tokens, f"the tokens of prefixes[{number}]", low=0, whole=True)
        calls.setdefault(key, []).append(number)
        longest[key] = max(longest.get(key, 0), tokens)
    for key, numbers in calls.items():
        tokens = longest[key]
        if worth_waiting(rates, tokens):
            saved = (len(numbers) - 1) * (rates.cold(tokens) - rates.warm(tokens))
            leader, *others = numbers
            groups.append(Group(leader=leader, followers=tuple(others), saved=saved))
        else:
            groups.extend(Group(leader=one, followers=(), saved=0.0) for one in numbers)
    groups.sort(key=lambda group: group.leader)
    return WarmPlan(
        groups=tuple(groups), saved=sum(group.saved for group in groups), unit=rates.unit
    )


@dataclass(slots=True)
class Queue(Generic[K]):
    """Who may start, as calls come, begin and fail. Synchronous; all verbs cost O(calls freed).

    Invariant: of each key that is not readable at most one call is under way, and if any waits,
    one is.
    """

    _leader: dict[K, int] = field(default_factory=dict)
    _waiting: dict[K, list[int]] = field(default_factory=dict)
    _readable: set[K] = field(default_factory=set)

    def add(self, key: K, call: int) -> bool:
        """A call comes; whether it may start."""
        if key in self._readable:
            return True
        if key in self._leader:
            self._waiting.setdefault(key, []).append(call)
            return False
        self._leader[key] = call
        return True

    def readable(self, key: K, call: int) -> list[int]:
        """The call's answer made the prefix readable; calls that may start now, in order.

        Nothing for a call that does not lead.
        """
        if self._leader.get(key) != call:
            return []
        del self._leader[key]
        self._readable.add(key)
        return self._waiting.pop(key, [])

    def failed(self, key: K, call: int) -> int | None:
        """The call failed or was given up; the call that leads now, if any waits."""
        if self._leader.get(key) != call:
            waiting = self._waiting.get(key, [])
            if call in waiting:
                waiting.remove(call)
            return None
        waiting = self._waiting.get(key, [])
        if not waiting:
            del self._leader[key]
            return None
        self._leader[key] = waiting.pop(0)
        return self._leader[key]

    def check(self) -> None:
        """Raise AssertionError if an invariant is broken. Costs O(calls)."""
        for key, waiting in self._waiting.items():
            assert not waiting or key in self._leader, "calls wait and nobody leads"
        assert not self._readable & self._leader.keys(), "a readable prefix has a leader"
