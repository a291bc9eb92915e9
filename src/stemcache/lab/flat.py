"""Policies known from other caches, block by block, to compare with.

They keep single blocks and know nothing of prefixes, so a block may outlive what stands before it;
only the part of a prompt that is there from its first block on counts as found. Each prompt is
touched from its end to its root, so that the root is the youngest. Not for an engine: it could not
use what stands behind a gap.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Protocol

from stemcache.lab.visit import Visit

__all__ = ["FLAT", "Arc", "FlatCache", "FlatPolicy", "S3Fifo"]

Block = Hashable


class FlatPolicy(Protocol):
    """**Protocol**: a cache of single blocks."""

    def __contains__(self, block: Block) -> bool: ...

    def touch(self, block: Block) -> None:
        """Use a block; one that is not there enters, and others make room."""
        ...


class FlatCache:
    """A trace played on a flat policy."""

    def __init__(self, policy: FlatPolicy) -> None:
        self._policy = policy

    def feed(self, visit: Visit) -> int:
        """Take the next request; how many of its blocks were found."""
        blocks: list[Block] = visit.ids.tolist()
        if visit.scope:
            blocks = [(visit.scope, block) for block in blocks]
        policy, hits = self._policy, 0
        for block in blocks:
            if block not in policy:
                break
            hits += 1
        for block in reversed(blocks):
            policy.touch(block)
        return min(hits, visit.usable_blocks)


class S3Fifo:
    """A small queue in front of a main one, with a memory of what left the small one unused.

    Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023: a tenth of the
    capacity for the small queue, as many remembered names as the main queue holds blocks.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._small_share = max(1, capacity // 10)
        self._ghosts_share = max(1, capacity - self._small_share)
        self._uses: dict[Block, int] = {}
        self._small: deque[Block] = deque()
        self._main: deque[Block] = deque()
        self._ghosts: OrderedDict[Block, None] = OrderedDict()

    def __contains__(self, block: Block) -> bool:
        return block in self._uses

    def touch(self, block: Block) -> None:
        """Use a block."""
        if block in self._uses:
            self._uses[block] = min(3, self._uses[block] + 1)
            return
        while len(self._uses) >= self._capacity:
            if len(self._small) >= self._small_share or not self._main:
                self._evict_small()
            else:
                self._evict_main()
        if block in self._ghosts:
            del self._ghosts[block]
            self._main.append(block)
        else:
            self._small.append(block)
        self._uses[block] = 0

    def _evict_small(self) -> None:
        block = self._small.popleft()
        if self._uses[block] > 1:
            self._uses[block] = 0
            self._main.append(block)
            return
        del self._uses[block]
        self._ghosts[block] = None
        if len(self._ghosts) > self._ghosts_share:
            self._ghosts.popitem(last=False)

    def _evict_main(self) -> None:
        block = self._main.popleft()
        if self._uses[block]:
            self._uses[block] -= 1
            self._main.append(block)
        else:
            del self._uses[block]


class Arc:
    """Two LRU lists, used once and used again, whose shares follow what is asked again too late.

    Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003; the names
    (T1, T2, B1, B2, p) are the paper's.
    """

    def __init__(self, capacity: int) -> None:
        self._c = capacity
        self._p = 0.0
        self._t1: OrderedDict[Block, None] = OrderedDict()
        self._t2: OrderedDict[Block, None] = OrderedDict()
        self._b1: OrderedDict[Block, None] = OrderedDict()
        self._b2: OrderedDict[Block, None] = OrderedDict()

    def __contains__(self, block: Block) -> bool:
        return block in self._t1 or block in self._t2

    def touch(self, block: Block) -> None:
        """Use a block."""
        t1, t2, b1, b2, c = self._t1, self._t2, self._b1, self._b2, self._c
        if block in t1:
            del t1[block]
            t2[block] = None
        elif block in t2:
            t2.move_to_end(block)
        elif block in b1:
            self._p = min(c, self._p + max(1.0, len(b2) / len(b1)))
            self._replace(in_b2=False)
            del b1[block]
            t2[block] = None
        elif block in b2:
            self._p = max(0.0, self._p - max(1.0, len(b1) / len(b2)))
            self._replace(in_b2=True)
            del b2[block]
            t2[block] = None
        else:
            self._enter()
            t1[block] = None

    def _enter(self) -> None:
        t1, t2, b1, b2, c = self._t1, self._t2, self._b1, self._b2, self._c
        if len(t1) + len(b1) == c:
            if len(t1) < c:
                b1.popitem(last=False)
                self._replace(in_b2=False)
            else:
                t1.popitem(last=False)
        elif len(t1) + len(t2) + len(b1) + len(b2) >= c:
            if len(t1) + len(t2) + len(b1) + len(b2) >= 2 * c:
                b2.popitem(last=False)
            self._replace(in_b2=False)

    def _replace(self, *, in_b2: bool) -> None:
        t1, t2 = self._t1, self._t2
        if len(t1) + len(t2) < self._c:
            return
        if not t2 or (t1 and (len(t1) > self._p or (in_b2 and len(t1) == self._p))):
            block, _ = t1.popitem(last=False)
            self._b1[block] = None
        else:
            block, _ = t2.popitem(last=False)
            self._b2[block] = None


FLAT: dict[str, Callable[[int], FlatPolicy]] = {"arc": Arc, "s3-fifo": S3Fifo}
"""What `--policy` takes beside the engine's policies and `min`, by capacity in blocks."""
