"""Whom to admit first: orders over the waiting requests."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from stemcache.errors import UsageError, unknown_choice

__all__ = ["LOOKS_AT_MATCHES", "NAMES", "Order", "Waiting", "fcfs", "lpm", "order"]

LPM_PATIENCE_S = 10.0
"""A request that has waited this long goes before any that matches more."""


class Waiting(NamedTuple):
    """What an order may know of a waiting request."""

    position: int
    """In order of arrival, from 0; a preempted request keeps its place before all others."""
    waited_s: float
    matched_tokens: int
    """Of its prompt, cached at this moment; 0 for orders not in `LOOKS_AT_MATCHES`."""


Order = Callable[[Sequence[Waiting]], list[int]]
"""Gives the positions in the order in which admission should be tried."""


def fcfs(waiting: Sequence[Waiting]) -> list[int]:
    """First come, first served."""
    return [each.position for each in sorted(waiting, key=lambda each: each.position)]


def lpm(waiting: Sequence[Waiting]) -> list[int]:
    """Longest cached prefix first, so that what is cached is used before it is evicted.

    Alone it starves requests that match nothing (sglang#31954: 60 s tails); so whoever has waited
    `LPM_PATIENCE_S` goes first, in order of arrival.
    """

    def place(each: Waiting) -> tuple[bool, int, int]:
        patient = each.waited_s < LPM_PATIENCE_S
        return (patient, -each.matched_tokens if patient else 0, each.position)

    return [each.position for each in sorted(waiting, key=place)]


_ORDERS: dict[str, Order] = {"fcfs": fcfs, "lpm": lpm}

LOOKS_AT_MATCHES = frozenset({"lpm"})
"""Orders that read `matched_tokens`; for the others nobody need look them up."""

NAMES = tuple(_ORDERS)
"""What `--schedule` takes."""


def order(name: str, *, source: str = "--schedule") -> Order:
    """An order by name; `source` says in the error where the name came from."""
    if name not in _ORDERS:
        raise UsageError(unknown_choice("schedule", name, source, NAMES))
    return _ORDERS[name]
