"""Whose page is whose: the pool, the index, and the block tables between them.

```
    free ──take──► owned ──publish──► indexed ──evict──► free
                     │                   ▲
                     └──free (partial,   └── leases share these pages; nobody copies
                        spare, cancelled)
```

Invariant: free + owned + indexed = total, always. A page has one owner: the free list, one
request, or the index.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from stemcache.core.hash_index import HashIndex
from stemcache.core.index import Match, PrefixIndex
from stemcache.core.radix_index import RadixIndex
from stemcache.core.tokens import Chain
from stemcache.engine.config import EngineConfig
from stemcache.engine.pages import PagePool, Pages
from stemcache.engine.sequence import Sequence
from stemcache.policy import evict

__all__ = ["KVCache"]

_ROOM_TOKENS = 512  # space left behind a request, so that its answer stays beside its prompt


class KVCache:
    """Pages of running requests and of published prefixes. **Not** thread-safe."""

    def __init__(self, config: EngineConfig) -> None:
        self._size = config.block_size
        self._caching = config.prefix_caching
        self.pool = PagePool(config.pages, room=-(-_ROOM_TOKENS // config.block_size))
        # The policy's state type is its own; only the index passes it around.
        policy: Any = evict.make(config.eviction, block_tokens=config.block_size)
        self.index: PrefixIndex[int] = (
            RadixIndex(block_size=config.block_size, policy=policy)
            if config.index == "radix"
            else HashIndex(block_size=config.block_size, policy=policy)
        )
        self.evicted_blocks = 0

    @property
    def available(self) -> int:
        """Pages that can be had: free, or given up by the index."""
        return self.pool.free + len(self.index) - self.index.pinned

    def match(self, sequence: Sequence) -> Match:
        """What admission would find. Pure. The last token is never taken from the cache."""
        if not self._caching:
            return Match(0, 0)
        return self.index.match(sequence.chain, max_blocks=self._usable(sequence.chain))

    def needed(self, sequence: Sequence, match: Match) -> int:
        """Pages that admission would take from `available`."""
        whole = -(-len(sequence.chain) // self._size)
        return whole - match.pinned

    def admit(self, sequence: Sequence, *, now: float) -> None:
        """Lease the cached prefix and take pages for the rest. The caller saw that they fit."""
        if self._caching:
            lease = self.index.pin(
                sequence.chain,
                now=now,
                max_blocks=self._usable(sequence.chain),
                priority=sequence.request.priority,
            )
            # Pinned first: the pages below may have to evict, and must not evict these.
            sequence.lease = lease
            sequence.pages.extend(_array(lease.values))
            sequence.computed = lease.tokens
        whole = -(-len(sequence.chain) // self._size)
        got = self.grow(sequence, whole - len(sequence.pages))
        assert got, f"{sequence.request_id} was admitted without room for its prompt"

    def grow(self, sequence: Sequence, count: int) -> bool:
        """Add `count` pages to its table, evicting if need be; False, and nothing, if they lack."""
        if count > self.available:
            return False
        if count > self.pool.free:
            victims = self.index.evict(count - self.pool.free)
            self.evicted_blocks += len(victims)
            self.pool.give(victim.value for victim in victims)
        last = int(sequence.pages.pages[-1]) if len(sequence.pages) else None
        sequence.pages.extend(self.pool.take(count, after=last))
        return True

    def publish(self, sequence: Sequence, *, now: float) -> None:
        """Let others share the full blocks that it has computed. O(new blocks)."""
        lease = sequence.lease
        stop = sequence.computed // self._size
        if lease is None or stop <= lease.blocks:
            return
        base = lease.blocks
        values: list[int] = sequence.pages.pages[base:stop].tolist()
        done = self.index.insert(
            sequence.chain, values, now=now, lease=lease, priority=sequence.request.priority
        )
        if done.spare:
            # Someone published the same blocks first: share theirs, give ours back, once.
            sequence.pages.repoint(base, _array(done.existing))
            self.pool.give(done.spare)

    def unpublished(self, sequence: Sequence) -> int:
        """Full blocks it has computed and not shared."""
        return sequence.computed // self._size - sequence.leased_blocks

    def leave(self, sequence: Sequence) -> None:
        """Give up all its pages: its own to the free list, its lease to the index."""
        own = sequence.pages.pages[sequence.leased_blocks :].copy()
        sequence.pages.clear()
        sequence.computed = 0
        if sequence.lease is not None:
            sequence.lease.release(output_tokens=sequence.generated)
            sequence.lease = None
        self.pool.give(own)

    def drop(self, chain: Chain) -> int:
        """Forget a chain's last block and all behind it, but for what leases hold; blocks dropped.

        An empty chain means everything.
        """
        removal = self.index.remove(chain)
        self.pool.give(victim.value for victim in removal.removed)
        return len(removal.removed)

    def check(self, live: Iterable[Sequence]) -> None:
        """Verify that every page has one owner. O(pages)."""
        self.pool.check()
        self.index.check()
        owned: list[int] = []
        pinned = 0
        for sequence in live:
            table = sequence.pages.pages.tolist()
            assert len(set(table)) == len(table), f"{sequence.request_id} holds a page twice"
            owned += table[sequence.leased_blocks :]
            pinned += sequence.leased_blocks
        assert len(set(owned)) == len(owned), "two requests own one page"
        assert not set(owned) & set(self.pool.pages().tolist()), "a free page is owned"
        total = self.pool.free + len(owned) + len(self.index)
        assert total == self.pool.total, (
            f"{self.pool.free} free + {len(owned)} owned + {len(self.index)} indexed pages "
            f"are not {self.pool.total}"
        )
        assert self.index.pinned <= pinned, "blocks are pinned by leases that nobody holds"

    def _usable(self, chain: Chain) -> int:
        # One token must be computed to get logits, so a prompt is never cached whole.
        return (len(chain) - 1) // self._size


def _array(pages: Iterable[int]) -> Pages:
    return np.fromiter(pages, np.int32)
