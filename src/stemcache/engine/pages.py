"""The free list of KV pages, which keeps what belongs together side by side.

```
    pages   0 1 2 3 4 5 6 7 8 9 ...        extents of free pages: [2, 5) and [8, 10)
            # # . . . # # # . .            # in use   . free
```

A run of consecutive pages is read by the model without a copy, so a request gets one extent where
one is large enough, placed with room behind its predecessor, which may still grow. Which page is
taken never changes an answer, only its speed.

Invariants: extents are sorted, disjoint, not empty and not adjacent; `free` is their sum.

Costs: O(extents) an allocation; a release O(pages + extents).
"""

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

__all__ = ["PagePool", "PageTable", "Pages"]

Pages = npt.NDArray[np.int32]
"""Shape (n,)."""


class PagePool:
    """Free pages [0, total)."""

    def __init__(self, total: int, *, room: int) -> None:
        """`room`: pages left free behind a predecessor, where there is space."""
        self.total = total
        self.free = total
        self._room = room
        self._starts = [0]
        self._stops = [total]

    def take(self, count: int, *, after: int | None = None) -> Pages:
        """Remove `count` free pages, at most `free`; behind page `after` if that is free."""
        assert count <= self.free, f"{count} pages of {self.free} free"
        parts: list[Pages] = []
        if after is not None and count:
            at = bisect_left(self._starts, after + 1)
            if at < len(self._starts) and self._starts[at] == after + 1:
                parts.append(self._cut(at, after + 1, count))
                count -= len(parts[0])
        while count:
            sizes = [stop - start for start, stop in zip(self._starts, self._stops, strict=True)]
            largest = max(sizes)
            at = sizes.index(largest)
            room = min(self._room, (largest - count) // 2) if largest > count else 0
            parts.append(self._cut(at, self._starts[at] + room, count))
            count -= len(parts[-1])
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def give(self, pages: Iterable[int] | Pages) -> None:
        """Return pages. Returning a free page is a mistake in the caller."""
        array = np.sort(np.asarray(list(pages) if not isinstance(pages, np.ndarray) else pages))
        if not len(array):
            return
        breaks = np.flatnonzero(np.diff(array) != 1) + 1
        for run in np.split(array, breaks):
            self._join(int(run[0]), int(run[-1]) + 1)
        self.free += len(array)

    def check(self) -> None:
        """Verify the invariants. O(extents)."""
        assert len(self._starts) == len(self._stops), "extents are torn"
        last = -1
        for start, stop in zip(self._starts, self._stops, strict=True):
            assert last < start < stop <= self.total, f"extent [{start}, {stop}) behind {last}"
            last = stop
        size = sum(self._stops) - sum(self._starts)
        assert size == self.free, f"extents hold {size} pages, {self.free} counted"

    def pages(self) -> Pages:
        """Every free page, in order. O(free)."""
        parts = [
            np.arange(start, stop, dtype=np.int32)
            for start, stop in zip(self._starts, self._stops, strict=True)
        ]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def _cut(self, at: int, start: int, count: int) -> Pages:
        low, high = self._starts[at], self._stops[at]
        stop = min(start + count, high)
        remaining = [(a, b) for a, b in ((low, start), (stop, high)) if a < b]
        self._starts[at : at + 1] = [a for a, _ in remaining]
        self._stops[at : at + 1] = [b for _, b in remaining]
        self.free -= stop - start
        return np.arange(start, stop, dtype=np.int32)

    def _join(self, start: int, stop: int) -> None:
        at = bisect_left(self._starts, start)
        before = at > 0 and self._stops[at - 1] == start
        behind = at < len(self._starts) and self._starts[at] == stop
        assert at == 0 or self._stops[at - 1] <= start, f"page {start} is free already"
        assert at == len(self._starts) or stop <= self._starts[at], f"page {stop - 1} is free"
        assert 0 <= start < stop <= self.total, f"pages [{start}, {stop}) do not exist"
        if before and behind:
            self._stops[at - 1] = self._stops[at]
            del self._starts[at], self._stops[at]
        elif before:
            self._stops[at - 1] = stop
        elif behind:
            self._starts[at] = start
        else:
            self._starts.insert(at, start)
            self._stops.insert(at, stop)


class PageTable:
    """A request's block table: its pages in the order of their blocks. Grows at the end."""

    __slots__ = ("_buffer", "_size")

    def __init__(self) -> None:
        self._buffer = np.empty(16, np.int32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def pages(self) -> Pages:
        """A view, valid until the table grows or is cleared."""
        return self._buffer[: self._size]

    def extend(self, pages: Pages) -> None:
        """Append. Amortised O(new)."""
        need = self._size + len(pages)
        if need > len(self._buffer):
            grown = np.empty(max(need, 2 * len(self._buffer)), np.int32)
            grown[: self._size] = self.pages
            self._buffer = grown
        self._buffer[self._size : need] = pages
        self._size = need

    def repoint(self, start: int, pages: Pages) -> None:
        """Let blocks from `start` on name other pages that hold the same KV."""
        self._buffer[start : start + len(pages)] = pages

    def clear(self) -> None:
        """Forget every page; whose they are now is the caller's business."""
        self._size = 0
