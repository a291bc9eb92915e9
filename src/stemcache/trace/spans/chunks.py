"""Where a long text is cut, by what it says: text that moves is cut in the same places.

```
text        ··· t h e   q u i c k   b r o w n ···      window of 8 bytes that ends at a cut
                          └───────────────┘            its hash is below a threshold
before      |── a ──|──── b ────|── c ──|─── d ───|
inserted    |─ a' ──|──── b ────|── c ──|─── d ───|    only the unit that was changed differs
```
A window's hash is its eight bytes as a number, times an odd constant, modulo 2**64: the product's
high bits hang on all eight bytes. Each place is a cut with the same chance, so that units are 512
bytes long on average, 128 at least (but for the last) and 4,096 at most. A text without variety,
such as a run of blanks, is cut at the most.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

__all__ = ["LEAST_BYTES", "MOST_BYTES", "cuts"]

LEAST_BYTES = 128
MOST_BYTES = 4_096

_WINDOW_BYTES = 8
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_THRESHOLD = np.uint64(2**64 // 384)
"""One place in 384 is a candidate; with the least length before it that makes 512."""
_BLOCK_BYTES = 2**16
"""Looked at in one go, with eight times as much memory for the products."""


def cuts(data: bytes) -> list[int]:
    """Ends of the units of `data`, ascending, the last its length; empty for no data.

    About 2 ns a byte and 1 MiB of memory beside the data, however long that is. A text whose every
    place is a candidate, such as a run of zeros, costs some 50 ns a byte and 6 MiB.
    """
    length = len(data)
    ends: list[int] = []
    start = 0
    for candidates in _candidates(data):
        at = bisect_left(candidates, start + LEAST_BYTES)
        while at < len(candidates):
            candidate = candidates[at]
            while candidate - start > MOST_BYTES:
                start += MOST_BYTES
                ends.append(start)
            if candidate - start >= LEAST_BYTES:
                start = candidate
                ends.append(start)
            at = bisect_left(candidates, start + LEAST_BYTES, at)
    while length - start > MOST_BYTES:
        start += MOST_BYTES
        ends.append(start)
    if length > start:
        ends.append(length)
    return ends


def _candidates(data: bytes) -> Iterator[list[int]]:
    """Ends of the windows whose hash is low, a block at a time."""
    count = len(data) - _WINDOW_BYTES + 1
    if count <= 0:
        return
    # One number a byte, each overlapping the next by seven bytes: a view, which costs no memory.
    windows = np.ndarray((count,), "<u8", data, 0, (1,))
    for low, high in pairwise([*range(0, count, _BLOCK_BYTES), count]):
        found = np.flatnonzero(windows[low:high] * _FACTOR < _THRESHOLD)
        yield (found + (low + _WINDOW_BYTES)).tolist()
