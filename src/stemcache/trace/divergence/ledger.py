"""What is shared, added up while pieces come in the child's order, and the changes between it.

```
pieces    same      change 0    same     change 1   tail   growth
shared    ├── 900 ──┤           ├─ 300 ──┤          ├ 50 ┤
          change 0: before 900, behind 350          change 1: before 1,200, behind 50
```
Invariant: before and behind of every change add up to all that is shared.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from stemcache.trace.divergence.change import Change, ChangeKind, Divergence
from stemcache.trace.divergence.inside import utf8_bytes
from stemcache.trace.divergence.pieces import Piece
from stemcache.trace.divergence.window import Window
from stemcache.trace.spans.span import Span

__all__ = ["Ledger", "Site"]

_CHANCE_BYTES = 32
"""So little at the end of the last differing text, with nothing shared behind it, is chance."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where and what a change is."""

    kind: ChangeKind
    pointer: str
    char: int | None
    window: Window


@dataclass(frozen=True, slots=True)
class _Entry:
    piece: Piece
    site: Site
    shared_before: int
    loose: bool


class Ledger:
    """Takes the pieces of one comparison, in order, and gives the divergence at the end."""

    def __init__(
        self, old: Sequence[Span], new: Sequence[Span], places: Sequence[int] | None
    ) -> None:
        self.old = old
        self.new = new
        self._places = places
        """The parent's own numbers of `old`, where they are others."""
        self._shared = 0
        self._tail = 0
        self._entries: list[_Entry] = []
        self._aligned = [-1] * len(new)

    def same(self, piece: Piece) -> None:
        """Equal spans."""
        for i in range(piece.high - piece.low):
            self.align(piece.child_low + i, piece.low + i)
        self.share(_bytes(self.new[piece.child_low : piece.child_high]))

    def share(self, shared_bytes: int) -> None:
        """Bytes that both have at this place."""
        self._shared += shared_bytes
        if shared_bytes:
            self._tail = 0

    def tail(self, shared_bytes: int, *, mended: bool) -> None:
        """Bytes that both have behind the last place of a differing span."""
        self.share(shared_bytes)
        self._tail = 0 if mended else shared_bytes

    def both(self, piece: Piece) -> None:
        """Bytes of those spans of a stretch that both have, whatever their order."""
        left = Counter(span.text for span in self.old[piece.low : piece.high])
        found = 0
        for span in self.new[piece.child_low : piece.child_high]:
            if left[span.text] > 0:
                left[span.text] -= 1
                found += utf8_bytes(span.text)
        self.share(found)

    def align(self, child: int, parent: int) -> None:
        """Note that a span of the child equals or continues one of the parent."""
        self._aligned[child] = parent if self._places is None else self._places[parent]

    def change(self, piece: Piece, site: Site, *, loose: bool = False) -> None:
        """A change here. `loose` makes it REPLACED if nothing is shared behind it."""
        self._tail = 0
        self._entries.append(_Entry(piece, site, self._shared, loose))

    def close(self) -> Divergence:
        """The result."""
        if self._entries and self._tail < _CHANCE_BYTES:
            self._shared -= self._tail
        return Divergence(
            changes=tuple(self._change(entry) for entry in self._entries),
            prefix_bytes=self._entries[0].shared_before if self._entries else self._shared,
            shared_bytes=self._shared,
            child_bytes=_bytes(self.new),
            parent_bytes=_bytes(self.old),
            aligned=tuple(self._aligned),
        )

    def _change(self, entry: _Entry) -> Change:
        piece, site = entry.piece, entry.site
        before = tuple(self.old[piece.low : piece.high])
        after = tuple(self.new[piece.child_low : piece.child_high])
        behind = self._shared - entry.shared_before
        place = piece.low
        if self._places is not None and place < len(self._places):
            place = self._places[place]
        return Change(
            kind=ChangeKind.REPLACED if entry.loose and not behind else site.kind,
            section=(after or before)[0].section,
            before=before,
            after=after,
            before_index=place,
            after_index=piece.child_low,
            pointer=site.pointer,
            char=site.char,
            old=site.window.old,
            new=site.window.new,
            shared_before=entry.shared_before,
            shared_behind=behind,
        )


def _bytes(spans: Sequence[Span]) -> int:
    return sum(utf8_bytes(span.text) for span in spans)
