"""How often a beginning was asked for lately: whether computing it once more elsewhere will pay.

```
  conversation     2 requests in a minute    moving it costs a prefill, and saves one wait
  hot prefix     200 requests in a minute    a second copy costs a prefill, and halves a queue
```
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from math import exp

__all__ = ["Heat"]

_FADE_S = 60.0
_MOST_KEYS = 16_384
_COOL = 2.0
"""Requests that say nothing yet."""
_HOT = 24.0
_LONE = 0.1
"""So much of the requests of a beginning that is little of the traffic argue for another copy …"""
_BROAD = 24.0
"""… and so much, by the cube of what each holder has of it, of one that is a whole seat's for each:
that many more than `_HOT` halve what the copy is reckoned to cost. At a high rate every beginning
is asked for often; one seat, or those that hold it already, can still take it."""


@dataclass(slots=True)
class _Count:
    requests: float
    last_s: float

    def at(self, now_s: float) -> float:
        if now_s > self.last_s:
            return self.requests * exp((self.last_s - now_s) / _FADE_S)
        return self.requests

    def count(self, requests: float, now_s: float) -> None:
        self.requests = requests
        self.last_s = max(self.last_s, now_s)


class Heat:
    """Decayed counts of requests by anchor, 16,384 at most. O(1) a call."""

    def __init__(self) -> None:
        self._counts: OrderedDict[Hashable, _Count] = OrderedDict()
        self._all = _Count(0.0, 0.0)
        self._counts_on = True

    def fork(self) -> "Heat":
        """One that says what this would say, and counts nothing; to be used at once. O(1)."""
        fork = Heat()
        fork._counts, fork._all, fork._counts_on = self._counts, self._all, False
        return fork

    def __len__(self) -> int:
        return len(self._counts)

    def asked(
        self,
        anchor: int,
        *,
        head: int,
        held_tokens: int,
        holders: int,
        seats: int,
        now_s: float,
    ) -> float:
        """Count a request, and say what part of its cost another copy is worth bearing: 1 to 0.

        1: the copy is for this request alone. Towards 0: many will use it. `held_tokens`: of the
        prompt, at the seat that holds most; `holders`: how many hold the beginning, one at least.
        """
        everything = self._all.at(now_s) + 1.0
        if self._counts_on:
            self._all.count(everything, now_s)
        requests = self._count(anchor, now_s)
        if requests is None:
            # What is held of it is then either before the anchor, so that many share it to the
            # same length, or was sent there by another gateway, to a length of its own.
            requests = self._count((head, held_tokens), now_s) or 0.0
        if requests <= _COOL:
            return 1.0
        parts = requests / everything * seats / holders
        return 1.0 / (1.0 + (requests - _COOL) / _HOT * (_LONE + _BROAD * parts**3))

    def _count(self, key: Hashable, now_s: float) -> float | None:
        """Requests before this one; None where there were none."""
        count = self._counts.get(key)
        if count is None:
            if self._counts_on:
                self._counts[key] = _Count(1.0, now_s)
                if len(self._counts) > _MOST_KEYS:
                    self._counts.popitem(last=False)
            return None
        before = count.at(now_s)
        if self._counts_on:
            count.count(before + 1.0, now_s)
            self._counts.move_to_end(key)
        return before
