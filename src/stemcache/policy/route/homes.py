"""The order of seats by hash, made even where chance gives one seat too many beginnings.

```
  60 beginnings, 4 seats       15   23   12   10     by hash alone: w1's cache is too small for it
  after 256 requests           17   18   13   12     w1 counts a little less, so those that were
                                                     nearest to another seat have their home there
```
Many beginnings are even by themselves; of a few the most that a seat has is a third more than its
part, which costs hits and queues. All gateways see the same few beginnings, so they come to nearly
the same factors, each by itself. What has another home than by hash alone goes there though it is
held elsewhere: computed once more, and then all gateways find it there. So as not to move much
for little, only what is beyond chance is made even. A beginning that is much of a seat's part is
copied anyway, and stays.
"""

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Any

import numpy as np

from stemcache.policy.route.contract import View
from stemcache.policy.route.rendezvous import Rendezvous

__all__ = ["Homes"]

_FIRST_LOOK = 256
_MOST_BETWEEN = 4096
"""Requests to the first look at how even the hash is; then as many as all before, or so many."""
_MOST_KEYS = 256
"""More beginnings between two looks are even enough, …"""
_LEAST_ASKED = 3
"""… and where they are asked for less often than this, those to come are others."""
_UNEVEN = 1.5
"""A seat with so many standard deviations more than its part has too many: one of four fleets …"""
_EVEN = 0.8
"""… and then no seat is left with more than this."""
_HOT = 0.3
"""So much of a seat's part of the requests is not moved."""

_LEAST_SCORE = 1e-12

Scores = np.ndarray[Any, np.dtype[np.float64]]


class Homes:
    """Orders seats for keys. Some µs a call; a look takes 1 ms for 8 seats, 15 for 64."""

    def __init__(self) -> None:
        self._hash = Rendezvous()
        self._factors: dict[str, float] = {}
        """By name of seat; empty where the hash is even."""
        self._counts: dict[int, int] = {}
        """Requests by key since the last look, …"""
        self._before: dict[int, int] = {}
        """… and between the two looks before."""
        self._requests = 0
        self._requests_before = 0
        self._all_requests = 0
        """Until the last look."""
        self._next = _FIRST_LOOK
        """Requests from one look to the next."""
        self._seats = 0
        self._counts_on = True

    def fork(self) -> "Homes":
        """One that says what this would say, and counts nothing; to be used at once. O(1)."""
        fork = Homes()
        fork._hash, fork._factors, fork._counts_on = self._hash, self._factors, False
        fork._counts, fork._before = self._counts, self._before
        fork._requests, fork._requests_before = self._requests, self._requests_before
        return fork

    def asked(self, key: int, views: Sequence[View]) -> None:
        """Count a request; seldom, look at how even the hash is."""
        if not self._counts_on:
            return
        self._requests += 1
        counts = self._counts
        if key in counts or len(counts) < _MOST_KEYS:
            counts[key] = counts.get(key, 0) + 1
        # A retry sees fewer seats than there are: not by what it sees.
        if self._requests >= self._next and len(views) == self._seats:
            self._look(views)
        self._seats = len(views)

    def order(self, key: int, views: Sequence[View]) -> list[int]:
        """Indices of the views, the key's home first. O(n log n); about 1 µs a seat."""
        if not self._factors:
            return self._hash.order(key, views)
        scores = self._scaled(self._hash.scores(key, views), views)
        return sorted(range(len(views)), key=lambda seat: (scores[seat], views[seat].name))

    def moved(self, key: int, views: Sequence[View]) -> int | None:
        """The key's home where that is not the hash's own: what others hold is to be left there."""
        if not self._factors:
            return None
        scores = self._hash.scores(key, views)
        scaled = self._scaled(scores, views)
        home = scaled.index(min(scaled))
        if scores[home] == min(scores) or self._hot(key, len(views)):
            return None
        return home

    def _hot(self, key: int, seats: int) -> bool:
        asked = self._counts.get(key, 0) + self._before.get(key, 0)
        return asked * seats > _HOT * (self._requests + self._requests_before)

    def _scaled(self, scores: Sequence[float], views: Sequence[View]) -> list[float]:
        factor = self._factors.get
        return [score / factor(view.name, 1.0) for score, view in zip(scores, views, strict=True)]

    def _look(self, views: Sequence[View]) -> None:
        keys = list(self._counts.keys() | self._before.keys())
        if len(keys) >= min(_MOST_KEYS, (self._requests + self._requests_before) / _LEAST_ASKED):
            self._factors = {}
        else:
            scores = np.array([self._hash.scores(key, views) for key in keys])
            weights = np.array([view.weight for view in views])
            factors = np.array([self._factors.get(view.name, 1.0) for view in views])
            found = evened(scores, weights / weights.sum(), factors)
            if found is not factors:
                names = [view.name for view in views]
                self._factors = dict(zip(names, found.tolist(), strict=True))
        self._before, self._counts = self._counts, {}
        self._all_requests += self._requests
        self._requests_before, self._requests = self._requests, 0
        self._next = min(_MOST_BETWEEN, self._all_requests)


def evened(scores: Scores, parts: Scores, factors: Scores) -> Scores:
    """Factors by which no seat has many more keys than its part; the same where none has now.

    `scores`: of each key, the lowest is its home once divided by the factors; `parts`: of each
    seat, 1 together. Pure. O(keys x seats) for each seat that has too many.
    """
    scores = np.maximum(scores, _LEAST_SCORE)
    fair = parts * len(scores)
    chance = np.sqrt(fair)
    limit = _UNEVEN
    seats = np.arange(len(parts))
    for _ in range(4 * len(parts)):
        scaled = scores / factors
        homes = scaled.argmin(axis=1)
        has = np.bincount(homes, minlength=len(parts))
        beyond = (has - fair) / chance
        most = int(beyond.argmax())
        if beyond[most] <= limit:
            break
        limit = _EVEN
        mine = scaled[homes == most]
        others = mine[:, seats != most].min(axis=1)
        go = ceil(has[most] - fair[most] - _EVEN * sqrt(fair[most]))
        factors = factors.copy()
        factors[most] /= np.sort(others / mine[:, most])[go - 1] * (1.0 + 1e-9)
        factors /= factors.max()
    return factors
