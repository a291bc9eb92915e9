"""One replica's cache: the engine's own index and eviction policy, with room for so many blocks.

```
    enter      pin what is there, make room for the rest           nobody else finds the rest yet
    publish    what was computed goes in, and stays pinned
    leave      the pins go; from now on it can be evicted
```

Requests that run hold their blocks, so there is less room for others than `lab.policy_cache` has,
where they come one at a time; with one at a time the two find the same.
"""

from dataclasses import dataclass
from itertools import repeat
from typing import Any

from stemcache.core.index import Lease, Policy
from stemcache.core.radix_index import RadixIndex
from stemcache.lab.fleet.job import TOKENS_AN_ID, Job

__all__ = ["Entry", "ReplicaCache"]


@dataclass(slots=True)
class Entry:
    """A request that holds blocks."""

    job: Job
    lease: Lease[None]
    found: int
    """Blocks."""
    missing: int
    """Blocks to be computed and kept; fewer than are computed where the prompt does not fit."""


class ReplicaCache:
    """Blocks by prefix. One request at a time may be between `enter` and `publish`."""

    def __init__(self, policy: Policy[Any], capacity_blocks: int | None) -> None:
        self._index: RadixIndex[None, Any] = RadixIndex(block_size=TOKENS_AN_ID, policy=policy)
        self._capacity = capacity_blocks

    def __len__(self) -> int:
        return len(self._index)

    def match(self, job: Job) -> int:
        """Leading blocks of a prompt that may be hits now. Pure. O(matched)."""
        return self._index.match(job.chain, max_blocks=job.visit.usable_blocks).blocks

    def enter(self, job: Job, *, now_s: float, alone: bool) -> Entry | None:
        """Hold what is there and make room for the rest.

        None where what others hold leaves too little room and they will let go. `alone`: there are
        no others, so a prompt that does not fit keeps its first blocks only.
        """
        index, chain, usable = self._index, job.chain, job.visit.usable_blocks
        if not alone and self._capacity is not None:
            match = index.match(chain, max_blocks=usable)
            held = index.pinned + match.blocks - match.pinned
            if chain.blocks - match.blocks > self._capacity - held:
                return None
        lease = index.pin(chain, now=now_s, max_blocks=usable)
        missing = chain.blocks - lease.blocks
        if self._capacity is not None:
            excess = missing - (self._capacity - len(index))
            if excess > 0:
                missing -= excess - len(index.evict(excess))
        return Entry(job, lease, lease.blocks, missing)

    def publish(self, entry: Entry, *, now_s: float) -> None:
        """What was missing has been computed."""
        if entry.missing > 0:
            values = list(repeat(None, entry.missing))
            self._index.insert(entry.job.chain, values, now=now_s, lease=entry.lease)

    def resize(self, capacity_blocks: int) -> None:
        """Another capacity; what is too much goes."""
        self._capacity = capacity_blocks
        excess = len(self._index) - capacity_blocks
        if excess > 0:
            self._index.evict(excess)

    def leave(self, entry: Entry) -> None:
        """The answer is complete."""
        entry.lease.release(output_tokens=entry.job.visit.output_tokens)
