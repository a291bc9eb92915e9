"""Least frequently used, with ageing."""

from typing import NamedTuple

from stemcache.core.index import Rank, Stamp

__all__ = ["Lfu", "LfuState"]


class LfuState(NamedTuple):
    """How often a block was used, and how old the cache was when it last was."""

    uses: int
    age: int
    last: int


class Lfu:
    """Evicts the leaf of the smallest score: uses, plus the cache's age at its last use.

    The age is the score of the last victim, so what was popular long ago is overtaken by what is
    used now (LFU with dynamic ageing, Arlitt et al., 2000). Resists scans; slow to learn that
    a conversation has ended.
    """

    name = "lfu"

    def __init__(self) -> None:
        self._age = 0

    def inserted(self, stamp: Stamp) -> LfuState:
        """No use yet, at the present age."""
        return LfuState(0, self._age, stamp.seq)

    def used(self, state: LfuState, stamp: Stamp) -> LfuState:
        """One use more, at the present age."""
        return LfuState(state.uses + 1, self._age, stamp.seq)

    def inherited(self, state: LfuState, child: LfuState) -> LfuState:
        """Uses of what followed were uses of this block."""
        return LfuState(
            state.uses + child.uses, max(state.age, child.age), max(state.last, child.last)
        )

    def evicted(self, state: LfuState) -> None:
        """The cache is now as old as its victim's score."""
        self._age = max(self._age, state.uses + state.age)

    def rank(self, state: LfuState) -> Rank:
        """The smallest score first, then the least recent."""
        return (state.uses + state.age, state.last)
