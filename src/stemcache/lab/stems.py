"""The prefix tree of a trace: everything that its prompts share, and nothing ever evicted.

```
    visit 1 2 3 4         visit 1 2 5            visit 1 2
                               ┌─ [3 4]  ◄ the       ┌─ [3 4]
    root ─ [1 2 3 4]      root ─ [1 2]    first  root ─ [1 2]  ◄ ends on a stem
                               └─ [5]     one's      └─ [5]
```

A *stem* is a run of blocks that the same requests went through. Invariants:
  1. a visit ends at the end of a stem, so a request went through a whole stem or not at all;
  2. children of a stem begin with different ids;
  3. a stem that is split stays the lower part, so whoever remembers it as the end of a prompt is
     right for ever; the upper part is new and inherits its numbers.

So whatever is the same for all blocks of a stem (last use, uses, next use) is kept once, and a
simulation over stems costs O(stems on the path) a request instead of O(blocks).

Costs: `visit` O(blocks compared) in numpy and O(stems on the path) in Python; memory 8 bytes a
distinct block and about 300 a stem, of which there are fewer than two a request.
"""

from collections.abc import Iterator
from typing import NamedTuple

from stemcache.trace.record import BlockIds

__all__ = ["Path", "Stem", "StemTree"]


class Stem:
    """A run of blocks that the same requests went through."""

    __slots__ = (
        "children",
        "ids",
        "last_request",
        "last_s",
        "parent",
        "start",
        "uses",
        "written_s",
    )

    def __init__(self, parent: "Stem | None", start: int, ids: BlockIds) -> None:
        self.parent = parent
        self.start = start
        """Blocks before it on the way from the root."""
        self.ids = ids
        self.children: dict[int, Stem] = {}
        self.uses = 0
        """Requests that went through it."""
        self.last_request = -1
        self.last_s = 0.0
        """When the last of them came."""
        self.written_s: list[float] | None = None
        """When it was last computed, for each time to live that does not renew; if any is asked."""

    @property
    def blocks(self) -> int:
        """Blocks in the run."""
        return len(self.ids)

    @property
    def stop(self) -> int:
        """Blocks from the root to its end."""
        return self.start + len(self.ids)


class Path(NamedTuple):
    """The way of one prompt through the tree."""

    stems: list[Stem]
    known: int
    """How many of them, from the front, were there before."""

    @property
    def known_blocks(self) -> int:
        """Blocks that some earlier prompt had."""
        return self.stems[self.known - 1].stop if self.known else 0


class StemTree:
    """All prompts of a trace, by scope. Grows only."""

    def __init__(self) -> None:
        self._roots: dict[str, dict[int, Stem]] = {}
        self.blocks = 0
        """Distinct blocks."""
        self.stems = 0

    def visit(self, scope: str, ids: BlockIds) -> Path:
        """The path of a prompt, made where it is missing. States of stems are the caller's."""
        children = self._roots.setdefault(scope, {})
        path: list[Stem] = []
        parent: Stem | None = None
        at, size = 0, len(ids)
        while at < size:
            first = int(ids[at])
            stem = children.get(first)
            if stem is None:
                children[first] = tail = Stem(parent, at, ids[at:].copy())
                self.blocks += size - at
                self.stems += 1
                path.append(tail)
                return Path(path, len(path) - 1)
            equal = _equal(stem.ids, ids[at : at + len(stem.ids)])
            if equal < len(stem.ids):
                stem = children[first] = self._split(stem, equal)
            path.append(stem)
            parent, children = stem, stem.children
            at += equal
        return Path(path, len(path))

    def __iter__(self) -> Iterator[Stem]:
        """Every stem, each before those that follow it."""
        waiting = [stem for roots in self._roots.values() for stem in roots.values()]
        while waiting:
            stem = waiting.pop()
            yield stem
            waiting.extend(stem.children.values())

    def roots(self) -> Iterator[tuple[str, Stem]]:
        """The first stems of each scope."""
        for scope, stems in self._roots.items():
            for stem in stems.values():
                yield scope, stem

    def check(self) -> None:
        """Verify every invariant. O(tree)."""
        blocks = stems = 0
        for stem in self:
            blocks += stem.blocks
            stems += 1
            assert stem.blocks, f"an empty stem at {stem.start}"
            for first, child in stem.children.items():
                assert child.parent is stem, f"a child at {child.start} has another parent"
                assert child.start == stem.stop, f"a child at {child.start} of one to {stem.stop}"
                assert first == child.ids[0], (
                    f"a child that begins with {child.ids[0]} is at {first}"
                )
                assert child.uses <= stem.uses, "more requests went through a child"
        assert (blocks, stems) == (self.blocks, self.stems), f"{blocks} blocks in {stems} stems"

    def _split(self, lower: Stem, at: int) -> Stem:
        """Cut a stem behind its first `at` blocks; the new upper part."""
        upper = Stem(lower.parent, lower.start, lower.ids[:at])
        upper.uses, upper.last_request, upper.last_s = lower.uses, lower.last_request, lower.last_s
        upper.written_s = None if lower.written_s is None else list(lower.written_s)
        lower.parent = upper
        lower.start += at
        lower.ids = lower.ids[at:]
        upper.children[int(lower.ids[0])] = lower
        self.stems += 1
        return upper


def _equal(known: BlockIds, asked: BlockIds) -> int:
    """How many leading ids are equal."""
    size = len(asked)
    differs = known[:size] != asked
    first = int(differs.argmax())
    return first if differs[first] else size
