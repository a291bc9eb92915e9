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
from typing import NamedTuple

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
        self._ready: _Sorted | None = None
        self._ready_for = (0, 0)

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
        """Blocks found at each capacity. Shape (capacities,). Sorts once after the last `add`."""
        wanted = np.asarray(capacities, np.int64)
        first, stop, _, _ = self._sorted()
        return first.upto(wanted) - stop.upto(wanted)

    def token_hits(self, capacities: Sequence[int], block_tokens: int) -> npt.NDArray[np.int64]:
        """Tokens found at each capacity. Shape (capacities,)."""
        wanted = np.asarray(capacities, np.int64)
        _, _, at, lacking = self._sorted()
        missing: npt.NDArray[np.int64] = lacking[np.searchsorted(at, wanted, side="right")]
        return self.block_hits(capacities) * block_tokens - missing

    def histogram(self, edges: Sequence[int]) -> list[int]:
        """Blocks found at distances in each [edge, next edge); the last has no end."""
        upto = self.block_hits([edge - 1 for edge in edges])
        total = self.block_hits([self.largest])
        return [int(count) for count in np.diff(np.concatenate([upto, total]))]

    def _sorted(self) -> "_Sorted":
        size = len(self._first), len(self._short_at)
        if self._ready is None or self._ready_for != size:
            order = np.argsort(_view(self._short_at), kind="stable")
            self._ready = _Sorted(
                _Ramps(self._first),
                _Ramps(self._stop),
                _view(self._short_at)[order],
                np.concatenate([[0], _view(self._short_by)[order].cumsum()]),
            )
            self._ready_for = size
        return self._ready


class _Ramps:
    """Numbers, sorted, with their sums."""

    def __init__(self, starts: "array[int]") -> None:
        self._ordered = np.sort(_view(starts))
        self._sums = np.concatenate([[0], self._ordered.cumsum()])

    def upto(self, at: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Sum over the numbers of max(0, at - number + 1)."""
        count = np.searchsorted(self._ordered, at, side="right")
        reached: npt.NDArray[np.int64] = (at + 1) * count - self._sums[count]
        return reached


class _Sorted(NamedTuple):
    first: _Ramps
    stop: _Ramps
    short_at: npt.NDArray[np.int64]
    short_sums: npt.NDArray[np.int64]


def _view(numbers: "array[int]") -> npt.NDArray[np.int64]:
    # A copy, as an array that is looked at cannot grow.
    return np.array(numbers, np.int64)
