"""A log axis with one place more, for what has no bound.

```
    ├────┬────┬────┬────┤        ╎
    1   10  100  1k  10k      no bound
```
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LogScale", "log_scale", "round_ticks", "thinned"]

_MOST_TICKS = 9
_MARGIN = 0.03
_BEYOND = 0.12
_WORDS = 0.08
"""Parts of the axis' length, on a log scale: outside, up to no bound, and what its words need."""


@dataclass(frozen=True, slots=True)
class LogScale:
    """Positive numbers from `low` to `high`, and where None stands, if it does."""

    low: float
    high: float
    beyond: float | None

    def at(self, value: float | None) -> float:
        """Where a value is drawn."""
        if value is not None:
            return value
        assert self.beyond is not None, "the scale was made without a place for no bound"
        return self.beyond

    def put_on(self, axes: "Axes", ticks: Iterable[float], words: Callable[[float], str]) -> None:
        """Make it the x axis."""
        axes.set_xscale("log")
        span = self.high / self.low
        axes.set_xlim(self.low / span**_MARGIN, (self.beyond or self.high) * span**_MARGIN)
        places = [(tick, words(tick)) for tick in ticks]
        if self.beyond is not None:
            # A label that ends at the place of no bound would run into its words.
            places = [place for place in places if place[0] <= self.beyond / span**_WORDS]
            places.append((self.beyond, "no bound"))
        axes.set_xticks([place for place, _ in places], [word for _, word in places])
        axes.set_xticks([], minor=True)


def log_scale(values: Iterable[float | None]) -> LogScale:
    """A scale that holds all the values."""
    given = set(values)
    bounded = sorted(value for value in given if value is not None and value > 0)
    low = bounded[0] if bounded else 1.0
    high = max(bounded[-1] if bounded else 1.0, 10.0 * low)
    return LogScale(low, high, high * (high / low) ** _BEYOND if None in given else None)


def round_ticks(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high` for a log axis, few enough to read."""
    ticks: list[float] = []
    for steps in ((1,), (1, 3), (1, 2, 5)):
        every = [step * 10.0**power for power in range(-3, 19) for step in steps]
        ticks = [tick for tick in every if low <= tick <= high]
        if len(ticks) > 3:
            break
    return thinned(ticks) or [low]


def thinned(ticks: list[float], most: int = _MOST_TICKS) -> list[float]:
    """Every so many of them, such that at most `most` are left."""
    return ticks[:: max(1, -(-len(ticks) // most))]
