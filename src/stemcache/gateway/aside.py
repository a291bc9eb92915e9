"""Blocks that a seat holds while their parents are not known, so that they have no key yet.

```
waiting   parent's hash ──► hashes of its children      aside   hash ──► its tokens, its tiers
```
A subscriber that joined late sees children of blocks that it never heard of. Their tokens are kept,
within a bound of bytes, the oldest going first, until the parent is stored again or they are gone.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Aside", "Waiting"]

_ENTRY_BYTES = 400
"""What one costs beside its tokens."""

_SHED_BLOCKS = 512


@dataclass(slots=True)
class Waiting:
    """One block that waits."""

    parent: int
    unit: bytes
    tiers: int


class Aside:
    """At most so many bytes. Every method is O(1) a block."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._blocks: OrderedDict[int, Waiting] = OrderedDict()
        self._children: dict[int, dict[int, None]] = {}

    def __len__(self) -> int:
        """Blocks that wait."""
        return len(self._blocks)

    def get(self, theirs: int) -> Waiting | None:
        """The block of this hash; its tiers may be changed."""
        return self._blocks.get(theirs)

    def children(self, parent: int) -> list[int]:
        """Hashes of the blocks that wait for this one."""
        return list(self._children.get(parent, ()))

    def add(self, theirs: int, block: Waiting) -> None:
        """Keep a block that does not wait already."""
        self._blocks[theirs] = block
        self._children.setdefault(block.parent, {})[theirs] = None
        self._bytes += len(block.unit) + _ENTRY_BYTES

    def pop(self, theirs: int) -> Waiting:
        """Let it go."""
        block = self._blocks.pop(theirs)
        self._bytes -= len(block.unit) + _ENTRY_BYTES
        siblings = self._children[block.parent]
        del siblings[theirs]
        if not siblings:
            del self._children[block.parent]
        return block

    def trim(self) -> int:
        """Let the oldest go until the bound holds; how many went."""
        before = len(self._blocks)
        while self._bytes > self._most_bytes:
            self.pop(next(iter(self._blocks)))
        return before - len(self._blocks)

    def shrink(self, most_bytes: int, *, step: int) -> int:
        """Go by at most so many blocks towards another bound; how many went."""
        went = 0
        while self._bytes > most_bytes and went < step:
            self.pop(next(iter(self._blocks)))
            went += 1
        self._most_bytes = max(most_bytes, self._bytes)
        return went

    def shed(self) -> bool:
        """Free some hundreds of blocks that are of no use any more; whether there are others."""
        self.shrink(0, step=_SHED_BLOCKS)
        return bool(self._blocks)

    def parents(self) -> Iterator[int]:
        """Hashes that are waited for."""
        return iter(self._children)

    def check(self) -> None:
        """Verify every invariant; linear."""
        waiting = {(parent, one) for parent, some in self._children.items() for one in some}
        assert waiting == {(block.parent, one) for one, block in self._blocks.items()}, "waiting"
        total = sum(len(block.unit) + _ENTRY_BYTES for block in self._blocks.values())
        assert total == self._bytes <= self._most_bytes, "bytes aside"
