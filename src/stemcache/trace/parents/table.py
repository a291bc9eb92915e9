"""Which calls had a unit: the first two and the latest six, for as many units as there is room.

```
unit ──hash──► slot      owner    count   calls
               0         (unit)   3       [ 4 9 │ 17  ·  ·  ·  ·  · ]
               1         ·        0       [ · · │  ·  ·  ·  ·  ·  · ]
               2         (unit)   41      [ 0 1 │ 38 39 40 35 36 37 ]    a ring behind the first two
               …                            first   latest
```
A slot belongs to one unit; another unit that falls on it takes it over, so that old units go as new
ones come. The first two calls are kept since a conversation that is forked goes on from an early
one, the latest six since all others go on from a late one.

Memory: 44 bytes a slot, all of it from the start (46 MB at 2**20 slots; pages that were never
written take none). Cost: vectorised, about 0.1 µs a unit beside some 20 µs a call.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Seen", "UnitTable"]

_FIRST = 2
_LATEST = 6
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of some units."""

    at: npt.NDArray[np.intp]
    """Numbers, in what was asked for, of the units that are known."""
    counts: npt.NDArray[np.uint32]
    """How many calls had each of them."""
    calls: npt.NDArray[np.int32]
    """A row each: calls that had it, -1 where there are fewer."""


class UnitTable:
    """The table. Not for threads."""

    def __init__(self, most_units: int) -> None:
        """`most_units` is rounded up to a power of two, of which there is one slot each."""
        bits = max(1, (max(1, most_units) - 1).bit_length())
        self._shift = np.uint64(64 - bits)
        self._owner = np.zeros(2**bits, np.uint64)
        self._count = np.zeros(2**bits, np.uint32)
        # Numbers are kept one higher, so that untouched pages, which are zero, mean none.
        self._calls = np.zeros((2**bits, _FIRST + _LATEST), np.int32)

    def add(self, units: npt.NDArray[np.uint64], number: int) -> None:
        """Note that call `number` had these units, each given once."""
        slots, first = np.unique(self._slots(units), return_index=True)
        units = units[first]
        taken = self._owner[slots] != units
        if taken.any():
            lost = slots[taken]
            self._owner[lost] = units[taken]
            self._count[lost] = 0
            self._calls[lost] = 0
        counts = self._count[slots].astype(np.int64)
        columns = np.where(counts < _FIRST, counts, _FIRST + (counts - _FIRST) % _LATEST)
        self._calls[slots, columns] = number + 1
        self._count[slots] += np.uint32(1)

    def find(self, units: npt.NDArray[np.uint64]) -> Seen:
        """What is known of these units. New arrays."""
        slots = self._slots(units)
        at = np.nonzero((self._owner[slots] == units) & (self._count[slots] > 0))[0]
        slots = slots[at]
        return Seen(at, self._count[slots], self._calls[slots] - np.int32(1))

    def _slots(self, units: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
        return ((units * _SPREAD) >> self._shift).astype(np.intp)
