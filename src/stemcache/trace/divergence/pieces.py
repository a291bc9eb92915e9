"""A section of two prompts as pieces: runs of equal spans, and what stands between them.

```
parent   S   q0 a0   q1 a1   t              pieces
child    S           q1 a1   t'  a2  q2     SAME S · GAP (q0 a0 | ) · SAME q1 a1 · PAIR (t | t')
                                            · GAP ( | a2 q2)
```
PAIR is one span on each side that stand in each other's place and are alike enough, or the only
ones there, so that it is worth looking for the difference inside of them. MOVED is a stretch that
has the same spans on both sides in another order.

Invariant: the pieces of a section cover all its spans on both sides, in order.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from stemcache.trace.divergence.align import Match, align
from stemcache.trace.divergence.alike import Likeness
from stemcache.trace.divergence.names import tool_name
from stemcache.trace.spans.span import Span
from stemcache.wire.section import Section

__all__ = ["Piece", "PieceKind", "pieces_of"]

_WINDOW = 8
"""So many spans ahead are looked at for one that is like a given one."""
_MOST_GAPS = 8
"""What moved is looked for over so many stretches of differing spans."""
_CHANCE_CHARS = 64
"""Shorter stretches of equal messages between longer different ones agree by chance: "yes"."""
_CHANCE_RATIO = 8
_CHANCE_SPANS = 2
"""Of an edit of one message in place nothing is chance."""


class PieceKind(StrEnum):
    """What a piece holds."""

    SAME = "same"
    PAIR = "pair"
    GAP = "gap"
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Piece:
    """Spans `[low, high)` of the parent and `[child_low, child_high)` of the child."""

    kind: PieceKind
    low: int
    high: int
    child_low: int
    child_high: int


def pieces_of(parent: Sequence[Span], child: Sequence[Span], whole: Piece) -> list[Piece]:
    """The pieces of one section, which `whole` cuts out of both prompts.

    Comparing equal spans costs what comparing their texts does; else near-linear in spans.
    """
    low, high, child_low, child_high = whole.low, whole.high, whole.child_low, whole.child_high
    while low < high and child_low < child_high and _equal(parent[low], child[child_low]):
        low, child_low = low + 1, child_low + 1
    end, child_end = _back(parent, child, Piece(PieceKind.GAP, low, high, child_low, child_high))
    if low < end and child_low < child_end and child[child_low].section is Section.MESSAGES:
        # A history that grew may end like its parent by chance, and so may two that have nothing
        # in common: judged with the rest.
        chars = sum(len(span.text) for span in parent[end:high])
        if high - low != child_high - child_low or chars < _CHANCE_CHARS:
            end, child_end = high, child_high
    high, child_high = end, child_end
    front = Piece(PieceKind.SAME, whole.low, low, whole.child_low, child_low)
    back = Piece(PieceKind.SAME, high, whole.high, child_high, whole.child_high)
    inner = _middle(parent, child, Piece(PieceKind.GAP, low, high, child_low, child_high))
    return [piece for piece in (front, *inner, back) if _spans(piece)]


def _back(parent: Sequence[Span], child: Sequence[Span], whole: Piece) -> tuple[int, int]:
    """Where the equal spans at the end begin."""
    high, child_high = whole.high, whole.child_high
    while high > whole.low and child_high > whole.child_low:
        if not _equal(parent[high - 1], child[child_high - 1]):
            break
        high, child_high = high - 1, child_high - 1
    return high, child_high


def _spans(piece: Piece) -> int:
    return piece.high - piece.low + piece.child_high - piece.child_low


def _equal(one: Span, other: Span) -> bool:
    return (
        one.text == other.text
        and one.kind is other.kind
        and one.role == other.role
        and one.label == other.label
    )


def _middle(parent: Sequence[Span], child: Sequence[Span], whole: Piece) -> list[Piece]:
    """What is left when equal ends are trimmed."""
    if whole.low == whole.high or whole.child_low == whole.child_high:
        return [whole]
    mine = parent[whole.low : whole.high]
    theirs = child[whole.child_low : whole.child_high]
    if mine[0].section is Section.TOOLS:
        return _tools(mine, theirs, whole)
    keys = [_key(span) for span in mine]
    child_keys = [_key(span) for span in theirs]
    pieces = _filled(align(keys, child_keys), whole)
    if mine[0].section is Section.MESSAGES:
        pieces = _without_chance(parent, child, pieces, whole)
    pieces = _moved(keys, child_keys, pieces, whole)
    return [part for piece in pieces for part in _paired(parent, child, piece)]


def _key(span: Span) -> Hashable:
    return span.text, span.kind, span.role, span.label


def _filled(matches: Sequence[Match], whole: Piece) -> list[Piece]:
    """Matches as pieces, with the gaps between them."""
    pieces: list[Piece] = []
    at, child_at = whole.low, whole.child_low
    end = Match(whole.high - whole.low, whole.child_high - whole.child_low, 0)
    for match in (*matches, end):
        low, child_low = whole.low + match.one, whole.child_low + match.other
        if at < low or child_at < child_low:
            pieces.append(Piece(PieceKind.GAP, at, low, child_at, child_low))
        at, child_at = low + match.count, child_low + match.count
        if match.count:
            pieces.append(Piece(PieceKind.SAME, low, at, child_low, child_at))
    return pieces


def _joined(first: Piece, last: Piece, kind: PieceKind) -> Piece:
    return Piece(kind, first.low, last.high, first.child_low, last.child_high)


def _without_chance(
    parent: Sequence[Span], child: Sequence[Span], pieces: Sequence[Piece], whole: Piece
) -> list[Piece]:
    """Short equal stretches made part of the long different ones that they stand between."""
    sums = _sums(parent[whole.low : whole.high])
    child_sums = _sums(child[whole.child_low : whole.child_high])

    def chars(piece: Piece) -> int:
        mine = sums[piece.high - whole.low] - sums[piece.low - whole.low]
        theirs = child_sums[piece.child_high - whole.child_low]
        return max(mine, theirs - child_sums[piece.child_low - whole.child_low])

    def by_chance(before: Piece, piece: Piece, ahead: Piece | None) -> bool:
        size = chars(piece)
        spans = min(before.high - before.low, before.child_high - before.child_low)
        replaced = spans >= _CHANCE_SPANS
        near = chars(before) if ahead is None else min(chars(before), chars(ahead))
        return replaced and size < _CHANCE_CHARS and size * _CHANCE_RATIO < near

    kept: list[Piece] = []
    for i, piece in enumerate(pieces):
        join = bool(kept) and kept[-1].kind is PieceKind.GAP
        if join and piece.kind is PieceKind.SAME:
            ahead = pieces[i + 1] if i + 1 < len(pieces) else None
            join = by_chance(kept[-1], piece, ahead)
        if join:
            kept[-1] = _joined(kept[-1], piece, PieceKind.GAP)
        else:
            kept.append(piece)
    return kept


def _sums(spans: Sequence[Span]) -> list[int]:
    return list(accumulate((len(span.text) for span in spans), initial=0))


def _moved(
    keys: Sequence[Hashable],
    child_keys: Sequence[Hashable],
    pieces: Sequence[Piece],
    whole: Piece,
) -> list[Piece]:
    """Stretches whose spans are the same on both sides as MOVED."""
    result: list[Piece] = []
    i = 0
    while i < len(pieces):
        end = _balanced(keys, child_keys, pieces[i : i + 2 * _MOST_GAPS], whole)
        if end:
            result.append(_joined(pieces[i], pieces[i + end - 1], PieceKind.MOVED))
        else:
            result.append(pieces[i])
        i += end or 1
    return result


def _balanced(
    keys: Sequence[Hashable],
    child_keys: Sequence[Hashable],
    pieces: Sequence[Piece],
    whole: Piece,
) -> int:
    """How many of the pieces it takes until what is gone has come again; 0 where it never does."""
    excess: Counter[Hashable] = Counter()
    for i, piece in enumerate(pieces):
        if piece.kind is PieceKind.SAME:
            if i == 0:
                return 0
            continue
        for key in keys[piece.low - whole.low : piece.high - whole.low]:
            excess[key] += 1
        for key in child_keys[
            piece.child_low - whole.child_low : piece.child_high - whole.child_low
        ]:
            excess[key] -= 1
        if not any(excess.values()):
            return i + 1
    return 0


def _tools(mine: Sequence[Span], theirs: Sequence[Span], whole: Piece) -> list[Piece]:
    """Tools go by their names: what stands under one name is a pair, or the same."""
    names, child_names = [tool_name(span) for span in mine], [tool_name(span) for span in theirs]
    matches = align(names, child_names)
    taken: Counter[str] = Counter()
    for match in matches:
        taken.update(names[match.one : match.one + match.count])
    left, child_left = Counter(names) - taken, Counter(child_names) - taken
    moved = any(name in child_left for name in left)
    pieces = _filled(matches, whole)
    if moved:
        # What stands where it stood, before and behind, did not move.
        front = next(i for i, piece in enumerate(pieces) if piece.kind is PieceKind.GAP)
        back = max(i for i, piece in enumerate(pieces) if piece.kind is PieceKind.GAP)
        stretch = _joined(pieces[front], pieces[back], PieceKind.MOVED)
        pieces[front : back + 1] = [stretch]
    return [part for piece in pieces for part in _told(mine, theirs, piece, whole)]


def _told(
    mine: Sequence[Span], theirs: Sequence[Span], piece: Piece, whole: Piece
) -> Iterator[Piece]:
    """Tools of the same names as pairs, where they differ."""
    if piece.kind is not PieceKind.SAME:
        yield piece
        return
    for i in range(piece.high - piece.low):
        low, child_low = piece.low + i, piece.child_low + i
        same = _equal(mine[low - whole.low], theirs[child_low - whole.child_low])
        kind = PieceKind.SAME if same else PieceKind.PAIR
        yield Piece(kind, low, low + 1, child_low, child_low + 1)


def _paired(parent: Sequence[Span], child: Sequence[Span], gap: Piece) -> Iterator[Piece]:
    """A gap as pairs of spans in each other's place, and what is left between them."""
    if gap.kind is not PieceKind.GAP or gap.low == gap.high or gap.child_low == gap.child_high:
        yield gap
        return
    at, child_at = gap.low, gap.child_low
    only = gap.high - gap.low == 1 == gap.child_high - gap.child_low
    alike = Likeness()
    for i in range(gap.low, gap.high):
        for j in range(child_at, min(child_at + _WINDOW, gap.child_high)):
            beside = at == i and child_at == j
            if _may_pair(parent[i], child[j], beside=beside) and (
                only or alike(parent[i].text, child[j].text)
            ):
                if not beside:
                    yield Piece(PieceKind.GAP, at, i, child_at, j)
                kind = PieceKind.SAME if _equal(parent[i], child[j]) else PieceKind.PAIR
                yield Piece(kind, i, i + 1, j, j + 1)
                at, child_at = i + 1, j + 1
                break
    if at < gap.high or child_at < gap.child_high:
        yield Piece(PieceKind.GAP, at, gap.high, child_at, gap.child_high)


def _may_pair(one: Span, other: Span, *, beside: bool) -> bool:
    """Whether they are of a sort, and long enough unless nothing stands before either."""
    if one.kind is not other.kind or one.role != other.role:
        return False
    return beside or min(len(one.text), len(other.text)) >= _CHANCE_CHARS
