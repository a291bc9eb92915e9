"""How many units a seat can hold, learned from what it still had and what it had lost.

```
    distance    1        10       100      1,000    10,000     units used more recently
    had         ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▆▂▁
    had lost    ▁        ▁         ▁      ▁▂▅▇▇▇▇▇▇▇
                                          ▲ capacity: fewest answers on the wrong side
```
An LRU of n units has what was used within the last n units, and nothing else. So every answer
bounds n from one side, at the distance of the last unit that was found or of the first that was
not. Neither is taken at its word: other gateways send to the same seat, blocks go in flight, and
units are estimates. The capacity is where the fewest of the recent answers contradict it; it moves
only when another is better by several answers, so a few outliers do not move it.

A seat that has been emptied has lost what it is always found to have, well within its capacity, and
nothing from before is found again. So losses that would each be unlikely are held back: either
something is found that was last used before the seat had last proved to be whole, which proves it
again and makes them ordinary; or together they are less likely than one in 100,000, and the seat
was emptied: nothing is learned from them, and little is left of what was known, as a seat that
comes back may be another.

    request    used   proved            lost   lost   lost
    ──────────────────●─────────── ? ───────────────────────►      emptied at some ?
"""

from array import array
from enum import Enum
from math import log

import numpy as np

__all__ = ["Capacity", "Finding"]

_RATIO = 1.02
_STEP = log(_RATIO)
_BINS = 1050  # up to some 10^9 units
_GROWTH = 2 ** (1 / 256)  # of the weight of an answer, over the one before it
_MOST_WEIGHT = 1e12
_MARGIN = 3.0  # answers by which another capacity must be better
_EVERY = 8  # answers between two looks
_NEAR = 9, 7  # bins before and behind, 20 % and 15 %, that say how usual a loss is
_KNOWN = 4.0  # answers near a distance that make it known
_WELL_WITHIN = 0.85  # of the capacity
_ODDS = log(100_000)
_LEFT = 1 / 8  # of the weight of all answers, where the seat is emptied


class Finding(Enum):
    """What an answer makes of the seat."""

    NOTHING = 0
    MOVED = 1
    """Its capacity is another than was thought."""
    RESET = 2
    """It was emptied before the request that `emptied_before` names."""


# A plain name: to name a member of an enumeration takes six times as long.
_NOTHING = Finding.NOTHING


class Capacity:
    """Of one seat. 18 kB; O(1) an answer but for every eighth, which is O(bins): 15 µs."""

    __slots__ = (
        "_blur",
        "_had",
        "_lost",
        "_odds",
        "_proved",
        "_since",
        "_suspect",
        "_weight",
        "answers",
        "emptied_before",
        "units",
    )

    def __init__(self, units: int | None) -> None:
        """`units`: what is thought of it before there are answers; None: unbounded."""
        self.units = units
        self.emptied_before = 0
        """Where it was found to be emptied: the number of a request that it had not seen before."""
        self._had = array("d", bytes(8 * _BINS))
        self._lost = array("d", bytes(8 * _BINS))
        self._weight = 1.0
        self._blur = 0.0
        """The share of answers that contradict even the best capacity."""
        self.answers = 0
        """Those that were learned from."""
        self._suspect: list[int] = []
        self._odds = 0.0
        self._since: int | None = None
        self._proved: int | None = None
        """Up to this request it was whole; None: it is not known to have held anything."""

    def had(self, distance: int, *, used: int, number: int) -> Finding:
        """Request `number` found a unit at this distance, which `used` had used last."""
        if self._proved is None:
            self._proved = number
        elif used <= self._proved:
            self._proved = max(self._proved, number)
            if self._since is not None:
                self._acquit()
        elif self._since is not None and used < self._since:
            self._since = used
        else:
            self._drop_old_suspicion(distance, number)
        return self._add(self._had, distance)

    def lost(self, distance: int, *, used: int, number: int) -> Finding:
        """Request `number` did not find a unit at this distance, which had been there."""
        unlikely = self._unlikely(distance)
        explained = self._since is None or used < self._since
        if not explained:
            self._drop_old_suspicion(distance, number)
        if not unlikely or not explained:
            return self._add(self._lost, distance)
        if self._since is None:
            self._since = number
        self._suspect.append(distance)
        self._odds += unlikely
        if self._odds < _ODDS:
            return _NOTHING
        self.emptied_before = self._since
        self.begin_again()
        return Finding.RESET

    def well_within(self, distance: int) -> bool:
        """Whether eviction does not explain that a unit at this distance is lost."""
        return self.units is None or distance <= self.units * _WELL_WITHIN

    def begin_again(self) -> None:
        """The seat was emptied: nothing that was lost around then says anything."""
        self._suspect.clear()
        self._odds, self._since, self._proved = 0.0, None, None
        for side in (self._had, self._lost):
            for at in range(_BINS):
                side[at] *= _LEFT

    def _drop_old_suspicion(self, distance: int, number: int) -> None:
        """What was there before would be evicted by now: whether it was emptied is idle."""
        if self._since is not None and not self.well_within(distance):
            self._proved = number
            self._acquit()

    def _acquit(self) -> None:
        for distance in self._suspect:
            self._add(self._lost, distance)
        self._suspect.clear()
        self._odds, self._since = 0.0, None

    def _unlikely(self, distance: int) -> float:
        """Minus the logarithm of how often what is as old is lost; 0 where that is not unusual."""
        if self._proved is None:
            return 0.0
        if not self.well_within(distance):
            return 0.0
        at = _bin(distance)
        near = slice(max(0, at - _NEAR[0]), at + _NEAR[1] + 1)
        had, lost = sum(self._had[near]) / self._weight, sum(self._lost[near]) / self._weight
        if had < _KNOWN or lost > had:
            return 0.0
        # Where other gateways' requests make answers contradict each other, no loss is rare.
        return -log(max(self._blur, (lost + 0.5) / (had + lost + 1.0)))

    def _add(self, side: "array[float]", distance: int) -> Finding:
        self._weight *= _GROWTH
        if self._weight > _MOST_WEIGHT:
            for each in (self._had, self._lost):
                for at in range(_BINS):
                    each[at] /= self._weight
            self._weight = 1.0
        side[_bin(distance)] += self._weight
        self.answers += 1
        return self._look() if self.answers % _EVERY == 0 else _NOTHING

    def _look(self) -> Finding:
        """Move to where fewest answers contradict, if that is better by enough. O(bins)."""
        # in order[n]: of a capacity that takes in the first n bins
        had = np.frombuffer(self._had)
        in_order = np.empty(_BINS + 1)
        in_order[0] = np.add.reduce(had)
        np.subtract(np.frombuffer(self._lost), had, out=in_order[1:])
        np.add.accumulate(in_order, out=in_order)
        least = float(in_order[in_order.argmin()])  # five times as quick as `min`
        self._blur = least / float(in_order[0] + in_order[-1])
        margin = _MARGIN * self._weight
        now = _BINS if self.units is None else _bin(self.units)
        # A capacity inside of a bin is charged the better of its sides.
        if min(in_order[now : now + 2].tolist()) <= least + margin:
            return _NOTHING
        costs: list[float] = in_order.tolist()
        low = high = costs.index(least)
        enough = least + 0.5 * self._weight
        while low > 0 and costs[low - 1] <= enough:
            low -= 1
        while high < _BINS and costs[high + 1] <= enough:
            high += 1
        if high == _BINS:  # nothing is ever lost: a tenth more than what was found
            high = min(_BINS, low + 5)
        units = max(1, round((_edge(low) + _edge(high)) / 2))
        if units == self.units:
            return _NOTHING
        self.units = units
        return Finding.MOVED


def _bin(distance: int) -> int:
    if distance <= 1:
        return 0
    at = int(log(distance) / _STEP)
    return at if at < _BINS else _BINS - 1


def _edge(bins: int) -> float:
    """The distance where the first so many bins end."""
    return float(_RATIO**bins)
