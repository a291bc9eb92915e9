"""Forecasts for one layout: always alive, Poisson rates by stability, or the gaps of a log.

```
pieces      static   static   reference   session   history   history   turn
shared by   everybody         many        one conversation …            nobody
boundary          1        2          3         4         5         6       7
level       static   static   reference   session   session   session    none
```
All that is known of a boundary is its level, the least stable piece before it. So forecasts change
at three places of a prompt at most, however long it is. A prefix that ends behind a turn piece is
never asked for again.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import expm1, inf, isfinite, isnan

from stemcache.errors import UsageError
from stemcache.prompt.piece import Laid
from stemcache.prompt.stability import Stability

__all__ = ["AlwaysAlive", "Arrival", "FromGaps", "Poisson", "a_request_a_minute", "gaps_of"]

_SHARED = (Stability.STATIC, Stability.REFERENCE, Stability.SESSION)


class AlwaysAlive:
    """All but turn pieces is found: requests come so often that nothing expires."""

    def __init__(self, laid: Laid) -> None:
        self._levels = _levels(laid)

    def alive(self, boundary: int, ttl_s: float) -> float:
        """1, or 0 behind the first turn piece and for no lifetime at all."""
        return 1.0 if ttl_s > 0 and self._levels[boundary] is not None else 0.0


class Poisson:
    """Requests that come at random, independently, at one rate for each stability.

    `per_s` has the rates of requests that share all static, all reference and all session pieces.
    Whoever shares a session shares its static pieces too, so rates fall with stability or stay; one
    that is left out is that of the next more stable level, or 0. `goes_on` is the part of a
    session's requests that another one of it precedes at all: 0.9 for conversations of ten turns.
    With 1 no conversation ends, and what is written for an hour always earns its price.
    Raises UsageError for rates that rise, are negative or no numbers.
    """

    def __init__(
        self, laid: Laid, per_s: Mapping[Stability, float], *, goes_on: float = 0.9
    ) -> None:
        if not 0 <= goes_on <= 1:
            raise UsageError(f"goes_on is {goes_on}; give a part between 0 and 1")
        self._levels = _levels(laid)
        self._goes_on = goes_on
        self._per_s: dict[Stability, float] = {}
        above = inf
        for level in _SHARED:
            rate = per_s.get(level, 0.0 if above == inf else above)
            if isnan(rate) or rate < 0 or rate > above:
                raise UsageError(
                    f"the rate of {level} is {rate} a second; give one of at least 0 that is no "
                    f"higher than that of what is more stable"
                )
            self._per_s[level] = above = rate

    def alive(self, boundary: int, ttl_s: float) -> float:
        """The chance of another request in the `ttl_s` before this one."""
        level = self._levels[boundary]
        if level is None or ttl_s <= 0:
            return 0.0
        rate = self._per_s[level]
        chance = 1.0 if ttl_s == inf and rate else -expm1(-rate * ttl_s) if rate else 0.0
        return chance * (self._goes_on if level is Stability.SESSION else 1.0)


def a_request_a_minute(laid: Laid) -> Poisson:
    """What is expected where nobody says: by everybody, and by each conversation that goes on.

    Nine in ten do. So what is shared lives, and what a conversation writes it mostly reads.
    """
    return Poisson(laid, {Stability.STATIC: 1 / 60}, goes_on=0.9)


class FromGaps:
    """What a log tells: for each stability the seconds from the request before that shared it.

    A request that nobody came before has a gap of infinity, and belongs among them. A stability
    without gaps has those of the next more stable one, so that nothing is made up for the first.
    Raises UsageError for negative gaps, and where there are none at all.
    """

    def __init__(self, laid: Laid, gaps_s: Mapping[Stability, Iterable[float]]) -> None:
        self._levels = _levels(laid)
        self._gaps_s: dict[Stability, list[float]] = {}
        known: list[float] = []
        for level in _SHARED:
            gaps = sorted(gaps_s.get(level, ()))
            if any(isnan(gap) or gap < 0 for gap in gaps):
                raise UsageError(
                    f"a gap of {level} is negative or no number; give seconds, or infinity"
                )
            known = gaps or known
            self._gaps_s[level] = known
        if not known:
            raise UsageError("the log has no gaps; give those of one stability at least")

    def alive(self, boundary: int, ttl_s: float) -> float:
        """The part of gaps that are no longer, of this stability and of all more stable ones."""
        level = self._levels[boundary]
        if level is None or ttl_s <= 0:
            return 0.0
        return min(self._within(one, ttl_s) for one in _SHARED[: level.rank + 1])

    def _within(self, level: Stability, ttl_s: float) -> float:
        gaps = self._gaps_s[level]
        if not gaps:
            return 1.0  # nothing is known of it, and what is less stable says enough
        count = len(gaps) if ttl_s == inf and isfinite(gaps[-1]) else bisect_right(gaps, ttl_s)
        if ttl_s == inf:
            count = sum(1 for gap in gaps if isfinite(gap))
        return count / len(gaps)


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request of a log."""

    at_s: float
    shares: Mapping[Stability, Hashable]
    """What it has of each stability, by any name or digest: equal where the pieces are."""


def gaps_of(arrivals: Sequence[Arrival]) -> dict[Stability, list[float]]:
    """Seconds since the last request that shared all of a stability and of the more stable ones.

    In order of time, whatever order they are given in; infinity for the first of its kind. Linear
    but for the sort.
    """
    gaps: dict[Stability, list[float]] = {}
    last_s: dict[tuple[Hashable, ...], float] = {}
    for arrival in sorted(arrivals, key=lambda one: one.at_s):
        key: tuple[Hashable, ...] = ()
        for level in _SHARED:
            if level not in arrival.shares:
                continue
            key = (*key, level, arrival.shares[level])
            before = last_s.get(key)
            gaps.setdefault(level, []).append(inf if before is None else arrival.at_s - before)
            last_s[key] = arrival.at_s
    return gaps


def _levels(laid: Laid) -> tuple[Stability | None, ...]:
    """By boundary, the least stable piece before it; None where that is a turn piece."""
    levels: list[Stability | None] = [Stability.STATIC]
    worst = Stability.STATIC
    for piece in laid.pieces:
        if piece.stability.rank > worst.rank:
            worst = piece.stability
        levels.append(None if worst is Stability.TURN else worst)
    return tuple(levels)
