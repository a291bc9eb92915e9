"""What a placement is decided on: tokens, chances and permissions by boundary.

```
boundary     0    1      2         3        4        5        6
tokens       0  900  1,400     2,300    2,350    2,800    3,000
allowed           ○      ●         ●        ○        ●        ○     minimum, API, turn pieces
alive 1h        1.0    1.0       .99      .99      .95       0
alive 5m        1.0    1.0       .90      .90      .60       0
found                              ▲ .7 ─────────┤            held there, read by marks up to ┤
```
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log1p

from stemcache.errors import UsageError
from stemcache.prompt.marks.forecast import Forecast
from stemcache.prompt.marks.placement import Held
from stemcache.prompt.marks.terms import Terms
from stemcache.prompt.message import Message
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.stability import Stability
from stemcache.provider.rule import Rule

__all__ = ["MOST_HELD", "Found", "Ground", "before", "ground_of", "windows"]

MOST_HELD = 8
"""Of more entries held, those that most tokens are expected to be read from."""


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that may be read."""

    boundary: int
    alive: float
    last: int
    """The last boundary at which a mark reads it; the first is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """All by boundary, 0 first. Chances fall with the boundary or stay."""

    tokens: tuple[int, ...]
    allowed: tuple[bool, ...]
    """Whether a mark may stand there, and would be kept."""
    alive: tuple[tuple[float, ...], ...]
    """By lifetime, in the order of the terms."""
    known: bool = False
    """Whether it is known what this request can find; else an average request is meant."""
    found: tuple[Found, ...] = ()
    """Ascending. Empty unless `known`."""
    shared: int = 0
    """The last boundary that no message of the history is before."""
    own: tuple[int, ...] = ()
    """Boundaries that the provider marks by itself, ascending, for the default lifetime. They count
    against no limit."""

    @property
    def last(self) -> int:
        """The boundary behind all."""
        return len(self.tokens) - 1


def ground_of(
    laid: Laid,
    *,
    rule: Rule,
    terms: Terms,
    forecast: Forecast,
    held: Sequence[Held],
    last: Sequence[int],
    own: Sequence[int] = (),
) -> Ground:
    """Reads the forecast once for each boundary and lifetime. `last` is `Found.last` by boundary.

    Raises UsageError for chances that are none, and for entries at boundaries that there are not.
    """
    tokens = laid.tokens()
    minimum = rule.minimum_tokens.likely
    stable = before(laid, lambda piece: piece.stability is Stability.TURN)
    shared = before(laid, lambda piece: isinstance(piece.source, Message))
    kept = [stable >= at > 0 and tokens[at] >= minimum for at in range(len(tokens))]
    alive = tuple(
        _chances(forecast, one.lasts_s, len(tokens), stable, refreshed=rule.refreshed_by_reads)
        for one in terms.lifetimes
    )
    return Ground(
        tokens=tokens,
        allowed=tuple(
            at > 0 and kept[at] and laid.pieces[at - 1].markable for at in range(len(tokens))
        ),
        alive=alive,
        known=bool(held),
        found=_found(held, tokens, minimum, alive[terms.usual][: shared + 1], last),
        shared=shared,
        own=tuple(at for at in sorted(set(own)) if tokens[at] >= minimum),
    )


def windows(laid: Laid, rule: Rule) -> list[int]:
    """By boundary, the last one at which a mark's look-back ends there or behind. Linear.

    Runs of calls and of results are one position where the rule says so.
    """
    count = len(laid.pieces)
    if rule.look_back is None:
        return [count] * (count + 1)
    positions = [0] * (count + 1)
    for at, piece in enumerate(laid.pieces, 1):
        before = laid.pieces[at - 2].run if at > 1 else None
        same = rule.runs_collapse and before is not None and before == piece.run
        positions[at] = positions[at - 1] + (0 if same else 1)
    last = [count] * (count + 1)
    end = count
    for at in range(count, 0, -1):
        while positions[end] - positions[at] >= rule.look_back:
            end -= 1
        last[at] = end
    return last


def before(laid: Laid, is_such: Callable[[Piece], bool]) -> int:
    """The last boundary that no such piece is before."""
    return next((at for at, piece in enumerate(laid.pieces) if is_such(piece)), len(laid.pieces))


def _chances(
    forecast: Forecast, lasts_s: float, count: int, stable: int, *, refreshed: bool
) -> tuple[float, ...]:
    chances = [1.0] * count
    for at in range(1, count):
        chance = forecast.alive(at, lasts_s) if at <= stable else 0.0
        if not 0 <= chance <= 1:
            raise UsageError(
                f"the forecast for boundary {at} and {lasts_s:g} s is {chance}; "
                "it must be a probability between 0 and 1"
            )
        # Whoever shares more shares less too, so a rise can only be noise.
        chances[at] = min(chance, chances[at - 1])
    return tuple(chances if refreshed else [_unrefreshed(one) for one in chances])


def _unrefreshed(chance: float) -> float:
    """Where reads do not refresh: of requests that come at random, those after one that wrote.

    x requests come in a lifetime where chance = 1 - exp(-x); one of 1 + x writes.
    """
    if chance >= 1:
        return 1.0
    expected = -log1p(-chance)
    return expected / (1 + expected)


def _found(
    held: Sequence[Held],
    tokens: Sequence[int],
    minimum: int,
    shared: Sequence[float],
    last: Sequence[int],
) -> tuple[Found, ...]:
    chances: dict[int, float] = {}
    for one in held:
        if not (0 < one.boundary < len(tokens) and 0 <= one.alive <= 1):
            raise UsageError(
                f"held has boundary {one.boundary} with probability {one.alive}; boundaries go "
                f"from 1 to {len(tokens) - 1} here, probabilities from 0 to 1"
            )
        chance = one.alive
        if one.boundary < len(shared):
            chance = max(chance, shared[one.boundary])  # others keep it alive too
        if chance > 0 and tokens[one.boundary] >= minimum:
            chances[one.boundary] = max(chance, chances.get(one.boundary, 0.0))
    worth = sorted(chances, key=lambda at: chances[at] * tokens[at], reverse=True)
    return tuple(Found(at, chances[at], last[at]) for at in sorted(worth[:MOST_HELD]))
