"""By what recomputing would cost, with ageing."""

from typing import NamedTuple

from stemcache.core.index import Rank, Stamp

__all__ = ["Cost", "CostState"]

_DOUBLING_TOKENS = 24_576


class CostState(NamedTuple):
    """How often a block was used and how deep it stands, and how old the cache was at the last."""

    uses: int
    blocks: int
    age: float
    last: int


class Cost:
    """Evicts the leaf of the smallest score: uses times the cost of a use, plus the cache's age.

    Entering is the first use. A token costs one at the start of a prompt and one more for every
    24,576 tokens before it, since attention reads all of them: for a Llama-like decoder of width d
    attention costs as much as everything else at 6 d tokens, 24,576 for d = 4,096. A block counts
    as deep as the longest request that used it last, or that ended behind it, went. The age is the
    score of the last victim (GreedyDual-Size-Frequency, Cherkasova, 1998).

    For long prompts, where a hit far behind saves more than one in front. As slow as `lfu` to learn
    that a conversation has ended.
    """

    name = "cost"

    def __init__(self, *, block_tokens: int = 16) -> None:
        self._age = 0.0
        self._doubling_blocks = _DOUBLING_TOKENS / block_tokens

    def inserted(self, stamp: Stamp) -> CostState:
        """The first use, at the present age."""
        return CostState(1, stamp.blocks, self._age, stamp.seq)

    def used(self, state: CostState, stamp: Stamp) -> CostState:
        """One use more, at the present age."""
        return CostState(state.uses + 1, max(state.blocks, stamp.blocks), self._age, stamp.seq)

    def inherited(self, state: CostState, child: CostState) -> CostState:
        """Uses of what followed, but for its entering, were uses of this block."""
        return CostState(
            state.uses + child.uses - 1,
            max(state.blocks, child.blocks),
            max(state.age, child.age),
            max(state.last, child.last),
        )

    def evicted(self, state: CostState) -> None:
        """The cache is now as old as its victim's score."""
        self._age = max(self._age, self._score(state))

    def rank(self, state: CostState) -> Rank:
        """The smallest score first, then the least recent."""
        return (self._score(state), state.last)

    def _score(self, state: CostState) -> float:
        return state.age + state.uses * (1.0 + state.blocks / self._doubling_blocks)
