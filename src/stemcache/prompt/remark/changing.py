"""What of somebody else's body will be other words in the next request, told by this one alone.

```
… │ answer │ "And on Monday?"  "Now: 2026-11-30T10:07:31Z"          no question before has a clock:
                             ▲ mark                                 this one will be left out
… "Now: 10:05:02" │ answer │ "And on Monday?"  "Now: 10:07:31"  ▲   it was replayed: it stays
… │ result "at 10:07:31 the train left"  ▲                          replayed as every result is
```
Behind the last answer texts are looked at, with what changes with each request in mind. Whether the
caller replays it cannot be seen there, but it can in the texts before that answer, which are a
history by now: who has stored a clock there will store this one too. Of a first question nothing is
known, and it is taken not to stay. Wrongly thought to stay, all behind the marks before it would be
written again with each request; wrongly thought to go, one message is written a request later.
Marks on both sides of it would cost a write of each message that goes: 9% of a conversation whose
messages have 1,500 words, where this choice costs one that stays 6%, once.

Texts of a message are searched at their ends, where programs write: those of the first two and of
the last two texts. With many clocks a text is a log that somebody pasted, and stays.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from stemcache.prompt.part import Text
from stemcache.prompt.piece import Laid
from stemcache.prompt.segment import Segment
from stemcache.prompt.stability import Stability
from stemcache.prompt.volatile.check import find
from stemcache.text.volatile.detector import Family
from stemcache.text.volatile.mask import tokens
from stemcache.trace.spans.span import Prompt, SpanKind
from stemcache.wire.section import Section

__all__ = ["ANSWERS", "changing", "fits", "told"]

ANSWERS = frozenset({"assistant", "model"})
"""Roles of what a model has said."""
_SEARCHED_CHARS = 8_192
"""Of either end of a system text: a search takes up to 3 ms a thousand characters, and what
programs write into such a text they write above it or below it."""
_SEARCHED_IN_MESSAGE_CHARS = 2_048
"""Of either end of a text of a message, which is another one with each request."""
_LOOKED_AT = 2
"""Texts at either end of a message."""
_MOST_CLOCKS = 3
"""At an end of a message: a date, a time and when something was last seen."""
_REMEMBERED = 512
"""Texts, or ends of them, that are searched once: at most twice `_SEARCHED_CHARS` each."""


def fits(text: str, most_chars: int = _SEARCHED_CHARS) -> Stability:
    """Where a text would be right by what is volatile at its ends; STATIC where nothing is.

    Each end once: below 50 ms where it is full of numbers, 5 ms where it is words.
    """
    found = Stability.STATIC
    for end in _ends(text, most_chars):
        found = max(found, _fits(end), key=lambda one: one.rank)
        if found is Stability.TURN:
            break
    return found


def changing(prompt: Prompt) -> frozenset[int]:
    """Numbers of spans behind the last answer that the next request will not have. Pure.

    Linear but for the search, which is bounded: eight texts, two ends each.
    """
    runs = _texts_between_answers(prompt)
    newest = next(runs, [])
    found = frozenset(at for at in _outer(newest) if _changes(prompt, at))
    if not found:
        return found
    before = next((run for run in runs if run), [])
    return frozenset() if any(_changes(prompt, at) for at in _outer(before)) else found


def told(laid: Laid) -> Iterator[str]:
    """Says so where nothing behind a place is marked. Names no text."""
    for at, piece in enumerate(laid.pieces):
        if piece.stability is not Stability.TURN:
            continue
        what = (
            f"block {at + 1} ({piece.section}) has a clock, or what else changes with each request"
        )
        if piece.section is Section.MESSAGES:
            yield (
                f"{what}, and no question before it has one; it is taken not to be replayed, so "
                "nothing from there on is marked: replay it as it was sent, or send it in a block "
                "of its own at the end"
            )
        else:
            yield (
                f"{what}, so nothing from there on is marked: it would be written again with each; "
                "send what changes at the end of the newest message"
            )
        return


def _texts_between_answers(prompt: Prompt) -> Iterator[list[int]]:
    """Numbers of the texts that no model said, from the last answer on, then those before it, …"""
    run: list[int] = []
    for at in range(len(prompt.spans) - 1, -1, -1):
        span = prompt.spans[at]
        if span.section is not Section.MESSAGES:
            continue
        if span.role not in ANSWERS:
            if span.kind is SpanKind.TEXT:
                run.append(at)
        elif run or at + 1 == len(prompt.spans) or prompt.spans[at + 1].role not in ANSWERS:
            yield run[::-1]
            run = []
    yield run[::-1]


def _outer(run: Sequence[int]) -> list[int]:
    return list(dict.fromkeys([*run[:_LOOKED_AT], *run[-_LOOKED_AT:]]))


def _changes(prompt: Prompt, at: int) -> bool:
    return any(
        _fits(end) is Stability.TURN and not _is_data(end)
        for end in _ends(prompt.spans[at].text, _SEARCHED_IN_MESSAGE_CHARS)
    )


def _is_data(end: str) -> bool:
    """Whether it has more clocks than a program puts into a message: a log that a user pasted."""
    return sum(one.family is Family.CLOCK for one in tokens(end)) > _MOST_CLOCKS


def _ends(text: str, most_chars: int) -> Iterator[str]:
    """The text, or what is searched of a longer one; the lower end begins with a line."""
    if len(text) <= 2 * most_chars:
        yield text
        return
    yield text[:most_chars]
    below = text[-most_chars:]
    yield below[below.find("\n") + 1 :]


@lru_cache(maxsize=_REMEMBERED)
def _fits(text: str) -> Stability:
    """Where it would be right by what is volatile in it; STATIC where nothing is."""
    found = find([Segment(name="system", stability=Stability.STATIC, parts=(Text(text),))])
    return max((one.fits for one in found), key=lambda one: one.rank, default=Stability.STATIC)
