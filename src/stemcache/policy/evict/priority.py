"""By the caller's priority, then least recently used."""

from typing import NamedTuple

from stemcache.core.index import Rank, Stamp

__all__ = ["Priority", "PriorityState"]


class PriorityState(NamedTuple):
    """The highest priority that used a block, and when it was last used."""

    priority: int
    last: int


class Priority:
    """Evicts leaves of the lowest priority first, each by recency.

    A block has the highest priority of any request that used it. High priorities that are never
    used again stay until nothing lower is left: give them sparingly.
    """

    name = "priority"

    def inserted(self, stamp: Stamp) -> PriorityState:
        """As the request that computed it."""
        return PriorityState(stamp.priority, stamp.seq)

    def used(self, state: PriorityState, stamp: Stamp) -> PriorityState:
        """Raised by a request of higher priority, never lowered."""
        return PriorityState(max(state.priority, stamp.priority), stamp.seq)

    def inherited(self, state: PriorityState, child: PriorityState) -> PriorityState:
        """What mattered for what followed matters for this block."""
        return PriorityState(max(state.priority, child.priority), max(state.last, child.last))

    def evicted(self, state: PriorityState) -> None:
        """Nothing to learn."""

    def rank(self, state: PriorityState) -> Rank:
        """The lowest priority first, then the least recent."""
        return (state.priority, state.last)
