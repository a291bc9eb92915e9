"""Bytes of a body kept as they pass, up to a limit, out of a budget that all calls share.

```
limit 64 MiB                                   the last 1 MiB or so
├──────────────── head ────────────────┤  gap  ├──── tail ────┤
```
Usage stands at the end of a stream, so the end is kept however long the stream was.
"""

from threading import Lock

__all__ = ["Budget", "Capture"]

_TAIL_BYTES = 2**20


class Budget:
    """Bytes that may be held in memory at once. May be used from several threads."""

    def __init__(self, limit_bytes: int) -> None:
        self._left_bytes = limit_bytes
        self._lock = Lock()

    def take(self, size_bytes: int) -> bool:
        """Whether so many could be taken."""
        with self._lock:
            if size_bytes > self._left_bytes:
                return False
            self._left_bytes -= size_bytes
            return True

    def give(self, size_bytes: int) -> None:
        """Give back what was taken."""
        with self._lock:
            self._left_bytes += size_bytes


class Capture:
    """One body. `add` is amortised O(length); never more than limit and 2 MiB are held."""

    def __init__(self, limit_bytes: int, budget: Budget) -> None:
        self._limit_bytes = limit_bytes
        self._budget = budget
        self._taken_bytes = 0
        self._head = bytearray()
        self._tail = bytearray()
        self.size_bytes = 0
        """Of the whole body, kept or not."""
        self.starved = False
        """Whether something is missing because memory for all calls was used up."""

    @property
    def truncated(self) -> bool:
        """Whether something is missing."""
        return self.size_bytes > len(self._head)

    @property
    def head(self) -> bytes:
        """The beginning; the whole body unless `truncated`."""
        return bytes(self._head)

    @property
    def tail(self) -> bytes:
        """The end of a body that is truncated, else empty. May begin anywhere."""
        return bytes(self._tail)

    def add(self, data: bytes) -> None:
        """Keep the next part, or of it what the limit allows."""
        room = 0 if self.truncated else self._limit_bytes - len(self._head)
        self.size_bytes += len(data)
        if room:
            kept = data[:room]
            if self._take(len(kept)):
                self._head += kept
                data = data[room:]
        if data and self._take(len(data)):
            self._tail += data
            over = len(self._tail) - _TAIL_BYTES
            if over > _TAIL_BYTES:
                del self._tail[:over]
                self._give(over)

    def release(self) -> None:
        """Forget the body and give its memory back. What it was like can still be asked."""
        size = self.size_bytes
        self._head, self._tail = bytearray(), bytearray()
        self._give(self._taken_bytes)
        self.size_bytes = size

    def _take(self, size_bytes: int) -> bool:
        if not self._budget.take(size_bytes):
            self.starved = True
            return False
        self._taken_bytes += size_bytes
        return True

    def _give(self, size_bytes: int) -> None:
        self._budget.give(size_bytes)
        self._taken_bytes -= size_bytes
