"""By which beginning of a prompt gateways hash, when nobody is known to hold it.

```
  depth          share of the traffic, 4 seats
  1 unit    ●    1.00   the system prompt of all
  2         ●    1.00
  4         ●    0.31   one customer's tools: still more than a seat's part
  8         ◉    0.08   ◄── the anchor: the shallowest that one seat can take
  16        ●    0.02
```
Everything behind an anchor goes to one seat, so a beginning that is more than a seat's part of the
traffic cannot be one. Gateways see samples of the same traffic, so they agree but for beginnings
near the bound. Counts fade with time. They are kept of the rungs that were seen last, in two
generations: when the younger is full the older goes, so that nothing is put in order at each look.
"""

from collections.abc import Sequence
from math import exp

__all__ = ["Anchors"]

_FADE_S = 600.0
_FIRST = 16.0
"""Requests that are taken to have been seen before any was, each with a beginning of its own: the
first prompt is not all of the traffic."""
_RESCALE = 1e100


class Anchors:
    """Shares of the traffic by beginning, of `most_keys` at most: the half seen last at least.

    O(rungs) a call, but for one that fills a generation: a millisecond or two for 65,536 keys.
    """

    def __init__(self, most_keys: int = 131_072) -> None:
        self._most_young = max(1, most_keys // 2)
        self._young: dict[int, float] = {}
        self._old: dict[int, float] = {}
        """Where a rung is in both, the younger has all of its count."""
        self._total = 0.0
        self._weight = 1.0
        """What a request counts now. It grows as old counts would fade, so they need not be
        touched."""
        self._now_s: float | None = None

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def seen(self, rungs: Sequence[int], tokens: int, *, now_s: float) -> None:
        """A prompt with these beginnings, shortest first, was asked."""
        del tokens  # a request is a request: long prompts are mostly cached
        self._pass(now_s)
        weight = self._weight
        self._total += weight
        if len(self._young) + len(rungs) > self._most_young:
            self._old, self._young = self._young, {}
        young, old = self._young, self._old
        for rung in rungs:
            young[rung] = (young.get(rung) or old.get(rung, 0.0)) + weight

    def anchor(self, rungs: Sequence[int], *, seats: int) -> int:
        """The shallowest rung that is no more than a seat's part, else the deepest. Pure."""
        if not rungs:
            return 0
        most = (self._total + _FIRST * self._weight) / max(1, seats)
        young, old = self._young, self._old
        for rung in rungs:
            if (young.get(rung) or old.get(rung, 0.0)) <= most:
                return rung
        return rungs[-1]

    def _pass(self, now_s: float) -> None:
        if self._now_s is None:
            self._now_s = now_s
        elif now_s > self._now_s:
            # More than a few hundred fadings are all the same: nothing is left.
            self._weight *= exp(min((now_s - self._now_s) / _FADE_S, 200.0))
            self._now_s = now_s
            if self._weight > _RESCALE:
                self._rescale()

    def _rescale(self) -> None:
        scale = 1.0 / self._weight
        for counts in (self._young, self._old):
            for rung in counts:
                counts[rung] *= scale
        self._total *= scale
        self._weight = 1.0
