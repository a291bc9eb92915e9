"""How many units of a seat were used more recently than a given use. To about a sixty-fourth.

```
    number of the use    0 ─────── 17 ──────── 31 ────── 44 ──────► now
    units last used then    120         95        130        64
    newer than use 20                   95/2  +   130   +    64       (half of its own bucket)
```
Buckets hold neighbouring uses; what is used again moves to the last one. A bucket is closed once it
holds a sixty-fourth of all units, and poor neighbours are joined, so that there are never many.
"""

from array import array
from bisect import bisect_right

__all__ = ["Recency"]

_SHARE = 6  # a bucket is to hold a sixty-fourth
_MOST = 256  # buckets; joining leaves at most half of them


class Recency:
    """Units by the number of the use that used them last."""

    __slots__ = ("_starts", "_units", "total")

    def __init__(self) -> None:
        self._starts = array("q", [0])
        self._units = array("q", [0])
        self.total = 0

    def used(self, number: int, units: int) -> None:
        """So many units are used now; `number` is no less than any before. Amortised O(1)."""
        if self._units[-1] > self.total >> _SHARE:
            if len(self._units) == _MOST:
                self._join()
            self._starts.append(number)
            self._units.append(0)
        self._units[-1] += units
        self.total += units

    def left(self, number: int, units: int) -> None:
        """So many of those are gone, or used again. O(log buckets)."""
        self._units[bisect_right(self._starts, number) - 1] -= units
        self.total -= units

    def distance(self, number: int, units: int) -> int:
        """As `distances`, of one stretch that begins the prompt."""
        at = bisect_right(self._starts, number) - 1
        others = self._units[at] - units
        newer = sum(self._units[at + 1 :])
        return newer + others // 2 if others > 0 else newer

    def distances(self, uses: list[tuple[int, int]]) -> list[int]:
        """How many units were used more recently than each stretch of one prompt.

        `uses`: number and units of each stretch, from the prompt's beginning, so that numbers do
        not rise. Units of the prompt itself count where they stand before the stretch, and those of
        the same bucket by half. O(stretches + buckets newer than the last of them, in C).
        """
        starts, units = self._starts, self._units
        found: list[int] = []
        newer, behind = 0, len(units)
        begin = 0
        while begin < len(uses):
            at = bisect_right(starts, uses[begin][0]) - 1
            first_number = starts[at]
            own, end = 0, begin
            while end < len(uses) and uses[end][0] >= first_number:
                own += uses[end][1]
                end += 1
            newer += sum(units[at + 1 : behind])
            behind = at + 1
            distance = newer + max(0, units[at] - own) // 2
            for _, mine in uses[begin:end]:
                found.append(distance)
                distance += mine
            begin = end
        return found

    def _join(self) -> None:
        """Join neighbours that together are no more than a full bucket. O(buckets)."""
        starts, units = array("q"), array("q")
        full = self.total >> _SHARE
        for start, each in zip(self._starts, self._units, strict=True):
            if units and units[-1] + each <= full:
                units[-1] += each
            else:
                starts.append(start)
                units.append(each)
        self._starts, self._units = starts, units
