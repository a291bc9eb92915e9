"""What both index forms keep and do alike: listeners, the count of pins, the number of a use."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from stemcache.core.events import Listener, Removed, stored_event
from stemcache.core.index import Policy, RequestPolicy, Stamp, Victim
from stemcache.core.tokens import Chain

__all__ = ["IndexBase"]

V = TypeVar("V")
S = TypeVar("S")


class IndexBase(Generic[V, S]):
    """State that does not depend on how blocks are found. Not an index by itself."""

    def __init__(self, block_size: int, policy: Policy[S], listener: Listener | None) -> None:
        self._block_size = block_size
        self._policy = policy
        self._requests: RequestPolicy[S] | None = (
            policy if isinstance(policy, RequestPolicy) else None
        )
        self._listener = listener
        self._pinned = 0
        self._seq = 0

    @property
    def block_size(self) -> int:
        """Tokens a block."""
        return self._block_size

    @property
    def pinned(self) -> int:
        """Blocks that leases hold."""
        return self._pinned

    def _limit(self, chain: Chain, max_blocks: int | None) -> int:
        """How many blocks of `chain` may be looked at."""
        assert chain.block_size == self._block_size, (
            f"a chain of {chain.block_size}-token blocks met an index of {self._block_size}"
        )
        return chain.blocks if max_blocks is None else max(0, min(chain.blocks, max_blocks))

    def _stamp(self, now: float, priority: int, blocks: int) -> Stamp:
        self._seq += 1
        return Stamp(self._seq, now, priority, blocks)

    def _entered(self, own: S | None, stamp: Stamp, chain: Chain, start: int) -> S:
        """The state of blocks from `start` on, which a lease in state `own` adds."""
        requests = self._requests
        if requests is None:
            return self._policy.inserted(stamp)
        return requests.entered(own, stamp, lambda: chain.keys(start + 1)[start])

    def _tell_stored(self, chain: Chain, start: int, stop: int) -> None:
        if self._listener is not None:
            self._listener(stored_event(chain, start, stop))

    def _tell_removed(self, victims: Sequence[Victim[V]]) -> None:
        if self._listener is not None and victims:
            self._listener(Removed(tuple(v.key for v in victims if v.key is not None)))
