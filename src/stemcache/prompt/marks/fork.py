"""A mark to spare, where another request may go on: behind results that a user's words follow.

```
call │ result  result  "Explain the first."     a fork's request
                     ▲                    ▲
call │ result  result  (turn)                   the trunk's next one reads up to there
```
Whoever forks a conversation between results and the next answer sends the same results twice, with
words behind them and without. Only the fork's own end would be marked, and where results are many
they are written again. A forecast knows no forks; the mark is set where it costs nothing by it.
"""

from collections.abc import Sequence

from stemcache.prompt.marks.cost import Set, expected
from stemcache.prompt.marks.ground import Ground
from stemcache.prompt.marks.terms import Terms
from stemcache.prompt.message import Message
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.stability import Stability

__all__ = ["with_fork"]


def with_fork(
    laid: Laid, ground: Ground, terms: Terms, marks: Sequence[Set], most: int | None
) -> tuple[Set, ...]:
    """The marks, and one more where it is free; ascending. Looks at pieces behind the last answer.

    `most` is how many may be set beside the provider's own.
    """
    found = tuple(marks)
    at = _behind_results(laid)
    set_by_caller = sum(1 for one in found if one.boundary not in ground.own)
    next_mark = next((one for one in found if one.boundary >= at), None)
    if not at or next_mark is None or next_mark.boundary == at or not ground.allowed[at]:
        return found
    if most is not None and set_by_caller >= most:
        return found
    more = tuple(sorted((*found, Set(at, next_mark.lifetime))))
    near = 1e-9 * max(ground.tokens[-1], 1) * terms.input
    free = expected(ground, terms, more).score <= expected(ground, terms, found).score + near
    return more if free else found


def _behind_results(laid: Laid) -> int:
    """The boundary behind the newest results, where what stays follows them; 0 where none does."""
    end = len(laid.pieces)
    while end and laid.pieces[end - 1].stability is Stability.TURN:
        end -= 1
    at = end
    while at and laid.pieces[at - 1].run is None and _is_users(laid.pieces[at - 1]):
        at -= 1
    return at if 0 < at < end and laid.pieces[at - 1].run == "tool_result" else 0


def _is_users(piece: Piece) -> bool:
    return isinstance(piece.source, Message) and piece.source.speaker == "user"
