"""Caches that are written at message endings by themselves: which of them the provider marks.

```
              developer │ user │ assistant │ user │ now (turn)
eligible          ●         ●                  ●      ▲ the latest: written by the provider
looked up         ○         ○                  ○      ○ it, and twenty before it
explicit          ▲                            ▲ exactly where they stand
```
OpenAI from 5.6. A volatile piece at the end makes the provider write what nobody will read; then
it can be cheaper to turn its own breakpoints off, and to mark what was held too, for it is read
only there.

The end of the first developer messages is looked up and, as some measured and others did not,
written as well. Nothing is counted on that.

Whether text of an assistant takes a breakpoint in a chat is contested (`markable`). One behind the
user's or the tool's part before it loses that text for one turn, so none is set on an answer.
"""

from dataclasses import replace

from stemcache.prompt.message import Message
from stemcache.prompt.piece import Laid, Piece
from stemcache.wire.section import Section

__all__ = ["endings", "exact", "is_answer", "without_answers"]

_EARLIER_ENDINGS = 20


def endings(laid: Laid) -> tuple[int, ...]:
    """Boundaries that can be breakpoints by themselves and are looked up, ascending. Linear."""
    ends = [
        (at, _kind(piece))
        for at, piece in enumerate(laid.pieces, 1)
        if piece.ends_message and piece.section is not Section.TOOLS
    ]
    eligible = [
        at
        for number, (at, kind) in enumerate(ends)
        if kind == "user"
        or (kind == "tool" and (number + 1 == len(ends) or ends[number + 1][1] != "tool"))
        or (kind == "developer" and (number + 1 == len(ends) or ends[number + 1][1] != kind))
    ]
    return tuple(eligible[-1 - _EARLIER_ENDINGS :])


def exact(laid: Laid, looked_up: tuple[int, ...] = ()) -> list[int]:
    """`Found.last`: entries are read where a mark stands, or anyway where it is looked up."""
    last = list(range(len(laid.pieces) + 1))
    for at in looked_up:
        last[at] = len(laid.pieces)
    return last


def without_answers(laid: Laid) -> Laid:
    """The same pieces, those of answers without leave to be marked. Linear."""
    return Laid(
        tuple(
            replace(one, markable=False) if one.markable and is_answer(one) else one
            for one in laid.pieces
        )
    )


def is_answer(piece: Piece) -> bool:
    """Whether a piece is part of what the model said."""
    return isinstance(piece.source, Message) and piece.source.speaker == "assistant"


def _kind(piece: Piece) -> str:
    if piece.section is Section.SYSTEM:
        return "developer"
    if piece.run == "tool_result":
        return "tool"
    return piece.source.speaker if isinstance(piece.source, Message) else "user"
