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

A seat that has been emptied had lost what it is always found to have, whatever the distance, and
nothing from before is found again. That is told apart by its odds: answers that would each be
unlikely add up until something old is found, which ends the suspicion and makes them ordinary, or
until together they are less likely than one in two thousand. Then nothing is learned from them.
"""

from array import array
from enum import Enum
from math import log

__all__ = ["Capacity", "Finding"]

_STEP = log(1.05)
_BINS = 430  # up to some 10^9 units
_GROWTH = 2 ** (1 / 256)  # of the weight of an answer, over the one before it
_MOST_WEIGHT = 1e12
_MARGIN = 3.0  # answers by which another capacity must be better
_EVERY = 8  # answers between two looks
_NEAR = 4  # bins to either side, some 20 %, that say how usual a loss is
_KNOWN = 4.0  # answers near a distance that make it known
_ODDS = log(2000)


class Finding(Enum):
    """What an answer makes of the seat."""

    NOTHING = 0
    MOVED = 1
    """Its capacity is another than was thought."""
    RESET = 2
    """It has been emptied since the use that `suspected_since` names."""


class Capacity:
    """Of one seat. 7 kB; O(1) an answer, amortised."""

    __slots__ = (
        "_confirmed",
        "_had",
        "_lost",
        "_odds",
        "_seen",
        "_since",
        "_suspect",
        "_weight",
        "suspected_since",
        "units",
    )

    def __init__(self, units: int | None) -> None:
        """`units`: what is thought of it before there are answers; None: unbounded."""
        self.units = units
        self.suspected_since = 0
        """The first answer of the seat that was emptied, by the number of its request."""
        self._had = array("d", bytes(8 * _BINS))
        self._lost = array("d", bytes(8 * _BINS))
        self._weight = 1.0
        self._seen = 0
        self._suspect: list[int] = []
        self._odds = 0.0
        self._since: int | None = None
        self._confirmed = True
        """Something was found since the seat was last seen to be emptied."""

    def had(self, distance: int, used: int) -> Finding:
        """Found a unit at this distance, last used by that request."""
        self._confirmed = True
        if self._since is not None and used < self._since:
            self._acquit()
        return self._add(self._had, distance)

    def lost(self, distance: int, number: int) -> Finding:
        """Request `number` did not find a unit at this distance, which had been there."""
        usual = self._usual(distance)
        if usual is None or not self._confirmed:
            return self._add(self._lost, distance)
        if self._since is None:
            self._since = number
        self._suspect.append(distance)
        self._odds -= log(usual)
        if self._odds < _ODDS:
            return Finding.NOTHING
        self.suspected_since = self._since
        self.begin_again()
        return Finding.RESET

    def begin_again(self) -> None:
        """The seat was emptied: nothing that was found or lost around then says anything."""
        self._suspect.clear()
        self._odds, self._since, self._confirmed = 0.0, None, False

    def _acquit(self) -> None:
        for distance in self._suspect:
            self._add(self._lost, distance)
        self._suspect.clear()
        self._odds, self._since = 0.0, None

    def _usual(self, distance: int) -> float | None:
        """How often what is as old as this is lost; None where that is not unusual, or unknown."""
        at = _bin(distance)
        near = slice(max(0, at - _NEAR), at + _NEAR + 1)
        had, lost = sum(self._had[near]) / self._weight, sum(self._lost[near]) / self._weight
        if had < _KNOWN or lost > had:
            return None
        return (lost + 0.5) / (had + lost + 1.0)

    def _add(self, side: "array[float]", distance: int) -> Finding:
        self._weight *= _GROWTH
        if self._weight > _MOST_WEIGHT:
            for each in (self._had, self._lost):
                for at in range(_BINS):
                    each[at] /= self._weight
            self._weight = 1.0
        side[_bin(distance)] += self._weight
        self._seen += 1
        return self._look() if self._seen % _EVERY == 0 else Finding.NOTHING

    def _look(self) -> Finding:
        """Move to where fewest answers contradict, if that is better by enough. O(bins)."""
        wrong = sum(self._had)
        costs = [wrong]  # costs[n]: of a capacity that takes in the first n bins
        for had, lost in zip(self._had, self._lost, strict=True):
            wrong += lost - had
            costs.append(wrong)
        least = min(costs)
        margin = _MARGIN * self._weight
        now = _BINS if self.units is None else _bin(self.units)
        # A capacity inside of a bin is charged the better of its sides.
        if min(costs[now : now + 2]) <= least + margin:
            return Finding.NOTHING
        low = high = costs.index(least)
        enough = least + 0.5 * self._weight
        while low > 0 and costs[low - 1] <= enough:
            low -= 1
        while high < _BINS and costs[high + 1] <= enough:
            high += 1
        if high == _BINS:  # nothing is ever lost: a quarter more than what was found
            high = min(_BINS, low + 2 * _NEAR)
        units = max(1, round((_edge(low) + _edge(high)) / 2))
        if units == self.units:
            return Finding.NOTHING
        self.units = units
        return Finding.MOVED


def _bin(distance: int) -> int:
    return min(_BINS - 1, int(log(max(1, distance)) / _STEP))


def _edge(bins: int) -> float:
    """The distance where the first so many bins end."""
    return 1.05**bins
