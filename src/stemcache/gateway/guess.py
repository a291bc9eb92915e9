"""What seats probably hold, from what was routed to them and what they report.

```
    routed(seat, keys) ──► most recent                                    least recent
                            │ believed held: `capacity` units │ remembered to learn │ forgotten
                                                              ▲
    correct(…, held=n) ───────────────────────────────────────┘ moves where answers say so
```
A seat's cache is taken for an LRU of units, closed under prefix: of one use, the end of the prompt
goes first. `gateway.guess_tree` says how it is kept.
"""

from collections.abc import Sequence

from stemcache.gateway.guess_check import verify
from stemcache.gateway.guess_tree import Hold, Node, Ring, Tree

__all__ = ["Guess"]

_BATCH_BYTES = 16 * 1024  # freed at once where memory is short
_HOLD_UNITS = 32  # what a hold and its node take, in keys of 8 bytes


class _Seat(Ring):
    __slots__ = ("capacity", "number")

    def __init__(self, seat: int, capacity: int | None) -> None:
        super().__init__(seat)
        self.capacity = capacity
        self.number = 0


class Guess:
    """What each seat holds, bounded in bytes over all of them. **Not** thread-safe."""

    def __init__(self, *, most_bytes: int) -> None:
        """`most_bytes`: never exceeded after a call; within one by no more than its own keys."""
        self._most_bytes = most_bytes
        self._tree = Tree()
        self._seats: dict[int, _Seat] = {}

    def join(self, seat: int, *, capacity_units: int | None) -> None:
        """A seat of which nothing is held yet. None: as much as memory allows. O(1)."""
        assert seat not in self._seats, f"seat {seat} joined twice"
        self._seats[seat] = _Seat(seat, capacity_units)

    def leave(self, seat: int) -> None:
        """Forget it and all it holds. O(what it holds)."""
        self.clear(seat)
        del self._seats[seat]

    def clear(self, seat: int) -> None:
        """Forget all it holds, not what was learned of its capacity. O(what it holds)."""
        ring = self._seats[seat]
        while ring.holds:
            self._tree.trim(ring, ring.kept)

    def resize(self, seat: int, capacity_units: int | None) -> None:
        """It can hold so many units from now on."""
        ring = self._seats[seat]
        ring.capacity = capacity_units
        self._settle(ring)

    def held(self, keys: Sequence[int]) -> dict[int, int]:
        """How many leading keys each seat is believed to hold; seats with none are left out.

        Pure. O(nodes on the path + seats).
        """
        path, depth = self._tree.walk(keys)
        found: dict[int, int] = {}
        for node in reversed(path):
            holders = node.holders
            if isinstance(holders, Hold):
                ring = holders.ring
                if holders.units and ring is not None and ring.seat not in found:
                    found[ring.seat] = min(node.start + holders.units, depth)
            # who holds what is deeper holds this too: no more holders, nobody left to find
            elif holders is not None and len(holders) > len(found):
                for seat, hold in holders.items():
                    if hold.units and seat not in found:
                        found[seat] = min(node.start + hold.units, depth)
        return found

    def routed(self, seat: int, keys: Sequence[int]) -> None:
        """The seat will hold all of `keys`, as its most recent.

        O(nodes on the path), O(keys that nobody held), and O(1) for each run that is let go.
        """
        ring = self._seats[seat]
        ring.number += 1
        if not keys:
            return
        path, depth = self._tree.walk(keys)
        if path:
            last = path[-1]
            into = depth - last.start
            if into < len(last.keys):
                mine = last.hold(seat)
                if depth < len(keys) or (mine is not None and mine.kept > into):
                    path[-1] = self._tree.split(last, into)
        if depth < len(keys):
            last = path[-1] if path else self._tree.root
            node = self._tree.add(ring, last, keys[depth:], ring.number)
            if node is not last:
                path.append(node)
        self._use(ring, path, len(keys))
        self._settle(ring)

    def correct(self, seat: int, keys: Sequence[int], *, held: int) -> None:
        """The seat has found exactly the first `held` of `keys`, and computed the rest since."""

    def held_units(self, seat: int) -> int:
        """Units that the seat is believed to hold."""
        return self._seats[seat].units

    @property
    def bytes_used(self) -> int:
        """What all this takes, as the allocator counts."""
        return self._tree.bytes

    def check(self) -> None:
        """Verify every invariant. Raises AssertionError. O(everything)."""
        verify(self._tree, self._seats.values())

    def _use(self, ring: _Seat, path: Sequence[Node], depth: int) -> None:
        """The path becomes the most recent: the deeper the less, as its end goes first."""
        tree, end, number = self._tree, ring.end, ring.number
        for node in reversed(path):
            hold = node.hold(ring.seat)
            if hold is None:
                hold = tree.hold(ring, node, number)
            else:
                if ring.edge is hold:
                    ring.edge = hold.more
                hold.unlink()
            kept = min(len(node.keys), depth - node.start)
            ring.kept += kept - hold.kept
            ring.units += kept - hold.units
            hold.kept = hold.units = kept
            hold.used = number
            hold.link_below(end)
            if ring.edge is end:
                ring.edge = hold
        for node in path:
            tree.merge(node)

    def _settle(self, ring: _Seat) -> None:
        """No more than fits: in the seat's cache, and in memory."""
        if ring.capacity is not None:
            over = ring.kept - ring.capacity
            while over > 0:
                over -= self._tree.trim(ring, over)
        while self._tree.bytes > self._most_bytes and self._relieve():
            pass

    def _relieve(self) -> bool:
        """Free some memory at the expense of who takes most. False where there is nothing."""
        ring = max(self._seats.values(), key=lambda each: each.kept + _HOLD_UNITS * each.holds)
        if not ring.holds:
            return False
        floor = (ring.kept + _HOLD_UNITS * ring.holds) * 63 // 64
        target = self._most_bytes - _BATCH_BYTES
        while ring.holds:
            node = ring.end.more.node
            assert node is not None, "a hold of no node"
            alone = not isinstance(node.holders, dict)
            over = self._tree.bytes - target
            self._tree.trim(ring, max(1, over // 8) if alone else ring.kept)
            if self._tree.bytes <= target or ring.kept + _HOLD_UNITS * ring.holds < floor:
                break
        return True
