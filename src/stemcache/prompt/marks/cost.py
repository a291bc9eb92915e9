"""What given marks are expected to cost: the one measure that placements are chosen by.

```
tokens      │ ── segment 1 ── │ ─── segment 2 ─── │ tail │
marks                         b1, t1              b2, t2
found       │ ▲ .9 ···························▲ .7 │
now         │ .9 │ .7 ························│ 0  │          chance that a token is read

an average request:      now = alive(b, t), and a token of segment (b, t) costs
                         now · read + (1 - now) · write(t)
a request that is known: now · (read - kept) + (1 - now) · steady
                         steady = alive · read + (1 - alive) · write(t)
                         kept   = alive(b) · (write - read) of the default lifetime
the tail:                input
```
An average request is one of many that are marked alike; what it costs is what marks are chosen by.
Of a request whose earlier entries are known, a token that is written costs more now than it will on
average, and one that is read will be read again: `score` counts both, `cost` only what is paid now.

Chances are nested: who shares more shares less too, reads refresh, and longer lifetimes stand
first. So what is found is the chance of the best entry that some mark reaches, and costs add up.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from stemcache.prompt.marks.ground import Ground
from stemcache.prompt.marks.terms import Terms

__all__ = ["Counted", "Expected", "Set", "counted_by", "expected"]


class Set(NamedTuple):
    """A mark that is set."""

    boundary: int
    lifetime: int
    """Number in the terms."""


class Expected(NamedTuple):
    """Of one request."""

    score: float
    cost: float
    read_tokens: float
    written_tokens: float


class Counted(NamedTuple):
    """What one token of a mark's segment counts."""

    steady: float
    """One that is not found, or of an average request."""
    found: float
    """One that is known to be found."""

    def score(self, tokens: float, found_tokens: float) -> float:
        """Of a segment; `found_tokens` is 0 unless it is known what is found."""
        return (tokens - found_tokens) * self.steady + found_tokens * self.found


def counted_by(ground: Ground, terms: Terms, mark: Set) -> Counted:
    """The same for all segments of a mark, however long."""
    alive = ground.alive[mark.lifetime][mark.boundary]
    usual = terms.usual
    kept = ground.alive[usual][mark.boundary] * (terms.lifetimes[usual].write - terms.read)
    return Counted(
        steady=alive * terms.read + (1 - alive) * terms.lifetimes[mark.lifetime].write,
        found=terms.read - kept,
    )


def expected(ground: Ground, terms: Terms, marks: Sequence[Set]) -> Expected:
    """For marks in rising order, the provider's own among them: linear in marks and entries."""
    by_boundary = {mark.boundary: mark for mark in marks}
    found_at = {one.boundary: one for one in ground.found}
    total = Expected(0.0, 0.0, 0.0, 0.0)
    mark: Set | None = None
    now = 0.0
    # From right to left, one stretch after another in which no token differs from the next.
    stops = sorted({0, *by_boundary, *found_at, ground.last}, reverse=True)
    for at, before in pairwise(stops):
        mark = by_boundary.get(at, mark)
        one = found_at.get(at)
        if one is not None and mark is not None and mark.boundary <= one.last:
            now = max(now, one.alive)
        tokens = ground.tokens[at] - ground.tokens[before]
        total = _with(total, ground, terms, mark=mark, tokens=tokens, now=now)
    return total


def _with(
    total: Expected, ground: Ground, terms: Terms, *, mark: Set | None, tokens: int, now: float
) -> Expected:
    if mark is None:
        plain = tokens * terms.input
        return total._replace(score=total.score + plain, cost=total.cost + plain)
    chance = now if ground.known else ground.alive[mark.lifetime][mark.boundary]
    write = terms.lifetimes[mark.lifetime].write
    return Expected(
        score=total.score + counted_by(ground, terms, mark).score(tokens, now * tokens),
        cost=total.cost + tokens * (chance * terms.read + (1 - chance) * write),
        read_tokens=total.read_tokens + chance * tokens,
        written_tokens=total.written_tokens + (1 - chance) * tokens,
    )
