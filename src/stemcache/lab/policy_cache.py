"""A trace played on the engine's own index and eviction policy, at one capacity.

Blocks stand in a `RadixIndex` without values: the ids of a trace, two tokens each, are its tokens.
A request holds its path while it makes room, as in the engine, and one that does not fit keeps its
first blocks. Requests are taken one after the other: what many at once do to a cache (pages held
by those that run, prompts that arrive before the first of their kind is computed) is not here.
"""

from itertools import repeat
from typing import Any

import numpy as np

from stemcache.core.index import Policy
from stemcache.core.radix_index import RadixIndex
from stemcache.core.tokens import Chain
from stemcache.lab.visit import Visit

__all__ = ["PolicyCache"]

_TOKENS_AN_ID = 2  # 64 bits as two tokens of 32


class PolicyCache:
    """One cache."""

    def __init__(self, policy: Policy[Any], capacity_blocks: int) -> None:
        self._index: RadixIndex[None, Any] = RadixIndex(block_size=_TOKENS_AN_ID, policy=policy)
        self._capacity = capacity_blocks

    def feed(self, visit: Visit) -> int:
        """Take the next request; how many of its blocks were found."""
        chain = Chain(
            np.ascontiguousarray(visit.ids, np.int64).view(np.uint32),
            block_size=_TOKENS_AN_ID,
            namespace=visit.scope.encode("utf-8", "surrogatepass"),
        )
        index = self._index
        with index.pin(chain, now=visit.now_s, max_blocks=visit.usable_blocks) as lease:
            hits = lease.blocks
            missing = chain.blocks - lease.blocks
            excess = missing - (self._capacity - len(index))
            if excess > 0:
                missing -= excess - len(index.evict(excess))
            if missing > 0:
                index.insert(chain, list(repeat(None, missing)), now=visit.now_s, lease=lease)
            lease.release(output_tokens=visit.output_tokens)
        return hits
