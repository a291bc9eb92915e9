"""Segmented least recently used."""

from typing import NamedTuple

from stemcache.core.index import Rank, Stamp

__all__ = ["Slru", "SlruState"]


class SlruState(NamedTuple):
    """Whether a block was used since it entered, and when it last was."""

    protected: bool
    last: int


class Slru:
    """Evicts leaves that were never used again before those that were, each by recency.

    Resists scans: a prompt that never returns cannot push out one that did. The protected
    segment has no bound, so what was used once again stays until no unprotected leaf is left;
    where interest moves on, `lfu` forgets and this does not.
    """

    name = "slru"

    def inserted(self, stamp: Stamp) -> SlruState:
        """On probation."""
        return SlruState(protected=False, last=stamp.seq)

    def used(self, state: SlruState, stamp: Stamp) -> SlruState:  # noqa: ARG002  any use protects
        """A use protects."""
        return SlruState(protected=True, last=stamp.seq)

    def inherited(self, state: SlruState, child: SlruState) -> SlruState:
        """A use of what followed was a use of this block."""
        return SlruState(state.protected or child.protected, max(state.last, child.last))

    def evicted(self, state: SlruState) -> None:
        """Nothing to learn."""

    def rank(self, state: SlruState) -> Rank:
        """Probation first, then the least recent."""
        return (float(state.protected), state.last)
