"""Hits of an LRU cache at every capacity, from stack distances.

```
    distance   1  2  3  4  5  6  7          a hit at distance d needs a capacity of d blocks
    runs          [──────]                  (2, 3): three blocks at 2, 3 and 4
                     [────────]             (3, 4): four blocks at 3 to 6
    hits(4)    0  1  3  5                   = 5
```

LRU keeps the most recently used blocks, whatever the capacity (the inclusion property, Mattson et
al., 1970), so one pass gives all capacities. Blocks of one prompt stand root first, so distances
rise along a prompt and what hits is a prefix of it.
"""

from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["LruCurve"]


class LruCurve:
    """Distances as runs, 16 bytes each."""

    def __init__(self) -> None:
        self._first = array("q")
        self._stop = array("q")
        self._short_at = array("q")
        self._short_by = array("q")

    def add(self, first: int, blocks: int) -> None:
        """`blocks` consecutive blocks were found again at distances `first`, `first` + 1, …"""
        self._first.append(first)
        self._stop.append(first + blocks)

    def shorten(self, distance: int, tokens: int) -> None:
        """The block found at `distance` lacks `tokens` to a full one."""
        self._short_at.append(distance)
        self._short_by.append(tokens)

    @property
    def largest(self) -> int:
        """The capacity, in blocks, at which no more hits can be had."""
        return max(self._stop, default=1) - 1

    def block_hits(self, capacities: Sequence[int]) -> npt.NDArray[np.int64]:
        """Blocks found at each capacity. Shape (capacities,)."""
        wanted = np.asarray(capacities, np.int64)
        return _ramps(self._first, wanted) - _ramps(self._stop, wanted)

    def token_hits(self, capacities: Sequence[int], block_tokens: int) -> npt.NDArray[np.int64]:
        """Tokens found at each capacity. Shape (capacities,)."""
        wanted = np.asarray(capacities, np.int64)
        order = np.argsort(np.frombuffer(self._short_at, np.int64), kind="stable")
        at = np.frombuffer(self._short_at, np.int64)[order]
        lacking = np.concatenate([[0], np.frombuffer(self._short_by, np.int64)[order].cumsum()])
        missing: npt.NDArray[np.int64] = lacking[np.searchsorted(at, wanted, side="right")]
        return self.block_hits(capacities) * block_tokens - missing

    def histogram(self, edges: Sequence[int]) -> list[int]:
        """Blocks found at distances in each [edge, next edge); the last has no end."""
        upto = self.block_hits([edge - 1 for edge in edges])
        total = self.block_hits([self.largest])
        return [int(count) for count in np.diff(np.concatenate([upto, total]))]


def _ramps(starts: "array[int]", at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Sum over `starts` of max(0, at - start + 1)."""
    ordered = np.sort(np.frombuffer(starts, np.int64))
    sums = np.concatenate([[0], ordered.cumsum()])
    count = np.searchsorted(ordered, at, side="right")
    reached: npt.NDArray[np.int64] = (at + 1) * count - sums[count]
    return reached
