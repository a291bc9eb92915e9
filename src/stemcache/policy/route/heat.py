"""How often a beginning was asked for lately: whether computing it once more elsewhere will pay.

```
  conversation     2 requests in a minute    moving it costs a prefill, and saves one wait
  hot prefix     200 requests in a minute    a second copy costs a prefill, and halves a queue
```
"""

from collections import OrderedDict
from dataclasses import dataclass
from math import exp

__all__ = ["Heat"]

_FADE_S = 60.0
_MOST_KEYS = 16_384
_COOL = 2.0
"""Requests that say nothing yet."""
_HOT = 24.0
"""So many more halve what another copy is reckoned to cost."""
_BROAD = 4.0
"""So much sooner for a beginning that is a whole seat's part of the traffic."""


@dataclass(slots=True)
class _Count:
    requests: float
    last_s: float

    def fade(self, now_s: float) -> None:
        if now_s > self.last_s:
            self.requests *= exp((self.last_s - now_s) / _FADE_S)
            self.last_s = now_s


class Heat:
    """Decayed counts of requests by anchor, of the last 16,384 anchors. O(1) a call."""

    def __init__(self) -> None:
        self._counts: OrderedDict[int, _Count] = OrderedDict()
        self._all = _Count(0.0, 0.0)

    def __len__(self) -> int:
        return len(self._counts)

    def asked(self, anchor: int, *, seats: int, now_s: float) -> float:
        """Count a request, and say what part of its cost another copy is worth bearing: 1 to 0.

        1: the copy is for this request alone. Towards 0: many will use it.
        """
        counts, every = self._counts, self._all
        every.fade(now_s)
        every.requests += 1.0
        count = counts.get(anchor)
        if count is None:
            # What is before an anchor is more than a seat's part of the traffic, so if anybody
            # holds a beginning of a prompt whose anchor is not known, all traffic may use it.
            requests = every.requests
            counts[anchor] = _Count(1.0, now_s)
            if len(counts) > _MOST_KEYS:
                counts.popitem(last=False)
        else:
            count.fade(now_s)
            requests = count.requests
            count.requests += 1.0
            counts.move_to_end(anchor)
        parts = requests / every.requests * seats
        return 1.0 / (1.0 + max(0.0, requests - _COOL) / _HOT * (1.0 + _BROAD * parts * parts))
