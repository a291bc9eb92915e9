"""The leaves of an index in eviction order: a heap with lazy deletion.

```
    heap   (3,)#1 A   (4,)#4 A   (5,)#2 B   (7,)#3 C
           A.ticket = 4: entry #1 is stale      C.ticket = None: C was withdrawn, #3 is stale
    take   skips #1, returns A by #4
```

Invariants: a node is in the heap if and only if its `ticket` names an entry; stale entries are
fewer than live ones plus a constant, so memory is O(leaves).

Costs: `offer` and `take` O(log leaves), `withdraw` O(1), all amortised; `exchange` as `take`, and
O(1) when the node that enters is the one to go; `reorder` O(leaves).
"""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush, heappushpop
from typing import Generic, Protocol, TypeVar

from stemcache.core.index import Rank

__all__ = ["LeafHeap", "Ticketed"]


class Ticketed(Protocol):
    """**Protocol**: a node that can stand in the heap; `ticket` belongs to the heap."""

    ticket: int | None


N = TypeVar("N", bound=Ticketed)

_SLACK = 64


class LeafHeap(Generic[N]):
    """Nodes by rank, smallest first."""

    __slots__ = ("_heap", "_live", "_tickets")

    def __init__(self) -> None:
        self._heap: list[tuple[Rank, int, N]] = []  # tickets differ, so nodes are never compared
        self._live = 0
        self._tickets = 0

    def __len__(self) -> int:
        """Live nodes."""
        return self._live

    def offer(self, node: N, rank: Rank) -> None:
        """Enter a node, or move it to a new rank."""
        if node.ticket is None:
            self._live += 1
        self._tickets += 1
        node.ticket = self._tickets
        heappush(self._heap, (rank, self._tickets, node))
        self._drop_stale()

    def withdraw(self, node: N) -> None:
        """Take a node out; harmless if it is not in."""
        if node.ticket is not None:
            node.ticket = None
            self._live -= 1
            self._drop_stale()

    def take(self) -> N | None:
        """Remove and return the node of the smallest rank; None when empty."""
        while self._heap:
            _, ticket, node = heappop(self._heap)
            if node.ticket == ticket:
                node.ticket = None
                self._live -= 1
                self._drop_stale()
                return node
        return None

    def exchange(self, node: N, rank: Rank) -> N:
        """Enter a node that is not in, and take the one of the smallest rank: often the same."""
        self._tickets += 1
        _, ticket, first = heappushpop(self._heap, (rank, self._tickets, node))
        if ticket == self._tickets:
            return node
        node.ticket = self._tickets
        while first.ticket != ticket:
            _, ticket, first = heappop(self._heap)
        first.ticket = None
        return first

    def reorder(self, rank: Callable[[N], Rank]) -> None:
        """Rank every node anew."""
        self._heap = [
            (rank(node), ticket, node) for _, ticket, node in self._heap if node.ticket == ticket
        ]
        heapify(self._heap)

    def _drop_stale(self) -> None:
        if len(self._heap) > 2 * self._live + _SLACK:
            self._heap = [entry for entry in self._heap if entry[2].ticket == entry[1]]
            heapify(self._heap)

    def entries(self) -> Iterator[tuple[N, Rank]]:
        """Live nodes and their ranks, in no order. O(entries); for `check`."""
        return ((node, rank) for rank, ticket, node in self._heap if node.ticket == ticket)
