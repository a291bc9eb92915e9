"""A batch as pieces of attention, decided once and used by every layer. No torch here.

A piece says: these rows attend to all of that KV. What several sequences have in common is one
piece over the rows of all of them, read once:

```
    block tables          pieces: rows x context
    A  7 8 9 | 3           7 8 9  rows of A, B, C          rows follow the sorted block tables,
    B  7 8 9 | 4 5         4 5    rows of B                so a subtree is a range of rows
    C  7 8 9 | 4 6         4 6    rows of C
```

The rows of a chunk attend to one another in a causal *square* besides. A row's pieces are merged by
log-sum-exp, one *wave* after another; the pieces of a wave have no row in common.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from stemcache.engine.model import Step

__all__ = ["Extent", "Gather", "Piece", "Plan", "Square", "Wave", "last_of", "plan_batch"]

Ints = npt.NDArray[np.int64]

VIEW_TOKENS = 512
"""A run of pool slots at least this long is attended in place; shorter ones are gathered."""
SHARED_TOKENS = 128
"""A stem is its own piece if its tokens times the sequences it spares reach this."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Slots `first .. first + tokens - 1` of the pool, attended in place."""

    first: int
    tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Gather:
    """Scattered slots, copied together first. Order does not matter: keys carry positions."""

    slots: Ints


@dataclass(frozen=True, slots=True)
class Square:
    """The rows themselves, each attending to those before it and to itself."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows `first .. end - 1` of the batch, and what they all attend to."""

    first: int
    end: int
    source: Extent | Gather | Square


@dataclass(frozen=True, slots=True)
class Wave:
    """Pieces that follow one another without a gap, in order of rows."""

    pieces: tuple[Piece, ...]

    @property
    def first(self) -> int:
        """The first row."""
        return self.pieces[0].first

    @property
    def end(self) -> int:
        """The row behind the last."""
        return self.pieces[-1].end


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One batch, its rows in the order of computation."""

    tokens: Ints
    positions: Ints
    slots: Ints
    """Where each row's KV is written."""
    waves: tuple[Wave, ...]
    """The first covers all rows; merge them in order."""
    last_rows: Ints
    """Row of the last token of each step that is sampled, in the order of the steps."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A step at its place in the batch."""

    first: int
    end: int
    pages: Ints
    """The pages of its context; the last may be partly used."""
    full: int
    """How many of them are used whole."""
    context: int
    """Tokens attended to without a mask."""


def plan_batch(steps: Sequence[Step], block_size: int) -> Plan:
    """Order the rows of `steps` and cut their attention into pieces."""
    order = sorted(range(len(steps)), key=lambda i: steps[i].pages.tobytes())
    parts: list[_Part] = []
    tokens: list[Ints] = []
    positions: list[Ints] = []
    slots: list[Ints] = []
    last = np.empty(len(steps), np.int64)
    row = 0
    for i in order:
        step = steps[i]
        count = len(step.tokens)
        at = np.arange(step.start, step.start + count, dtype=np.int64)
        pages = step.pages.astype(np.int64)
        tokens.append(step.tokens.astype(np.int64))
        positions.append(at)
        slots.append(pages[at // block_size] * block_size + at % block_size)
        # A single row's own KV is written before attention: it is context like the rest.
        context = step.start + 1 if count == 1 else step.start
        used = -(-context // block_size)
        parts.append(_Part(row, row + count, pages[:used], context // block_size, context))
        row += count
        last[i] = row - 1
    cutter = _Cutter(parts, block_size)
    return Plan(
        np.concatenate(tokens),
        np.concatenate(positions),
        np.concatenate(slots),
        cutter.waves(),
        last[[step.sample for step in steps]],
    )


def last_of(steps: Sequence[Step]) -> list[Step]:
    """Reduce the steps that are sampled to their last token."""
    return [
        Step(step.tokens[-1:], step.start + len(step.tokens) - 1, step.pages, sample=True)
        for step in steps
        if step.sample
    ]


class _Cutter:
    """Walks the tree that sorted block tables form."""

    def __init__(self, parts: Sequence[_Part], block_size: int) -> None:
        self._parts = parts
        self._block_size = block_size
        self._common = [_common(left, right) for left, right in pairwise(parts)]
        self._rows: list[list[Piece]] = []
        """Wave by wave, in order of rows."""

    def waves(self) -> tuple[Wave, ...]:
        self._cut(0, len(self._parts), 0, 0)
        return tuple(run for pieces in self._rows for run in _runs(pieces))

    def _cut(self, low: int, high: int, base: int, wave: int) -> None:
        """Cut parts `low .. high - 1`, whose first `base` pages are done, from `wave` on."""
        parts = self._parts
        if high - low == 1:
            self._cut_one(parts[low], base, wave)
            return
        shared = min(self._common[low : high - 1])
        spared = (shared - base) * self._block_size * (high - low - 1)
        if spared >= SHARED_TOKENS:
            pages = parts[low].pages[base:shared]
            size = len(pages) * self._block_size
            wave = self._add(parts[low].first, parts[high - 1].end, pages, size, wave)
            base = shared
        start = low
        for i in range(low, high - 1):
            if self._common[i] == shared:
                self._cut(start, i + 1, base, wave)
                start = i + 1
        self._cut(start, high, base, wave)

    def _cut_one(self, part: _Part, base: int, wave: int) -> None:
        rest = part.context - base * self._block_size
        if rest > 0:
            wave = self._add(part.first, part.end, part.pages[base:], rest, wave)
        if part.end - part.first > 1:
            self._put(Piece(part.first, part.end, Square()), wave)

    def _add(self, first: int, end: int, pages: Ints, tokens: int, wave: int) -> int:
        """Add pieces for the first `tokens` tokens of `pages`; return the wave behind them."""
        for source in _sources(pages, tokens, self._block_size):
            self._put(Piece(first, end, source), wave)
            wave += 1
        return wave

    def _put(self, piece: Piece, wave: int) -> None:
        while len(self._rows) <= wave:
            self._rows.append([])
        self._rows[wave].append(piece)


def _sources(pages: Ints, tokens: int, block_size: int) -> list[Extent | Gather]:
    """Long runs of consecutive pages as extents, the rest as one gather."""
    cuts = np.flatnonzero(np.diff(pages) != 1) + 1
    firsts = np.concatenate(([0], cuts))
    ends = np.concatenate((cuts, [len(pages)]))
    extents = [
        Extent(int(pages[a]) * block_size, int(min(b * block_size, tokens) - a * block_size))
        for a, b in zip(firsts.tolist(), ends.tolist(), strict=True)
    ]
    if len(extents) == 1:
        return [extents[0]]
    long = [extent for extent in extents if extent.tokens >= VIEW_TOKENS]
    short = [extent for extent in extents if extent.tokens < VIEW_TOKENS]
    if len(short) == 1:
        return [*long, short[0]]
    if not short:
        return [*long]
    slots = np.concatenate([np.arange(e.first, e.first + e.tokens, dtype=np.int64) for e in short])
    return [*long, Gather(slots)]


def _runs(pieces: Sequence[Piece]) -> list[Wave]:
    """Split one wave's pieces where rows are left out."""
    runs: list[list[Piece]] = [[pieces[0]]]
    for piece in pieces[1:]:
        if piece.first == runs[-1][-1].end:
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return [Wave(tuple(run)) for run in runs]


def _common(left: _Part, right: _Part) -> int:
    """Count the full pages that two tables begin with alike."""
    count = min(left.full, right.full)
    differs = np.flatnonzero(left.pages[:count] != right.pages[:count])
    return int(differs[0]) if len(differs) else count
