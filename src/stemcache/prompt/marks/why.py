"""Why no mark stands where one could be expected, and why what is held will not be read.

```
boundary    3 static   4 reference   9 session
mark        ●          ○             ●
                       └── "no mark at boundary 4 (system): found by 12% of requests, …"
held            ▲ "5,000 tokens held at boundary 3 (system) are not read from there: …"
```
A mark is expected behind the last piece of each stability, and where an entry is read from.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from stemcache.prompt.marks.cost import Set, expected
from stemcache.prompt.marks.ground import Ground
from stemcache.prompt.marks.terms import Terms
from stemcache.prompt.piece import Laid
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.provider.rule import Rule

__all__ = ["ends_of_stabilities", "reasons", "unshared"]


def unshared(laid: Laid) -> Iterator[str]:
    """Says so where a tool stands before what is more stable: that is shared no further than it.

    Costs O(pieces · tools that are not static).
    """
    for at, piece in enumerate(laid.pieces):
        if not isinstance(piece.source, Tool) or piece.stability is Stability.STATIC:
            continue
        behind = sum(
            one.tokens for one in laid.pieces[at + 1 :] if one.stability.rank < piece.stability.rank
        )
        if behind:
            yield (
                f"tool {piece.source.name!r} is declared {piece.stability} and stands before "
                f"{behind:,} tokens that are more stable, so that they are shared no further than "
                "it is; declare it static where everybody may have it"
            )
            return


def reasons(
    laid: Laid,
    ground: Ground,
    terms: Terms,
    marks: Sequence[Set],
    *,
    rule: Rule,
    most: int | None,
) -> Iterator[str]:
    """A sentence each, in the order of the prompt. Names no text, only boundaries and sections."""
    marked = {mark.boundary for mark in marks}
    counted = sum(1 for mark in marks if mark.boundary not in ground.own)
    score = expected(ground, terms, marks).score
    start = 0
    for end in ends_of_stabilities(laid):
        if marked.isdisjoint(range(start + 1, end + 1)):
            why = _why(ground, terms, marks, end=end, rule=rule, score=score)
            if why == _EARNS and most is not None and counted >= most:
                why = f"all {most} marks earn more elsewhere"
            elif why == _EARNS:
                why = "the marks that stand cost no more without it"
            yield f"no mark at boundary {end} ({laid.pieces[end - 1].section}): {why}"
        start = end
    yield from _unread(laid, ground, marks, most=most, counted=counted)


def _unread(
    laid: Laid, ground: Ground, marks: Sequence[Set], *, most: int | None, counted: int
) -> Iterator[str]:
    """The latest entry that is likely there, where neither it nor one behind it is read."""
    likely = [one for one in ground.found if one.alive > _LIKELY]
    if not likely:
        return
    latest = likely[-1]
    places = [mark.boundary for mark in marks]
    if any(latest.boundary <= at <= latest.last for at in places):
        return
    if most is not None and counted >= most:
        why = f"all {most} marks earn more elsewhere" if most else "no mark may be set"
    elif not ground.allowed[latest.boundary]:
        why = "no mark can stand there, nor close enough behind it"
    else:
        why = "a mark that reads it costs more than it saves"
    at, section = latest.boundary, laid.pieces[latest.boundary - 1].section
    yield (
        f"{ground.tokens[at]:,} tokens held at boundary {at} ({section}) are not read from there: "
        f"{why}"
    )


_LIKELY = 0.5
"""An entry that is more likely gone is not missed."""
_EARNS = "earns"


def ends_of_stabilities(laid: Laid) -> Iterator[int]:
    """Boundaries behind which another stability begins, turn pieces left out."""
    for at, piece in enumerate(laid.pieces, 1):
        if piece.stability is Stability.TURN:
            return
        if at == len(laid.pieces) or laid.pieces[at].stability is not piece.stability:
            yield at


def _why(
    ground: Ground, terms: Terms, marks: Sequence[Set], *, end: int, rule: Rule, score: float
) -> str:
    minimum = rule.minimum_tokens.likely
    if ground.tokens[end] < minimum:
        contested = rule.minimum_tokens.contested
        return (
            f"{ground.tokens[end]:,} tokens are before it, and rule {rule.name} keeps nothing "
            f"below {minimum:,}{' (sources differ)' if contested else ''}"
        )
    if not ground.allowed[end]:
        return "the API lets no mark stand there"
    chance = ground.alive[0][end]
    if chance <= 0:
        return "nobody is expected to ask for it again while it is kept"
    for number in range(len(terms.lifetimes)):
        more = sorted([*marks, Set(end, number)])
        fits = all(a.lifetime <= b.lifetime for a, b in pairwise(more))
        if fits and expected(ground, terms, more).score < score:
            return _EARNS
    if any(mark.boundary > end for mark in marks):
        return "the mark behind it is found as often"
    return (
        f"found by {chance:.0%} of the requests that share it, and writing it would cost more "
        "than reading it saves"
    )
