"""The units of the latest calls, sorted, in a ring of bounded size.

```
units    │ call 7 ▒▒│ call 4 │ call 5 …  │ call 6   │      ▒ free, too short for call 7's end
                     └ overwritten next
```
A call is forgotten when another one takes its place in the ring, or when more than `most_calls`
came behind it.

Memory: 12 bytes a unit of the ring and 32 a call. Cost: a copy for each call that is kept, a view
for each that is asked for.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Content", "KeptCalls"]

_UNIT_BYTES = 12


@dataclass(frozen=True, slots=True)
class Content:
    """What one call had: each unit once, in rising order, and how many bytes of it."""

    units: npt.NDArray[np.uint64]
    unit_bytes: npt.NDArray[np.uint32]
    content_bytes: int
    """Of all of them."""
    last: int | None
    """The unit that stands at the very end; None of an empty prompt."""

    def has(self, unit: int | None) -> bool:
        """Whether the unit is among them."""
        if unit is None or not len(self.units):
            return False
        at = np.searchsorted(self.units, np.uint64(unit))
        return bool(at < len(self.units) and self.units[at] == unit)

    def shared_bytes(self, other: "Content") -> int:
        """Bytes that both have, wherever they stand; what repeats counts as often as in both."""
        if not len(self.units) or not len(other.units):
            return 0
        few, many = (self, other) if len(self.units) < len(other.units) else (other, self)
        at = np.searchsorted(many.units, few.units)
        at[at == len(many.units)] = 0
        found = many.units[at] == few.units
        less = np.minimum(many.unit_bytes[at[found]], few.unit_bytes[found])
        return int(less.sum(dtype=np.int64))


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
        self._last = np.zeros(self._most, np.uint64)
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
        self._last[row] = content.last or 0
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
        last = int(self._last[row]) if end > at else None
        return Content(self._units[at:end], sizes, int(sizes.sum(dtype=np.int64)), last)
