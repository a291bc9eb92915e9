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
near the bound. Counts fade with time, and are kept of the rungs that were seen last.
"""

from collections import OrderedDict
from collections.abc import Sequence
from math import exp

__all__ = ["Anchors"]

_FADE_S = 600.0
_FIRST = 16.0
"""Requests that are taken to have been seen before any was, each with a beginning of its own: the
first prompt is not all of the traffic."""
_RESCALE = 1e100


class Anchors:
    """Shares of the traffic by beginning, bounded by `most_keys`. O(rungs) a call."""

    def __init__(self, most_keys: int = 65_536) -> None:
        self._most_keys = max(1, most_keys)
        self._counts: OrderedDict[int, float] = OrderedDict()
        self._total = 0.0
        self._weight = 1.0
        """What a request counts now. It grows as old counts would fade, so they need not be
        touched."""
        self._now_s: float | None = None

    def __len__(self) -> int:
        return len(self._counts)

    def seen(self, rungs: Sequence[int], tokens: int, *, now_s: float) -> None:
        """A prompt with these beginnings, shortest first, was asked."""
        del tokens  # a request is a request: long prompts are mostly cached
        self._pass(now_s)
        weight = self._weight
        self._total += weight
        counts = self._counts
        get, move_to_end = counts.get, counts.move_to_end
        for rung in rungs:
            counts[rung] = get(rung, 0.0) + weight
            move_to_end(rung)
        while len(counts) > self._most_keys:
            counts.popitem(last=False)

    def anchor(self, rungs: Sequence[int], *, seats: int) -> int:
        """The shallowest rung that is no more than a seat's part, else the deepest. Pure."""
        if not rungs:
            return 0
        most = (self._total + _FIRST * self._weight) / max(1, seats)
        counts = self._counts
        for rung in rungs:
            if counts.get(rung, 0.0) <= most:
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
        for rung in self._counts:
            self._counts[rung] *= scale
        self._total *= scale
        self._weight = 1.0
