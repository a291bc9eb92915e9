"""The places at which one span differs from the one that stood in its place.

A text gives one place for each edit, 64 at most; a structure, an image or a document gives its
first one. Bytes are those of the child's text that the parent's has too, cut up by the places:

```
child's text   ─shared─ place 0 ─shared─ place 1 ─shared─
                before[0]         before[1]       tail
```
"""

from dataclasses import dataclass

from stemcache.trace.divergence.change import ChangeKind
from stemcache.trace.divergence.hunks import Hunk, common_prefix, common_suffix, hunks_of
from stemcache.trace.divergence.structure import (
    first_difference,
    same_but_order,
    same_json_text,
)
from stemcache.trace.divergence.window import MOST_CHARS, Window, window_of
from stemcache.trace.spans.span import Span, SpanKind

__all__ = ["Inside", "Spotted", "inside", "utf8_bytes"]

_TEXTS = frozenset({SpanKind.TEXT, SpanKind.THINKING, SpanKind.TOOL_RESULT, SpanKind.TOOL_USE})
_MOST_PLACES = 64
"""The last one stands for all that follow."""
_MAYBE_JSON = frozenset({SpanKind.TOOL_USE, SpanKind.TOOL_RESULT, SpanKind.TOOL})


@dataclass(frozen=True, slots=True)
class Spotted:
    """One place."""

    kind: ChangeKind
    pointer: str
    char: int | None
    window: Window
    shared_bytes: int
    """Between the place before, or the text's beginning, and this one."""


@dataclass(frozen=True, slots=True)
class Inside:
    """All places of one span."""

    places: tuple[Spotted, ...]
    tail_bytes: int
    """Shared behind the last place."""
    mended: bool = False
    """Whether the tail is what mending the place gives, and not text that happens to agree."""


def utf8_bytes(text: str) -> int:
    """Length in UTF-8; half a surrogate pair counts as three bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def inside(old: Span, new: Span, *, first_only: bool = False) -> Inside:
    """Where `new` differs from `old`, which is of the same kind and role but not equal.

    `first_only` takes all from the first difference to the last for one place: for spans that are
    not versions of one text.
    """
    if old.text == new.text:
        return _label(old, new)
    if new.kind is SpanKind.TOKENS:
        return _tokens(old, new)
    if _is_structure(old) or _is_structure(new):
        return _structure(old, new)
    if new.kind in _MAYBE_JSON and same_json_text(old.text, new.text):
        return _respelt(old.text, new.text, new.text_pointer)
    if new.text.startswith(old.text):
        tail = Window("", new.text[len(old.text) : len(old.text) + MOST_CHARS])
        place = Spotted(
            ChangeKind.EXTENDED, new.text_pointer, len(old.text), tail, utf8_bytes(old.text)
        )
        return Inside((place,), 0)
    hunks = [_hull(old.text, new.text)]
    if not first_only and new.kind in _TEXTS:
        hunks = hunks_of(old.text, new.text)
    return _texts(old.text, new, hunks)


def _is_structure(span: Span) -> bool:
    return span.text_pointer == span.pointer and span.value != span.text


def _hull(old: str, new: str) -> Hunk:
    front = common_prefix(old, new)
    back = common_suffix(old, new, min(len(old), len(new)) - front)
    return Hunk(front, len(old) - back, front, len(new) - back)


def _texts(old: str, span: Span, hunks: list[Hunk]) -> Inside:
    new = span.text
    places: list[Spotted] = []
    at, tail = 0, 0
    for i, hunk in enumerate(hunks):
        shared = utf8_bytes(new[at : hunk.new_low])
        at = hunk.new_high
        if i >= _MOST_PLACES:
            tail += shared
            continue
        window = window_of(old, new, hunk)
        places.append(Spotted(ChangeKind.EDITED, span.text_pointer, hunk.new_low, window, shared))
    return Inside(tuple(places), tail + utf8_bytes(new[at:]))


def _label(old: Span, new: Span) -> Inside:
    place = Spotted(ChangeKind.EDITED, new.pointer, None, Window(old.label, new.label), 0)
    return Inside((place,), utf8_bytes(new.text))


def _respelt(old: str, new: str, pointer: str) -> Inside:
    hull = _hull(old, new)
    front = utf8_bytes(new[: hull.new_low])
    place = Spotted(ChangeKind.KEY_ORDER, pointer, hull.new_low, window_of(old, new, hull), front)
    return Inside((place,), utf8_bytes(new) - front, mended=True)


def _tokens(old: Span, new: Span) -> Inside:
    """Token ids with blanks between: the number of the first that differs, and that id."""
    if not old.text or new.text.startswith(f"{old.text} "):
        number = old.text.count(" ") + bool(old.text)
        rest = Window("", new.text[len(old.text) :].lstrip()[:MOST_CHARS])
        pointer = f"{new.pointer}/{number}"
        place = Spotted(ChangeKind.EXTENDED, pointer, None, rest, len(old.text))
        return Inside((place,), 0)
    hull = _hull(old.text, new.text)
    shared = new.text.rfind(" ", 0, hull.new_low) + 1
    window = Window(
        old.text[shared:].partition(" ")[0][:MOST_CHARS],
        new.text[shared:].partition(" ")[0][:MOST_CHARS],
    )
    pointer = f"{new.pointer}/{new.text.count(' ', 0, shared)}"
    place = Spotted(ChangeKind.EDITED, pointer, None, window, shared)
    behind = new.text.find(" ", hull.new_high - 1) if hull.new_high else 0
    return Inside((place,), len(new.text) - behind if behind >= 0 else 0)


def _structure(old: Span, new: Span) -> Inside:
    hull = _hull(old.text, new.text)
    front = utf8_bytes(new.text[: hull.new_low])
    spot = None
    if _is_structure(old) and _is_structure(new):
        spot = first_difference(old.value, new.value)
    if spot is None:
        place = Spotted(
            ChangeKind.EDITED, new.pointer, None, window_of(old.text, new.text, hull), front
        )
        return Inside((place,), utf8_bytes(new.text[hull.new_high :]))
    kind = ChangeKind.KEY_ORDER if spot.key_order else ChangeKind.EDITED
    window = Window(spot.old, spot.new)
    place = Spotted(kind, new.pointer + spot.pointer, spot.char, window, front)
    if spot.key_order and same_but_order(old.value, new.value):
        return Inside((place,), utf8_bytes(new.text) - front, mended=True)
    return Inside((place,), utf8_bytes(new.text[hull.new_high :]))
