"""What was last seen in each place, bounded by blocks: prompts of a place mostly grow.

A place is a scope and a session. Who compares a request with the one before it in its place treats
only what is new, which in traces of conversations is a few in a hundred.
"""

from collections import OrderedDict
from typing import Generic, NamedTuple, TypeVar

from stemcache.trace.record import BlockIds, TraceRequest

__all__ = ["Recent", "Seen", "common_blocks"]

T = TypeVar("T")

_KEPT_BLOCKS = 2**20


class Seen(NamedTuple, Generic[T]):
    """Ids that were seen in a place, and what was made of them."""

    ids: BlockIds
    made: T


class Recent(Generic[T]):
    """The latest of each place, the least recent forgotten first. O(1) a request."""

    def __init__(self, *, kept_blocks: int = _KEPT_BLOCKS) -> None:
        self._kept_blocks = kept_blocks
        self._seen: OrderedDict[tuple[str, str | None], Seen[T]] = OrderedDict()
        self._blocks = 0

    def take(self, request: TraceRequest) -> Seen[T] | None:
        """The latest of the request's place, which is forgotten with this."""
        seen = self._seen.pop((request.scope, request.session), None)
        if seen is not None:
            self._blocks -= len(seen.ids)
        return seen

    def put(self, request: TraceRequest, made: T) -> None:
        """Remember a request; `take` comes first."""
        self._seen[request.scope, request.session] = Seen(request.block_ids, made)
        self._blocks += len(request.block_ids)
        # Empty prompts hold no blocks, yet their places take memory.
        while self._blocks > self._kept_blocks or len(self._seen) > self._kept_blocks:
            _, oldest = self._seen.popitem(last=False)
            self._blocks -= len(oldest.ids)


def common_blocks(left: BlockIds, right: BlockIds) -> int:
    """How many leading ids are equal. O(n), vectorised."""
    size = min(len(left), len(right))
    if not size:
        return 0
    differs = left[:size] != right[:size]
    first = int(differs.argmax())
    return first if differs[first] else size
