"""The index as a table of chained block keys.

```
    table   k(A)   → A  children 2  pins 1
            k(AB)  → B  children 1  pins 1  parent A     lease on A B
            k(ABC) → C  children 0  pins 0  parent B     ◄ leaf, in the heap
            k(AD)  → D  children 0  pins 0  parent A     ◄ leaf, in the heap
```

A key stands for its block and everything before it, so one look-up a block decides a match, and
no tokens are kept. Invariants, beside those of `core.index`:
  5. `children` counts the blocks whose `parent` is this one;
  6. `pins` is the number of leases whose path holds this block, so it never rises along a path;
  7. a block is in the heap if and only if it has neither children nor pins.

Costs, in blocks: `match`, `pin`, `release` O(matched), of which hashing is most the first time a
chain is asked; `insert` O(values); `evict` O(log leaves) each; `remove` O(index).
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Generic, TypeVar

from stemcache.core.events import Listener
from stemcache.core.hashing import BlockKey
from stemcache.core.index import Inserted, Lease, Match, Policy, Removal, Victim
from stemcache.core.index_base import IndexBase
from stemcache.core.leaf_heap import LeafHeap
from stemcache.core.lease import HeldPath
from stemcache.core.tokens import Chain

__all__ = ["HashIndex"]

V = TypeVar("V")
S = TypeVar("S")

_FIRST_KEYS = 64  # keys computed before the stride doubles, so that an early miss stays cheap


class _Block(Generic[V, S]):
    __slots__ = ("children", "key", "parent", "pins", "state", "ticket", "value")

    def __init__(
        self, key: BlockKey, value: V, parent: "_Block[V, S] | None", state: S, pins: int
    ) -> None:
        self.key = key
        self.value = value
        self.parent = parent
        self.state = state
        self.children = 0
        self.pins = pins
        self.ticket: int | None = None


class _HashLease(HeldPath[V], Generic[V, S]):
    __slots__ = ("_pinned", "_release", "length", "own", "tip")

    def __init__(self, index: "HashIndex[V, S]", path: list[_Block[V, S]], own: S | None) -> None:
        super().__init__(index, index.block_size)
        self._pinned = [block.value for block in path]
        self._release = index._release  # noqa: SLF001  a lease and its index are one unit
        self.tip = path[-1] if path else None
        self.length = len(path)
        self.own = own

    @property
    def blocks(self) -> int:
        """Length of the held path, in blocks."""
        return self.length

    def _pinned_values(self) -> Sequence[V]:
        return self._pinned

    def _let_go(self, output_tokens: int | None) -> None:
        self._release(self.tip, self.own, output_tokens)


class HashIndex(IndexBase[V, S]):
    """A `PrefixIndex` over a table of chained keys. **Not** thread-safe."""

    def __init__(
        self, *, block_size: int, policy: Policy[S], listener: Listener | None = None
    ) -> None:
        super().__init__(block_size, policy, listener)
        self._table: dict[BlockKey, _Block[V, S]] = {}
        self._leaves: LeafHeap[_Block[V, S]] = LeafHeap()

    def __len__(self) -> int:
        return len(self._table)

    def match(self, chain: Chain, *, max_blocks: int | None = None) -> Match:
        """The longest cached prefix of `chain`. Pure."""
        blocks = self._reach(chain, 0, self._limit(chain, max_blocks))
        table, keys = self._table, chain.keys(blocks)
        pinned = bisect_left(keys, True, 0, blocks, key=lambda key: not table[key].pins)
        return Match(blocks, blocks * self._block_size, pinned)

    def pin(
        self, chain: Chain, *, now: float, max_blocks: int | None = None, priority: int = 0
    ) -> Lease[V]:
        """Hold the longest cached prefix of `chain` and record one use of it."""
        path = self._path(chain, 0, self._reach(chain, 0, self._limit(chain, max_blocks)))
        own: S | None = None
        if path:
            self._hold(path)
            tip = path[-1]
            own = tip.state = self._policy.used(tip.state, self._stamp(now, priority, len(path)))
        return _HashLease(self, path, own)

    def insert(
        self,
        chain: Chain,
        values: Sequence[V],
        *,
        now: float,
        lease: Lease[V] | None = None,
        priority: int = 0,
    ) -> Inserted[V]:
        """Add the blocks of `chain` that are missing behind the lease."""
        held = self._own(lease)
        base = held.blocks if held else 0
        stop = base + len(values)
        assert stop <= chain.blocks, f"{stop} blocks of a chain of {chain.blocks}"
        start = self._reach(chain, base, stop)
        existing = self._path(chain, base, start)
        parent = existing[-1] if existing else (held.tip if held else None)
        if held:
            self._hold(existing)
        if start < stop:
            stamp = self._stamp(now, priority, stop)
            state = self._entered(held.own if held else None, stamp, chain, start)
            parent = self._grow(
                parent,
                chain.keys(stop)[start:stop],
                values[start - base :],
                state,
                pins=1 if held else 0,
            )
            if held:
                held.own = state
            self._tell_stored(chain, start, stop)
        if held:
            held.tip, held.length = parent, stop
        spare = tuple(values[: start - base])
        return Inserted(start, spare, tuple([block.value for block in existing]))

    def evict(self, blocks: int) -> list[Victim[V]]:
        """Give up at most `blocks` unpinned blocks, leaves first, in policy order."""
        victims: list[Victim[V]] = []
        policy, leaves = self._policy, self._leaves
        if blocks > 0 and self._requests is not None and self._requests.turned(len(leaves)):
            leaves.reorder(lambda block: policy.rank(block.state))
        block = leaves.take() if blocks > 0 else None
        while block is not None:
            policy.evicted(block.state)
            victims.append(Victim(block.key, block.value))
            parent = self._detach(block)
            wanted = len(victims) < blocks
            if parent is None:
                block = leaves.take() if wanted else None
            elif wanted:
                block = leaves.exchange(parent, policy.rank(parent.state))
            else:
                leaves.offer(parent, policy.rank(parent.state))
                block = None
        self._tell_removed(victims)
        return victims

    def remove(self, chain: Chain) -> Removal[V]:
        """Drop the last block of `chain` and everything behind it, except what leases hold."""
        subtree = self._subtree(chain)
        removed: list[Victim[V]] = []
        ripe = [block for block in subtree.values() if not block.children and not block.pins]
        while ripe:
            block = ripe.pop()
            self._leaves.withdraw(block)
            parent = self._detach(block)
            removed.append(Victim(block.key, block.value))
            if parent is None:
                continue
            if parent.key in subtree:
                ripe.append(parent)
            else:
                self._leaves.offer(parent, self._policy.rank(parent.state))
        self._tell_removed(removed)
        return Removal(tuple(removed), len(subtree) - len(removed))

    def check(self) -> None:
        """Verify every invariant. O(index)."""
        children: dict[BlockKey, int] = {}
        pins: dict[BlockKey, int] = {}
        for key, block in self._table.items():
            assert block.key == key, f"block {block.key.hex()} stands under {key.hex()}"
            if block.parent is not None:
                above = self._table.get(block.parent.key)
                assert above is block.parent, f"{key.hex()} outlived its predecessor"
                assert above.pins >= block.pins, f"{key.hex()} has more pins than its predecessor"
                children[above.key] = children.get(above.key, 0) + 1
                pins[above.key] = pins.get(above.key, 0) + block.pins
        queued = {node.key: rank for node, rank in self._leaves.entries()}
        leaves = 0
        for key, block in self._table.items():
            assert block.children == children.get(key, 0), f"{key.hex()} miscounts its children"
            assert block.pins >= pins.get(key, 0), f"{key.hex()} misses pins of its descendants"
            leaf = not block.children and not block.pins
            leaves += leaf
            rank = self._policy.rank(block.state)
            assert not leaf or queued.get(key) == rank, f"leaf {key.hex()} is queued wrongly"
            assert leaf or key not in queued, f"{key.hex()} is queued but not a free leaf"
        assert leaves == len(queued) == len(self._leaves), "the heap holds blocks that left"
        pinned = sum(1 for block in self._table.values() if block.pins)
        assert pinned == self._pinned, f"{pinned} blocks are pinned, {self._pinned} counted"

    def _reach(self, chain: Chain, start: int, stop: int) -> int:
        """How far `chain` is cached within [start, stop).

        The set is closed under prefix, so one look-up tells of all blocks before it: strides
        double until one ends on a missing block, then bisection. An early miss hashes little.
        """
        table, reach, stride = self._table, start, _FIRST_KEYS
        while reach < stop:
            end = min(reach + stride, stop)
            keys = chain.keys(end)
            if keys[end - 1] not in table:
                return bisect_left(keys, True, reach, end - 1, key=lambda key: key not in table)
            reach, stride = end, stride * 2
        return reach

    def _path(self, chain: Chain, start: int, stop: int) -> list[_Block[V, S]]:
        table = self._table
        return [table[key] for key in chain.keys(stop)[start:stop]]

    def _own(self, lease: Lease[V] | None) -> "_HashLease[V, S] | None":
        if lease is None:
            return None
        assert isinstance(lease, _HashLease), "the lease is another index's"
        lease.must_be_of(self)
        return lease

    def _hold(self, path: list[_Block[V, S]]) -> None:
        if not path:
            return
        self._leaves.withdraw(path[-1])  # only the last can be a leaf
        for block in path:
            if not block.pins:
                self._pinned += 1
            block.pins += 1

    def _release(self, tip: _Block[V, S] | None, own: S | None, output_tokens: int | None) -> None:
        if self._requests is not None and own is not None:
            self._requests.ended(own, output_tokens)
        block = tip
        while block is not None:
            block.pins -= 1
            if not block.pins:
                self._pinned -= 1
            block = block.parent
        if tip is not None and not tip.children and not tip.pins:
            self._leaves.offer(tip, self._policy.rank(tip.state))

    def _grow(
        self,
        tip: _Block[V, S] | None,
        keys: Sequence[BlockKey],
        values: Sequence[V],
        state: S,
        *,
        pins: int,
    ) -> _Block[V, S]:
        """Add blocks behind `tip`; the last of them."""
        table, parent = self._table, tip
        if tip is not None:
            self._leaves.withdraw(tip)
        for key, value in zip(keys, values, strict=True):
            if parent is not None:
                parent.children += 1
            parent = table[key] = _Block(key, value, parent, state, pins)
        assert parent is not None, "something was added"
        self._pinned += pins * len(keys)
        if not pins:
            self._leaves.offer(parent, self._policy.rank(state))
        return parent

    def _detach(self, block: _Block[V, S]) -> _Block[V, S] | None:
        """Drop a leaf that is not in the heap; its predecessor if that is now a free leaf."""
        del self._table[block.key]
        parent = block.parent
        if parent is None:
            return None
        parent.children -= 1
        parent.state = self._policy.inherited(parent.state, block.state)
        return None if parent.children or parent.pins else parent

    def _subtree(self, chain: Chain) -> dict[BlockKey, _Block[V, S]]:
        if not chain.blocks:
            return dict(self._table)
        top = self._table.get(chain.keys(chain.blocks)[chain.blocks - 1])
        if top is None:
            return {}
        inside: dict[BlockKey, bool] = {top.key: True}
        for block in self._table.values():
            trail: list[BlockKey] = []
            at: _Block[V, S] | None = block
            while at is not None and at.key not in inside:
                trail.append(at.key)
                at = at.parent
            verdict = at is not None and inside[at.key]
            inside.update(dict.fromkeys(trail, verdict))
        return {key: self._table[key] for key, within in inside.items() if within}
