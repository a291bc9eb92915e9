"""Least recently used."""

from stemcache.core.index import Rank, Stamp

__all__ = ["Lru"]


class Lru:
    """Evicts the leaf whose last use, or that of anything that stood behind it, is oldest.

    The default: no dial, and hard to beat when conversations come back soon or not at all. A scan
    of prompts that never return pushes out everything; `slru` and `lfu` resist that.
    """

    name = "lru"

    def inserted(self, stamp: Stamp) -> int:
        """The state is when the block was last used; entering is a use."""
        return stamp.seq

    def used(self, state: int, stamp: Stamp) -> int:  # noqa: ARG002  only the last use counts
        """The latest use is the one that counts."""
        return stamp.seq

    def inherited(self, state: int, child: int) -> int:
        """A use of what followed was a use of this block."""
        return max(state, child)

    def evicted(self, state: int) -> None:
        """Nothing to learn."""

    def rank(self, state: int) -> Rank:
        """The least recent first."""
        return (state,)
