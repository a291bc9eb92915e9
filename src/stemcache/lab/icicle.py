"""The part of a prefix tree that is worth looking at: where most requests go through.

```
    depth 0   [ system prompt, 12,031 requests                          ]
              [ tools A, 7,000          ][ tools B, 4,000  ][ rest      ]
              [ chat 1, 40 ][ … ]        [ … ]
```
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from stemcache.lab.stems import Stem, StemTree

__all__ = ["Bar", "icicle"]


@dataclass(frozen=True, slots=True)
class Bar:
    """One stem of the picture."""

    parent: int | None
    """Its place in the list; None for the first of a prompt."""
    start_blocks: int
    blocks: int
    requests: int


def icicle(trees: Sequence[StemTree], *, most: int = 400) -> list[Bar]:
    """At most `most` stems, parents before children, chosen by the blocks that went through them.

    Stems that one request alone went through share nothing and are left out.
    """
    bars: list[Bar] = []
    waiting: list[tuple[int, int, int | None, Stem]] = []
    order = 0

    def offer(stem: Stem, parent: int | None) -> None:
        nonlocal order
        if stem.uses > 1:
            order += 1
            heappush(waiting, (-stem.uses * stem.blocks, order, parent, stem))

    for tree in trees:
        for _, stem in tree.roots():
            offer(stem, None)
    while waiting and len(bars) < most:
        _, _, parent, stem = heappop(waiting)
        bars.append(Bar(parent, stem.start, stem.blocks, stem.uses))
        for child in stem.children.values():
            offer(child, len(bars) - 1)
    return bars
