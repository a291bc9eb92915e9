"""One edge of the radix tree: a run of blocks without a branch, in compact arrays.

```
    run      tokens  [ b0 | b1 | b2 | b3 | b4 ]        values  [ v0 v1 v2 v3 v4 ]
    spans             └── 2 blocks ─┘└1┘└─ 2 ─┘        one (blocks, state, pins) each
                       used twice     ▲   chunk added
                                      a lease ends here
```

A *span* is a stretch of blocks that have the same state and pins; it stands for what a table
would store on each block. Spans split where a lease ends or a use is recorded, never the run.
The state of the run's last block is kept apart, in `last`: that block is the one whose state
changes most, and only there do descendants leave.

Invariants: span lengths are positive and sum to the run's blocks; pins never rise along a run;
only the first block of a run carries an extra, which is part of its edge.
"""

from typing import Generic, TypeVar

import numpy as np

from stemcache.core.hashing import BlockKey
from stemcache.core.tokens import TokenRun, Tokens

__all__ = ["Edge", "Run", "Span"]

V = TypeVar("V")
S = TypeVar("S")

Edge = bytes | tuple[bytes, bytes]
"""How a child is found: its first block's tokens, with the block's extra if it carries one."""


class Span(Generic[S]):
    """Consecutive blocks of one run in one state, held by the same number of leases."""

    __slots__ = ("blocks", "pins", "state")

    def __init__(self, blocks: int, state: S, pins: int) -> None:
        self.blocks = blocks
        self.state = state
        self.pins = pins


class Run(Generic[V, S]):
    """A node of the tree and the edge above it. `start` counts the blocks before the run."""

    __slots__ = (
        "children",
        "edge",
        "keys",
        "last",
        "parent",
        "spans",
        "start",
        "ticket",
        "tokens",
        "values",
    )

    def __init__(
        self,
        *,
        parent: "Run[V, S] | None",
        edge: Edge,
        start: int,
        tokens: Tokens,
        values: list[V],
        keys: list[BlockKey] | None,
        spans: list[Span[S]],
    ) -> None:
        self.parent = parent
        self.edge = edge
        self.start = start
        self.tokens = TokenRun(tokens)
        self.values = values
        self.keys = keys
        """None in a tree that does not keep keys."""
        self.spans = spans
        self.last = spans[-1].state
        """State of the last block; its span's state is what it was before it inherited."""
        self.children: dict[Edge, Run[V, S]] = {}
        self.ticket: int | None = None

    @property
    def blocks(self) -> int:
        """Length in blocks."""
        return len(self.values)

    @property
    def stop(self) -> int:
        """Blocks from the start of the chain to the end of the run."""
        return self.start + len(self.values)

    @property
    def pinned(self) -> int:
        """Blocks that leases hold; they stand before all others. O(1) if it is all or none."""
        if not self.spans[0].pins:
            return 0
        blocks = len(self.values)
        for span in reversed(self.spans):
            if span.pins:
                break
            blocks -= span.blocks
        return blocks

    @property
    def free_leaf(self) -> bool:
        """Whether the last block can be evicted."""
        return not self.children and not self.spans[-1].pins

    def extend(
        self, tokens: Tokens, values: list[V], keys: list[BlockKey] | None, span: Span[S]
    ) -> None:
        """Add blocks at the end, in place. Amortised O(new)."""
        if self.spans[-1].state != self.last:
            self.cut_span(self.blocks - 1)
            self.spans[-1].state = self.last
        self.last = span.state
        self.tokens.append(tokens)
        self.values += values
        if self.keys is not None:
            assert keys is not None, "a keyed run was extended without keys"
            self.keys += keys
        self.spans.append(span)

    def cut_span(self, blocks: int) -> int:
        """Make `blocks` (from the run's start) a boundary between spans; the index behind it.

        O(spans).
        """
        at = 0
        for number, span in enumerate(self.spans):
            if at == blocks:
                return number
            if at + span.blocks > blocks:
                rest = Span(at + span.blocks - blocks, span.state, span.pins)
                span.blocks = blocks - at
                self.spans.insert(number + 1, rest)
                return number + 1
            at += span.blocks
        return len(self.spans)

    def merge_spans(self) -> None:
        """Join neighbours that no longer differ. O(spans)."""
        merged = self.spans[:1]
        for span in self.spans[1:]:
            last = merged[-1]
            if span.pins == last.pins and span.state == last.state:
                last.blocks += span.blocks
            else:
                merged.append(span)
        self.spans = merged

    def split(self, blocks: int, edge: Edge, block_size: int) -> "Run[V, S]":
        """Move the first `blocks` blocks into a new run, which becomes this one's parent.

        This run keeps its identity and its end, so a lease that points at it stays right. The
        caller enters the new run in the table this one stood in; `edge` is this run's next edge.
        The moved tokens are copied; the rest is shifted. O(run), a memory move.
        """
        behind = self.cut_span(blocks)
        upper: Run[V, S] = Run(
            parent=self.parent,
            edge=self.edge,
            start=self.start,
            tokens=self.tokens.view(0, blocks * block_size),
            values=self.values[:blocks],
            keys=None if self.keys is None else self.keys[:blocks],
            spans=self.spans[:behind],
        )
        del self.spans[:behind]
        del self.values[:blocks]
        if self.keys is not None:
            del self.keys[:blocks]
        self.tokens.cut_head(blocks * block_size)
        self.start += blocks
        upper.children[edge] = self
        self.parent, self.edge = upper, edge
        return upper

    def pop(self, blocks: int, block_size: int) -> tuple[list[BlockKey] | None, list[V]]:
        """Take the last blocks off, all of one span: their keys and values, the last one first.

        The caller sets `last`; the run may be left empty. O(blocks).
        """
        span = self.spans[-1]
        span.blocks -= blocks
        if not span.blocks:
            self.spans.pop()
        rest = len(self.values) - blocks
        self.tokens.cut_tail(rest * block_size)
        values = self.values[rest:]
        values.reverse()
        del self.values[rest:]
        keys = None
        if self.keys is not None:
            keys = self.keys[rest:]
            keys.reverse()
            del self.keys[rest:]
        return keys, values

    def check(self, block_size: int) -> None:
        """Verify the invariants of one run. O(spans)."""
        assert self.values, "a run is empty"
        assert len(self.tokens) == len(self.values) * block_size, "tokens and values differ"
        assert self.keys is None or len(self.keys) == len(self.values), "keys and values differ"
        assert all(span.blocks > 0 for span in self.spans), "a span is empty"
        total = sum(span.blocks for span in self.spans)
        assert total == len(self.values), f"spans cover {total} of {len(self.values)} blocks"
        pins = [span.pins for span in self.spans]
        assert pins == sorted(pins, reverse=True), f"pins rise along a run: {pins}"
        head = np.asarray(self.tokens.view(0, block_size), "<u4").tobytes()
        edge = self.edge if isinstance(self.edge, bytes) else self.edge[1]
        assert edge == head, "the edge does not begin the run"
