"""The best marks, exactly: a shortest path over the few boundaries where a best mark can stand.

```
from right to left    end ──► (b3, 5m) ──► (b2, 1h) ──► (b1, 1h) ──► 0
state at a mark       marks used, lifetime, chance of the best entry that marks behind it reach
step                  score of the segment between two marks
```
Candidates. Move one mark to the right, past boundaries with the same chances: tokens go from the
next segment to its own, each at one price for one and another for the other. What a token counts
changes at found entries only, and there in one direction, so the score is convex between the places
where something happens, or falls all the way. Its least value is at one of these:

- the last allowed boundary with the same chances (moving on, they fall);
- the last allowed one before a mark of the provider's own (which stays where it is);
- for an entry found: the allowed ones next to it on both sides, and the last that reads it.

A mark that would rather move to the left of those is better left out, for then the next mark's
segment costs less there. The number of candidates is that of changes of the forecast, and four an
entry: a prompt of thousands of blocks has a dozen.

Cost: candidates² · marks · lifetimes² · different chances of entries. For a forecast that changes
at every boundary candidates are all boundaries.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from stemcache.prompt.marks.cost import Set, counted_by, expected
from stemcache.prompt.marks.ground import Ground
from stemcache.prompt.marks.terms import Terms

__all__ = ["best_marks", "candidates"]

_NEAR = 1e-9
"""Scores that differ by less, as a part of the prompt's price, are equal."""


class _State(NamedTuple):
    """Of the path from the end of the prompt to a mark."""

    used: int
    lifetime: int
    now: float


@dataclass(frozen=True, slots=True)
class _Path:
    score: float
    mark: Set | None
    behind: "_Path | None"


class _Step(NamedTuple):
    """A segment from a mark back to `stop`."""

    stop: int
    tokens: int
    found_tokens: float
    now: float
    """Chance of the best entry at or behind `stop`, those at `stop` itself left out."""


def candidates(ground: Ground) -> tuple[int, ...]:
    """Boundaries among which there is a best placement, ascending. Linear but for the sort."""
    allowed = [at for at in range(1, ground.last + 1) if ground.allowed[at]]
    if not allowed:
        return ground.own
    chosen = {allowed[-1], *ground.own}
    for before, at in pairwise(allowed):
        if any(chances[before] != chances[at] for chances in ground.alive):
            chosen.add(before)
    for at in ground.own:
        chosen.update(allowed[: bisect_left(allowed, at)][-1:])
    for one in ground.found:
        first = bisect_left(allowed, one.boundary)
        chosen.update(allowed[max(first - 1, 0) : first + 1])
        behind = bisect_right(allowed, one.last)
        chosen.update(allowed[max(behind - 1, 0) : behind])
    return tuple(sorted(chosen))


def best_marks(ground: Ground, terms: Terms, most: int | None) -> tuple[Set, ...]:
    """The marks of the least score, of at most so many beside the provider's own.

    Of equal scores the fewest marks, the lifetimes whose writes are cheapest, of those the
    shortest, and marks at entries rather than behind them. Rising order.
    """
    places = candidates(ground)
    limit = len(places) if most is None else most
    tolerance = _NEAR * terms.input * max(ground.tokens[-1], 1)
    best = _shortest(ground, terms, places, limit, tolerance)
    return _settled(ground, terms, best, tolerance)


class _Paths:
    """The least path to every state, by boundary of its mark; none uses more than `limit` marks."""

    def __init__(self, ground: Ground, terms: Terms, places: tuple[int, ...], limit: int) -> None:
        self.at: dict[int, dict[_State, _Path]] = {place: {} for place in places}
        self._own = frozenset(ground.own)
        self._usual = terms.usual
        self._limit = limit

    def add(self, stop: int, state: _State, score: float, behind: _Path | None) -> None:
        """All that may come next at `stop`: a mark for the state's lifetime or a longer one.

        The provider's own marks are for the default lifetime.
        """
        own = stop in self._own
        used = state.used + (0 if own else 1)
        if used > self._limit or (own and state.lifetime < self._usual):
            return
        for lifetime in (self._usual,) if own else range(state.lifetime + 1):
            reached = _State(used, lifetime, state.now)
            known = self.at[stop].get(reached)
            if known is None or score < known.score:
                self.at[stop][reached] = _Path(score, Set(stop, lifetime), behind)


def _shortest(
    ground: Ground, terms: Terms, places: tuple[int, ...], limit: int, tolerance: float
) -> tuple[Set, ...]:
    paths = _Paths(ground, terms, places, limit)
    ends: dict[int, _Path] = {}
    if not ground.own:
        ends[0] = _Path(ground.tokens[-1] * terms.input, None, None)
    for place in places:
        if not ground.own or place >= ground.own[-1]:
            tail = (ground.tokens[-1] - ground.tokens[place]) * terms.input
            paths.add(place, _State(0, len(terms.lifetimes) - 1, 0.0), tail, None)
    for place in reversed(places):
        steps: dict[float, list[_Step]] = {}
        for state, path in paths.at[place].items():
            if state.now not in steps:
                steps[state.now] = list(_walk(ground, places, place, state.now))
            counted = counted_by(ground, terms, Set(place, state.lifetime))
            for stop, tokens, found_tokens, now in steps[state.now]:
                score = path.score + counted.score(tokens, found_tokens)
                if stop:
                    paths.add(stop, _State(state.used, state.lifetime, now), score, path)
                elif state.used not in ends or score < ends[state.used].score:
                    ends[state.used] = _Path(score, None, path)
    least = min(path.score for path in ends.values())
    fewest = min(used for used, path in ends.items() if path.score <= least + tolerance)
    return _marks(ends[fewest])


def _walk(ground: Ground, places: tuple[int, ...], start: int, now: float) -> Iterator[_Step]:
    """Segments of the mark at `start`, longer and longer, up to a mark of the provider's own."""
    found_at = {one.boundary: one for one in ground.found}
    own, marks = frozenset(ground.own), frozenset(places)
    stops = sorted({0, *found_at, *places})
    found_tokens = 0.0
    before = start
    one = found_at.get(start)
    if one is not None:
        now = max(now, one.alive)
    for index in range(bisect_left(stops, start) - 1, -1, -1):
        stop = stops[index]
        found_tokens += (ground.tokens[before] - ground.tokens[stop]) * now
        if not stop or stop in marks:
            tokens = ground.tokens[start] - ground.tokens[stop]
            yield _Step(stop, tokens, found_tokens, now)
        if stop in own:
            return
        one = found_at.get(stop)
        if one is not None and start <= one.last:
            now = max(now, one.alive)
        before = stop


def _marks(path: _Path) -> tuple[Set, ...]:
    marks: list[Set] = []
    at: _Path | None = path
    while at is not None:
        if at.mark is not None:
            marks.append(at.mark)
        at = at.behind
    return tuple(marks)


def _settled(
    ground: Ground, terms: Terms, marks: tuple[Set, ...], tolerance: float
) -> tuple[Set, ...]:
    """Of what costs the same: the cheaper write, and marks at an entry instead of behind it.

    A forecast may say that nothing is ever written; what it did not foresee is, at that price. A
    mark at the entry reads it whatever a look-back counts as one position.
    """
    most = expected(ground, terms, marks).score + tolerance
    settled = list(marks)
    shortest = len(terms.lifetimes) - 1
    for number in range(len(marks) - 1, -1, -1):
        for instead in _instead(ground, terms, marks, number, shortest):
            moved = [*settled]
            moved[number] = instead
            if expected(ground, terms, moved).score <= most:
                settled = moved
                break
        shortest = settled[number].lifetime
    return tuple(settled)


def _instead(
    ground: Ground, terms: Terms, marks: tuple[Set, ...], number: int, shortest: int
) -> Iterator[Set]:
    """What may stand instead of a mark, the best first: no longer than the mark before it."""
    mark = marks[number]
    if mark.boundary in ground.own:
        yield mark
        return
    before, longest = marks[number - 1] if number else Set(0, 0)
    entries = [
        one.boundary
        for one in ground.found
        if before < one.boundary < mark.boundary and ground.allowed[one.boundary]
    ]
    boundaries = [mark.boundary]
    if entries:
        boundaries.insert(0, entries[-1])
    lifetimes = range(longest, shortest + 1)
    for lifetime in sorted(lifetimes, key=lambda one: (terms.lifetimes[one].write, -one)):
        for boundary in boundaries:
            yield Set(boundary, lifetime)
