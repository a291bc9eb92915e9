"""First in, first out."""

from stemcache.core.index import Rank, Stamp

__all__ = ["Fifo"]


class Fifo:
    """Evicts the leaf that entered first. Hits change nothing.

    For a baseline. A shared prefix outlives its age only while something stands behind it.
    """

    name = "fifo"

    def inserted(self, stamp: Stamp) -> int:
        """The state is when the block entered."""
        return stamp.seq

    def used(self, state: int, stamp: Stamp) -> int:  # noqa: ARG002  a hit changes nothing
        """A hit changes nothing."""
        return state

    def inherited(self, state: int, child: int) -> int:  # noqa: ARG002  nor does what followed
        """What followed the block does not make it younger."""
        return state

    def evicted(self, state: int) -> None:
        """Nothing to learn."""

    def rank(self, state: int) -> Rank:
        """The oldest first."""
        return (state,)
