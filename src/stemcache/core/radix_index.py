"""The index as a compressed tree of raw token runs; long, as lease, walk and tree are one unit.

```
    before          insert A B X            evict(1), X least recent

    root            root                    root
     └ [A B C D]     └ [A B]                 └ [A B]
                        ├ [C D]                 └ [C D]
                        └ [X]
```

Tokens are compared, not hashed: there is nothing to collide, and no key is computed unless events
or a lower tier want it (`keyed`). A run splits only where chains part or where a block carries an
extra; leases and uses split spans inside a run (`core.radix_run`), so a look-up changes nothing.

Invariants, beside those of `core.index` and of each run:
  5. a child stands in its parent's table under its edge, and edges of siblings differ;
  6. a block that carries an extra begins a run;
  7. a run is in the heap if and only if its last block has neither children nor pins.

Costs, in tokens: `match`, `pin` O(matched), a vectorised compare; `insert` O(new), plus a memory
move of the run it splits; `release` O(runs on the path); `evict` O(log leaves) a block; `remove`
O(subtree). None depends on the size of the index.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Generic, TypeVar

import numpy as np

from stemcache.core.events import Listener
from stemcache.core.index import Inserted, Lease, Match, Policy, Removal, Stamp, Victim
from stemcache.core.index_base import IndexBase
from stemcache.core.leaf_heap import LeafHeap
from stemcache.core.lease import HeldPath
from stemcache.core.radix_run import Edge, Run, Span
from stemcache.core.tokens import Chain, common_prefix

__all__ = ["RadixIndex"]

V = TypeVar("V")
S = TypeVar("S")


@dataclass(slots=True)
class _Place(Generic[V, S]):
    """A point in the tree: `depth` blocks from the start, the last of them in `run`."""

    run: Run[V, S] | None
    """None at the root."""
    depth: int


class _RadixLease(HeldPath[V], Generic[V, S]):
    __slots__ = ("_pinned_depth", "_tree", "own", "place")

    def __init__(self, index: "RadixIndex[V, S]", place: _Place[V, S], own: S | None) -> None:
        super().__init__(index, index.block_size)
        self._tree = index
        self._pinned_depth = place.depth
        self.place = place
        self.own = own

    @property
    def blocks(self) -> int:
        """Length of the held path, in blocks."""
        return self.place.depth

    def _pinned_values(self) -> Sequence[V]:
        return self._tree._values(self.place, self._pinned_depth)  # noqa: SLF001  one unit

    def _let_go(self, output_tokens: int | None) -> None:
        self._tree._release(self.place, self.own, output_tokens)  # noqa: SLF001  a lease and its index are one unit


class RadixIndex(IndexBase[V, S]):
    """A `PrefixIndex` over a compressed tree of token runs. **Not** thread-safe."""

    def __init__(
        self,
        *,
        block_size: int,
        policy: Policy[S],
        listener: Listener | None = None,
        keyed: bool = False,
    ) -> None:
        """`keyed`: keep block keys, so that victims carry them. A listener implies it."""
        super().__init__(block_size, policy, listener)
        self._keyed = keyed or listener is not None
        self._roots: dict[Edge, Run[V, S]] = {}
        self._leaves: LeafHeap[Run[V, S]] = LeafHeap()
        self._blocks = 0

    def __len__(self) -> int:
        return self._blocks

    def match(self, chain: Chain, *, max_blocks: int | None = None) -> Match:
        """The longest cached prefix of `chain`. Pure."""
        depth = pinned = 0
        for step in self._walk(chain, _Place(None, 0), self._limit(chain, max_blocks)):
            assert step.run is not None, "a step of a walk has a run"
            depth = step.depth
            pinned += min(step.run.pinned, depth - step.run.start)
        return Match(depth, depth * self._block_size, pinned)

    def pin(
        self, chain: Chain, *, now: float, max_blocks: int | None = None, priority: int = 0
    ) -> Lease[V]:
        """Hold the longest cached prefix of `chain` and record one use of it."""
        place = _Place[V, S](None, 0)
        for step in self._walk(chain, place, self._limit(chain, max_blocks)):
            assert step.run is not None, "a step of a walk has a run"
            self._hold(step.run, place.depth, step.depth)
            place = step
        own: S | None = None
        if place.run is not None:
            own = self._use(place.run, place.depth, self._stamp(now, priority, place.depth))
        return _RadixLease(self, place, own)

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
        place = self._settle(held.place) if held else _Place[V, S](None, 0)
        base = place.depth
        stop = base + len(values)
        assert stop <= chain.blocks, f"{stop} blocks of a chain of {chain.blocks}"
        existing: list[V] = []
        for step in self._walk(chain, place, stop):
            assert step.run is not None, "a step of a walk has a run"
            if held:
                self._hold(step.run, place.depth, step.depth)
            existing += step.run.values[place.depth - step.run.start : step.depth - step.run.start]
            place = step
        start = place.depth
        if start < stop:
            stamp = self._stamp(now, priority, stop)
            state = self._entered(held.own if held else None, stamp, chain, start)
            tail = list(values)
            del tail[: start - base]
            run = self._add(chain, place, stop, tail, state=state, pins=1 if held else 0)
            if held:
                held.own = state
            place = _Place(run, stop)
            self._tell_stored(chain, start, stop)
        if held:
            held.place = place
        return Inserted(start, tuple(values[: start - base]), tuple(existing))

    def evict(self, blocks: int) -> list[Victim[V]]:
        """Give up at most `blocks` unpinned blocks, leaves first, in policy order."""
        victims: list[Victim[V]] = []
        policy, leaves = self._policy, self._leaves
        if blocks > 0 and self._requests is not None and self._requests.turned(len(leaves)):
            leaves.reorder(lambda run: policy.rank(run.last))
        run = leaves.take() if blocks > 0 else None
        while run is not None:
            span, state, count = run.spans[-1], run.last, 1
            if span.blocks > 1 and policy.inherited(span.state, state) == state:
                # Each block of the span will inherit this state when it becomes the last, and its
                # rank will be the smallest still: take them at once.
                count = min(span.blocks, blocks - len(victims))
            for _ in range(count):
                policy.evicted(state)
            ripe = self._pop(run, count, victims)
            wanted = len(victims) < blocks
            if ripe is None:
                run = leaves.take() if wanted else None
            elif wanted:
                run = leaves.exchange(ripe, policy.rank(ripe.last))
            else:
                leaves.offer(ripe, policy.rank(ripe.last))
                run = None
        self._tell_removed(victims)
        return victims

    def remove(self, chain: Chain) -> Removal[V]:
        """Drop the last block of `chain` and everything behind it, except what leases hold."""
        if not chain.blocks:
            tops, floor = list(self._roots.values()), 0
        else:
            place = self._find(chain, self._limit(chain, None))
            if place.run is None or place.depth < chain.blocks:
                return Removal((), 0)
            tops, floor = [place.run], chain.blocks - 1
        removed: list[Victim[V]] = []
        held = 0
        for run in _deepest_first(tops):
            keep = max(floor - run.start, 0)
            while run.blocks > keep and run.free_leaf:
                self._leaves.withdraw(run)
                count = min(run.spans[-1].blocks, run.blocks - keep)
                ripe = self._pop(run, count, removed)
                if ripe is not None:
                    self._leaves.offer(ripe, self._policy.rank(ripe.last))
                if not run.values:
                    break
            held += max(run.blocks - keep, 0)
        self._tell_removed(removed)
        return Removal(tuple(removed), held)

    def check(self) -> None:
        """Verify every invariant. O(index)."""
        queued = {id(run): rank for run, rank in self._leaves.entries()}
        leaves = blocks = pinned = 0
        for run in _deepest_first(list(self._roots.values())):
            run.check(self._block_size)
            siblings = self._siblings(run)
            assert siblings.get(run.edge) is run, "a run is not where its edge says"
            assert run.start == (run.parent.stop if run.parent else 0), "a run starts elsewhere"
            assert (run.keys is not None) == self._keyed, "a run keeps keys against the setting"
            above = run.parent.spans[-1].pins if run.parent else run.spans[0].pins
            assert above >= run.spans[0].pins, "a run has more pins than what precedes it"
            below = sum(child.spans[0].pins for child in run.children.values())
            assert run.spans[-1].pins >= below, "a run misses pins of its descendants"
            if run.free_leaf:
                leaves += 1
                rank = self._policy.rank(run.last)
                assert queued.get(id(run)) == rank, "a leaf is queued wrongly"
            else:
                assert id(run) not in queued, "a run is queued but its end is not free"
            blocks += run.blocks
            pinned += run.pinned
        assert leaves == len(queued) == len(self._leaves), "the heap holds runs that left"
        assert blocks == self._blocks, f"{blocks} blocks stand in the tree, {self._blocks} counted"
        assert pinned == self._pinned, f"{pinned} blocks are pinned, {self._pinned} counted"

    def _find(self, chain: Chain, stop: int) -> _Place[V, S]:
        place = _Place[V, S](None, 0)
        for step in self._walk(chain, place, stop):
            place = step
        return place

    def _walk(self, chain: Chain, place: _Place[V, S], stop: int) -> Iterator[_Place[V, S]]:
        """Places behind `place` that `chain` passes, one a run; the last is where it leaves."""
        run, depth = place.run, place.depth
        while depth < stop:
            if run is None or depth == run.stop:
                children = self._roots if run is None else run.children
                child = children.get(self._edge(chain, depth))
                if child is None:
                    return
                run = child
                inside = 1  # the edge was the first block
            else:
                inside = depth - run.start
            end = min(run.stop, stop, chain.next_extra(run.start + inside))
            known = run.start + inside
            if end > known:
                ours = run.tokens.view(
                    inside * self._block_size, (end - run.start) * self._block_size
                )
                known += common_prefix(ours, chain.view(known, end)) // self._block_size
            if known == depth:
                return
            depth = known
            yield _Place(run, depth)
            if depth < run.stop:
                return

    def _edge(self, chain: Chain, block: int) -> Edge:
        tokens = np.asarray(chain.view(block, block + 1), "<u4").tobytes()
        extra = chain.extra(block)
        return tokens if extra is None else (extra, tokens)

    def _siblings(self, run: Run[V, S]) -> dict[Edge, Run[V, S]]:
        return self._roots if run.parent is None else run.parent.children

    def _values(self, place: _Place[V, S], depth: int) -> list[V]:
        """Values of the first `depth` blocks on the way to `place`. O(depth)."""
        parts: list[list[V]] = []
        run = place.run
        while run is not None:
            parts.append(run.values[: max(0, depth - run.start)])
            run = run.parent
        values = parts.pop() if parts else []
        while parts:
            values += parts.pop()
        return values

    def _own(self, lease: Lease[V] | None) -> "_RadixLease[V, S] | None":
        if lease is None:
            return None
        assert isinstance(lease, _RadixLease), "the lease is another index's"
        lease.must_be_of(self)
        return lease

    def _settle(self, place: _Place[V, S]) -> _Place[V, S]:
        # Splits move the head of a run into a new parent; a place stays right by climbing to it.
        while place.run is not None and place.run.start >= place.depth:
            place.run = place.run.parent
        return place

    def _hold(self, run: Run[V, S], first: int, stop: int) -> None:
        """Pin the blocks [first, stop) of the chain, all of them in `run`."""
        low = run.cut_span(first - run.start)
        high = run.cut_span(stop - run.start)
        for span in run.spans[low:high]:
            if not span.pins:
                self._pinned += span.blocks
            span.pins += 1
        if run.spans[-1].pins:
            self._leaves.withdraw(run)

    def _use(self, run: Run[V, S], depth: int, stamp: Stamp) -> S:
        if depth == run.stop:
            run.last = self._policy.used(run.last, stamp)
            return run.last
        at = run.cut_span(depth - 1 - run.start)
        run.cut_span(depth - run.start)
        state = run.spans[at].state = self._policy.used(run.spans[at].state, stamp)
        return state

    def _release(self, place: _Place[V, S], own: S | None, output_tokens: int | None) -> None:
        if self._requests is not None and own is not None:
            self._requests.ended(own, output_tokens)
        place = self._settle(place)
        run, depth = place.run, place.depth
        while run is not None:
            for span in run.spans[: run.cut_span(depth - run.start)]:
                span.pins -= 1
                if not span.pins:
                    self._pinned -= span.blocks
            run.merge_spans()
            depth = run.start
            run = run.parent
        if place.run is not None:
            self._offer(place.run)

    def _offer(self, run: Run[V, S]) -> None:
        if run.free_leaf:
            self._leaves.offer(run, self._policy.rank(run.last))

    def _add(
        self,
        chain: Chain,
        place: _Place[V, S],
        stop: int,
        values: list[V],
        *,
        state: S,
        pins: int,
    ) -> Run[V, S]:
        run, at = place.run, place.depth
        keys = chain.keys(stop)[at:stop] if self._keyed else None
        if run is not None and at < run.stop:
            run = self._split(run, at)
        self._blocks += len(values)
        self._pinned += pins * len(values)
        taken = 0
        while at < stop:
            end = min(stop, chain.next_extra(at + 1))
            size = end - at
            part = values if size == len(values) else values[taken : taken + size]
            part_keys = None if keys is None else keys[taken : taken + size]
            span = Span(size, state, pins)
            tokens = chain.view(at, end)
            if run is not None and not run.children and chain.extra(at) is None:
                self._leaves.withdraw(run)
                run.extend(tokens, part, part_keys, span)
            else:
                run = self._attach(
                    Run(
                        parent=run,
                        edge=self._edge(chain, at),
                        start=at,
                        tokens=tokens,
                        values=part,
                        keys=part_keys,
                        spans=[span],
                    )
                )
            at, taken = end, taken + size
        assert run is not None, "something was added"
        self._offer(run)
        return run

    def _attach(self, run: Run[V, S]) -> Run[V, S]:
        if run.parent is not None:
            self._leaves.withdraw(run.parent)
        self._siblings(run)[run.edge] = run
        return run

    def _split(self, run: Run[V, S], depth: int) -> Run[V, S]:
        at = (depth - run.start) * self._block_size
        head = np.asarray(run.tokens.view(at, at + self._block_size), "<u4").tobytes()
        upper = run.split(depth - run.start, head, self._block_size)
        self._siblings(upper)[upper.edge] = upper
        return upper

    def _pop(self, run: Run[V, S], count: int, out: list[Victim[V]]) -> Run[V, S] | None:
        """Take the last blocks, all of one span, off a run that is not in the heap.

        Returns the run whose last block is now a free leaf, if there is one; also not in the heap.
        """
        span, state = run.spans[-1], run.last
        for _ in range(count - 1):  # what the first of them has inherited when it goes
            joined = self._policy.inherited(span.state, state)
            if joined == state:
                break
            state = joined
        keys, values = run.pop(count, self._block_size)
        out += map(Victim, repeat(None) if keys is None else keys, values)
        self._blocks -= count
        last = run if run.values else run.parent
        if not run.values:
            del self._siblings(run)[run.edge]
        if last is None:
            return None
        before = last.spans[-1].state if last is run else last.last
        last.last = self._policy.inherited(before, state)
        return last if last.free_leaf else None


def _deepest_first(tops: list[Run[V, S]]) -> list[Run[V, S]]:
    """Every run of the subtrees, children before parents. No recursion: trees can be deep."""
    order: list[Run[V, S]] = []
    stack = list(tops)
    while stack:
        run = stack.pop()
        order.append(run)
        stack.extend(run.children.values())
    order.reverse()
    return order
