"""What a router believes that replicas hold.

```
exact    what the replica holds now, and what this router has sent there without an answer yet
guess    an LRU list of what was sent there: nobody tells of evictions, but an answer reports how
         many tokens were cached, and the list is made shorter or longer by what it was wrong by
```
"""

from collections.abc import Sequence
from typing import Protocol

from stemcache.lab.fleet.cache import ReplicaCache
from stemcache.lab.fleet.job import Job
from stemcache.policy.evict import Lru

__all__ = ["Belief", "Exact", "Guess"]

_LEAST_BLOCKS = 16
_MOST_BLOCKS = 2**22
"""Bound of a guess about a cache that has none."""


class Belief(Protocol):
    """**Protocol**: of one router, about all replicas."""

    def cached_blocks(self, job: Job, replica: int) -> int:
        """Leading blocks of a prompt that a replica is believed to find once it gets there."""
        ...

    def held_blocks(self, replica: int) -> int:
        """How many blocks it is believed to hold."""
        ...

    def sent(self, job: Job, replica: int) -> None:
        """The prompt is on its way there."""
        ...

    def answered(self, job: Job, replica: int, *, predicted: int, reported: int) -> None:
        """Its answer is complete; blocks as were predicted, and as the answer says were cached."""
        ...


class Exact:
    """By events without delay. `sent` and `answered` cost O(blocks)."""

    def __init__(self, caches: Sequence[ReplicaCache]) -> None:
        self._caches = caches
        self._pending: list[dict[int, int]] = [{} for _ in caches]

    def cached_blocks(self, job: Job, replica: int) -> int:
        """What is there, or will be once what was sent before has been computed."""
        held = self._caches[replica].match(job)
        pending = self._pending[replica]
        usable = job.visit.usable_blocks
        if held >= usable or job.key(held) not in pending:
            return held
        low, high = held + 1, usable  # closed under prefix, so the end can be searched for
        while low < high:
            middle = (low + high + 1) // 2
            if job.key(middle - 1) in pending:
                low = middle
            else:
                high = middle - 1
        return low

    def held_blocks(self, replica: int) -> int:
        """What is there."""
        return len(self._caches[replica])

    def sent(self, job: Job, replica: int) -> None:
        """Counts as there until it is answered."""
        pending = self._pending[replica]
        for key in job.all_keys():
            pending[key] = pending.get(key, 0) + 1

    def answered(self, job: Job, replica: int, *, predicted: int, reported: int) -> None:
        """From now on only what the replica says."""
        del predicted, reported
        pending = self._pending[replica]
        for key in job.all_keys():
            left = pending[key] - 1
            if left:
                pending[key] = left
            else:
                del pending[key]


class Guess:
    """By what was sent. Bounded in blocks a replica."""

    def __init__(self, replicas: int, capacity_blocks: int | None) -> None:
        """`capacity_blocks`: what a replica says that it has room for; a first estimate."""
        room = _MOST_BLOCKS if capacity_blocks is None else capacity_blocks
        self._caches = [ReplicaCache(Lru(), room) for _ in range(replicas)]
        self._most = [room] * replicas

    def cached_blocks(self, job: Job, replica: int) -> int:
        """The longest beginning of it that was sent there, and not too long ago."""
        return self._caches[replica].match(job)

    def held_blocks(self, replica: int) -> int:
        """Of what was sent there, what is not too long ago."""
        return len(self._caches[replica])

    def sent(self, job: Job, replica: int) -> None:
        """It will be there, whatever was."""
        cache = self._caches[replica]
        entry = cache.enter(job, now_s=0.0, alone=True)
        assert entry is not None, "nobody else holds blocks of a belief"
        cache.publish(entry, now_s=0.0)
        cache.leave(entry)

    def answered(self, job: Job, replica: int, *, predicted: int, reported: int) -> None:
        """Less was found than thought: it holds less than thought. More: it holds more."""
        del job
        wrong = reported - predicted
        if wrong:
            most = min(max(self._most[replica] + wrong, _LEAST_BLOCKS), _MOST_BLOCKS)
            self._most[replica] = most
            self._caches[replica].resize(most)
