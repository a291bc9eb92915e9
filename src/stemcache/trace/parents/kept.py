"""The units of the latest calls, sorted, in a ring of bounded size.

```
units    │ call 7 ▒▒│ call 4 │ call 5 …  │ call 6   │      ▒ free, too short for call 7's end
                     └ overwritten next
```
A call is forgotten when another one takes its place in the ring, or when more than `most_calls`
came behind it.

Memory: 12 bytes a unit of the ring and 80 a call. Cost: a copy for each call that is kept, a view
for each that is asked for.
"""

import numpy as np

from stemcache.trace.parents.content import Content, End

__all__ = ["KeptCalls"]

_UNIT_BYTES = 12


class KeptCalls:
    """The ring. Numbers of calls count from 0 and rise by one."""

    def __init__(self, *, most_calls: int, most_bytes: int) -> None:
        self._room = max(1, most_bytes // _UNIT_BYTES)
        self._most = max(1, most_calls)
        self._units = np.empty(self._room, np.uint64)
        self._bytes = np.empty(self._room, np.uint32)
        self._start = np.zeros(self._most, np.int64)
        self._length = np.zeros(self._most, np.int64)
        self._answered = np.zeros(self._most, np.float64)
        self._ends = np.zeros((self._most, 4), np.uint64)
        self._end_bytes = np.zeros((self._most, 2), np.int64)
        self._content_bytes = np.zeros(self._most, np.int64)
        self._head = 0
        """Units written since the beginning, gaps at the ring's end included."""
        self._calls = 0

    def __len__(self) -> int:
        """How many calls were ever kept: the next one's number."""
        return self._calls

    def add(self, content: Content, answered_s: float | None) -> int:
        """Keep one more; its number. Of more units than the ring has room for, the first ones."""
        length = min(len(content.units), self._room)
        at = self._head % self._room
        if at + length > self._room:
            self._head += self._room - at
            at = 0
        self._units[at : at + length] = content.units[:length]
        self._bytes[at : at + length] = content.unit_bytes[:length]
        number = self._calls
        row = number % self._most
        self._start[row], self._length[row] = self._head, length
        self._answered[row] = np.nan if answered_s is None else answered_s
        self._ends[row] = content.end[:4]
        self._end_bytes[row] = content.end[4:]
        self._content_bytes[row] = content.unit_bytes[:length].sum(dtype=np.int64)
        self._head += length
        self._calls += 1
        return number

    def holds(self, number: int) -> bool:
        """Whether the call is still known."""
        if not max(0, self._calls - self._most) <= number < self._calls:
            return False
        return bool(self._start[number % self._most] + self._room >= self._head)

    def answered_before(self, number: int, now_s: float | None) -> bool:
        """Whether a call that is known may have been answered by then: unless both times say no."""
        if now_s is None:
            return True
        return not self._answered[number % self._most] > now_s

    def content(self, number: int) -> Content:
        """What a call that is known had. Views, good until the next `add`."""
        row = number % self._most
        at = int(self._start[row]) % self._room
        end = at + int(self._length[row])
        sizes = self._bytes[at:end]
        total = int(self._content_bytes[row])
        stood = End(*self._ends[row].tolist(), *self._end_bytes[row].tolist())
        return Content(self._units[at:end], sizes, total, stood)
