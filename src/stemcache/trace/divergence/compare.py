"""A request against its parent: where they differ, and what they share before and behind.

```
Prompt, Prompt ─► sections ─► pieces ─► places inside of paired spans ─► changes, with bytes
                              (pieces)  (inside)                          (ledger)
```
Markers and JSON white space never count: they are not in the spans' texts. Content that is a string
equals the same text as one block.

Cost: equal spans at the speed of comparing memory, differing ones near-linear in spans, and inside
of a text near-linear in its lines, then in words of the stretches that differ.
"""

from collections.abc import Sequence
from itertools import groupby

from stemcache.trace.divergence.align import align
from stemcache.trace.divergence.alike import alike
from stemcache.trace.divergence.change import ChangeKind, Divergence
from stemcache.trace.divergence.inside import inside, utf8_bytes
from stemcache.trace.divergence.ledger import Ledger, Site
from stemcache.trace.divergence.names import tool_name
from stemcache.trace.divergence.pieces import Piece, PieceKind, pieces_of
from stemcache.trace.divergence.place import behind, block_or_message
from stemcache.trace.divergence.window import MOST_CHARS, Window
from stemcache.trace.spans.span import Prompt, Span
from stemcache.wire.section import Section

__all__ = ["compare"]


def compare(parent: Prompt, child: Prompt) -> Divergence:
    """All changes from parent to child, in the child's order of sections.

    Where the parent was put in another order, its spans are taken in the child's; numbers of its
    spans still count in its own.
    """
    new = child.spans
    places = _places(parent, child)
    old = parent.spans if places is None else tuple(parent.spans[i] for i in places)
    ledger = Ledger(old, new, places)
    for whole in _sections(old, new, child.order):
        low, high = whole.child_low, whole.child_high
        for piece in pieces_of(old, new, whole):
            _enter(ledger, piece, low, high)
    return ledger.close()


def _places(parent: Prompt, child: Prompt) -> list[int] | None:
    """The parent's spans in the child's order of sections, where that is another one."""
    if parent.order == child.order:
        return None
    order = dict.fromkeys((*child.order, *Section))
    rank = {section: i for i, section in enumerate(order)}
    return sorted(range(len(parent.spans)), key=lambda i: rank[parent.spans[i].section])


def _sections(old: Sequence[Span], new: Sequence[Span], order: Sequence[Section]) -> list[Piece]:
    """For each section in order the spans that both sides have of it."""
    counts = {key: len(list(run)) for key, run in groupby(old, lambda span: span.section)}
    child_counts = {key: len(list(run)) for key, run in groupby(new, lambda span: span.section)}
    found: list[Piece] = []
    low, child_low = 0, 0
    for section in dict.fromkeys((*order, *child_counts, *counts)):
        high, child_high = low + counts.get(section, 0), child_low + child_counts.get(section, 0)
        found.append(Piece(PieceKind.GAP, low, high, child_low, child_high))
        low, child_low = high, child_high
    return found


def _enter(ledger: Ledger, piece: Piece, low: int, high: int) -> None:
    """Put one piece of the section whose spans in the child are `[low, high)` into the ledger."""
    if piece.kind is PieceKind.SAME:
        ledger.same(piece)
    elif piece.kind is PieceKind.PAIR:
        _pair(ledger, piece)
    elif piece.kind is PieceKind.MOVED:
        _moved(ledger, piece)
    elif piece.child_low == piece.child_high:
        _gone(ledger, piece, low, high)
    elif piece.low == piece.high:
        if piece.low < len(ledger.old):  # else it is growth
            _come(ledger, piece)
    elif ledger.new[piece.child_low].section is Section.TOOLS:
        _gone(
            ledger,
            Piece(piece.kind, piece.low, piece.high, piece.child_low, piece.child_low),
            low,
            high,
        )
        _come(ledger, Piece(piece.kind, piece.high, piece.high, piece.child_low, piece.child_high))
    else:
        _other(ledger, piece)


def _pair(ledger: Ledger, piece: Piece) -> None:
    old, new = ledger.old[piece.low], ledger.new[piece.child_low]
    found = inside(old, new)
    shared = sum(place.shared_bytes for place in found.places) + found.tail_bytes
    loose = 2 * shared < utf8_bytes(new.text) and not alike(old.text, new.text)
    for place in found.places:
        ledger.share(place.shared_bytes)
        site = Site(place.kind, place.pointer, place.char, place.window)
        ledger.change(piece, site, loose=loose and place.kind is ChangeKind.EDITED)
        if place.kind is ChangeKind.EXTENDED:
            ledger.align(piece.child_low, piece.low)
    ledger.tail(found.tail_bytes, mended=found.mended)


def _other(ledger: Ledger, piece: Piece) -> None:
    """Several spans that stand for several others, or two that have nothing in common."""
    old, new = ledger.old[piece.low], ledger.new[piece.child_low]
    pointer, char = block_or_message(ledger.new, piece.child_low), None
    window = Window(
        _texts(ledger.old[piece.low : piece.high]),
        _texts(ledger.new[piece.child_low : piece.child_high]),
    )
    if old.kind is new.kind and old.role == new.role and old.text != new.text:
        first = inside(old, new, first_only=True).places[0]
        pointer, char, window = first.pointer, first.char, first.window
        ledger.share(first.shared_bytes)
    ledger.change(piece, Site(ChangeKind.EDITED, pointer, char, window), loose=True)


def _gone(ledger: Ledger, piece: Piece, low: int, high: int) -> None:
    at = piece.child_low
    if at < high:
        pointer = block_or_message(ledger.new, at)
    else:
        pointer = behind(ledger.new, low, high, ledger.old, piece.low)
    window = Window(_texts(ledger.old[piece.low : piece.high]), "")
    ledger.change(piece, Site(ChangeKind.REMOVED, pointer, None, window))


def _come(ledger: Ledger, piece: Piece) -> None:
    window = Window("", _texts(ledger.new[piece.child_low : piece.child_high]))
    pointer = block_or_message(ledger.new, piece.child_low)
    ledger.change(piece, Site(ChangeKind.INSERTED, pointer, None, window))


def _moved(ledger: Ledger, piece: Piece) -> None:
    old, new = ledger.old[piece.low], ledger.new[piece.child_low]
    window = Window(_name(old), _name(new))
    pointer = block_or_message(ledger.new, piece.child_low)
    ledger.change(piece, Site(ChangeKind.REORDERED, pointer, None, window))
    mine = [span.text for span in ledger.old[piece.low : piece.high]]
    theirs = [span.text for span in ledger.new[piece.child_low : piece.child_high]]
    for match in align(mine, theirs):
        for i in range(match.count):
            ledger.align(piece.child_low + match.other + i, piece.low + match.one + i)
    ledger.both(piece)


def _name(span: Span) -> str:
    return (tool_name(span) if span.section is Section.TOOLS else span.text)[:MOST_CHARS]


def _texts(spans: Sequence[Span]) -> str:
    """The beginning of several texts, one below the other."""
    shown: list[str] = []
    left = MOST_CHARS
    for span in spans:
        if left <= 0:
            break
        shown.append(span.text[:left])
        left -= len(span.text) + 1
    return "\n".join(shown)[:MOST_CHARS]
