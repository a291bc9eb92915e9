"""What seats probably hold, from what was routed to them and what they report.

```
    routed(seat, keys) ──► most recent                                       least recent
                            │ believed held: `capacity` units │ kept to learn from │ forgotten
                                                              ▲
    correct(seat, keys, held=…) ──────────────────────────────┘ moves to where answers say
```
A seat's cache is taken for an LRU of units, closed under prefix: of one use, the end of the prompt
goes first. `gateway.guess_tree` says how that is kept, for all seats in one tree; a request that
ends inside a run, or parts there, splits it:

```
    seat 1 kept A B C D         then A B X is routed to seat 2

    root                        root
     └ [A B C D]  1:4            └ [A B]     1:2  2:2
                                    ├ [C D]  1:2
                                    └ [X]          2:1
```
`gateway.guess_capacity` says how a capacity is learned, `gateway.guess_recency` how recency is
measured. Without reports, a seat of known capacity holds exactly what such a cache would.

Invariants, beside those of the tree: what is believed held is the most recent part of what is kept,
and all of it where the capacity allows; no seat is believed to hold more than its capacity; bytes
are within their bound.
"""

from collections.abc import Sequence
from enum import StrEnum

from stemcache.gateway.guess_capacity import Finding
from stemcache.gateway.guess_check import verify
from stemcache.gateway.guess_seat import Seat
from stemcache.gateway.guess_tree import Hold, Node, Tree

__all__ = ["Guess", "Verdict"]

_BATCH_BYTES = 16 * 1024  # freed at once where memory is short
_HOLD_UNITS = 32  # what a hold and its node take, in keys of 8 bytes


class Verdict(StrEnum):
    """What a report says of what was believed."""

    UNKNOWN = "unknown"
    """It is not known what was believed: too many requests ago, or the seat was emptied since."""
    AGREED = "agreed"
    LESS = "less"
    MORE = "more"
    RESET_SUSPECTED = "reset-suspected"
    """The seat has lost what it is always found to have: what it held before was forgotten."""


# Plain names: to name a member of an enumeration takes six times as long.
_UNKNOWN, _AGREED = Verdict.UNKNOWN, Verdict.AGREED
_MOVED, _RESET = Finding.MOVED, Finding.RESET


class Guess:
    """What each seat holds, bounded in bytes over all of them. **Not** thread-safe."""

    def __init__(self, *, most_bytes: int) -> None:
        """`most_bytes`: of the process's memory. A fifth is left for what the allocator wastes.

        Not exceeded after a call; within one by no more than a few times its own keys.
        A seat takes 30 kB of it before it holds anything.
        """
        self._most_bytes = most_bytes * 4 // 5
        self._tree = Tree()
        self._seat_bytes = 0
        """What seats take beside the tree."""
        self._sent_bytes = 0
        """What waits for answers: at most an eighth of what seats leave."""
        self._seats: dict[int, Seat] = {}
        self._walked: tuple[Sequence[int], list[Node], int] = (), [], 0
        """Keys that were looked up last, their path and depth, …"""
        self._walked_at = 0
        """… and after how many changes of the tree: what is asked for is mostly sent next."""

    def join(self, seat: int, *, capacity_units: int | None) -> Seat:
        """A seat that holds nothing yet. None: as much as it turns out to. O(1).

        What is returned stays this guess's own, to be looked at only.
        """
        assert seat not in self._seats, f"seat {seat} joined twice"
        mine = self._seats[seat] = Seat(seat, capacity_units)
        self._seat_bytes += Seat.BYTES
        return mine

    def leave(self, seat: int) -> None:
        """Forget it, all it holds and what was learned. O(what it holds)."""
        self.clear(seat)
        del self._seats[seat]
        self._seat_bytes -= Seat.BYTES

    def clear(self, seat: int) -> None:
        """Its cache was emptied: forget all it holds, not how much it can. O(what it holds)."""
        mine = self._seats[seat]
        mine.capacity.begin_again()
        self._sent_bytes -= mine.forget_sent()
        self._trim_to(mine, 0)

    def resize(self, seat: int, capacity_units: int | None) -> None:
        """It can hold so many units; None: to be learned. O(what is let go).

        Within an eighth of what was said before, what was learned since is kept. Else the seat is
        another, and where it has room for more, nothing comes back.
        """
        mine = self._seats[seat]
        if mine.told(capacity_units):
            self._trim_to(mine, mine.units)
        self._settle(mine)

    def capacity_units(self, seat: int) -> int | None:
        """What it can hold, as told or as learned since; None: not known yet. O(1)."""
        return self._seats[seat].capacity.units

    def held_units(self, seat: int) -> int:
        """Units that it is believed to hold. O(1)."""
        return self._seats[seat].units

    def held(self, keys: Sequence[int]) -> dict[int, int]:
        """How many leading keys each seat is believed to hold; seats with none are left out.

        Pure. Not O(keys): some 0.05 ms for 64 seats and 20 nodes on the path.
        """
        path, depth = self._tree.walk(keys)
        self._walked, self._walked_at = (keys, path, depth), self._tree.changes
        deepest: dict[int, Hold] = {}
        for node in path:  # who holds what is deeper holds this too
            holders = node.holders
            if isinstance(holders, dict):
                deepest.update(holders)
            elif holders is not None:
                deepest[holders.ring.seat] = holders
        found: dict[int, int] = {}
        for seat, hold in deepest.items():
            last = hold if hold.units else _last_believed(path, seat)
            if last is not None:
                stop = last.node.start + last.units
                found[seat] = stop if stop < depth else depth  # noqa: FURB136  in a hot loop
        return found

    def routed(self, seat: int, keys: Sequence[int], *, answered: bool = True) -> None:
        """The seat will hold all of `keys`, as its most recent.

        `answered`: False where nothing will be reported, as of what another gateway has sent.
        O(nodes on the path), O(keys that nobody held), and amortised O(1) for each run let go.
        """
        if not keys:
            return
        mine = self._seats[seat]
        tree = self._tree
        walked, path, depth = self._walked
        self._walked = (), [], 0  # as the path is changed here
        if walked is not keys or self._walked_at != tree.changes:
            path, depth = tree.walk(keys)
        mine.number += 1
        if answered:
            self._sent_bytes += mine.send(path, depth, keys[-1])
            most = (self._most_bytes - self._seat_bytes) // 8
            while self._sent_bytes > most and (old := mine.oldest_sent()):
                self._sent_bytes -= old.bytes
        if path:
            last = path[-1]
            into = depth - last.start
            if into < len(last.keys):
                hold = last.hold(seat)
                if depth < len(keys) or (hold is not None and hold.kept > into):
                    path[-1] = tree.split(last, into)
        if depth < len(keys):
            last = path[-1] if path else tree.root
            node = tree.add(last, keys[depth:])
            if node is not last:
                path.append(node)
        self._use(mine, path, len(keys))
        self._settle(mine)

    def correct(self, seat: int, keys: Sequence[int], *, held: int) -> Verdict:
        """The seat had found exactly the first `held` of `keys`, and has computed the rest since.

        Compared with what was believed when they were last routed there. Learns the capacity; what
        is believed of all other prompts follows from it. A difference of one unit, or of a
        sixty-fourth of the prompt, is none. O(1), but for what is let go or comes back.
        """
        mine = self._seats[seat]
        if not 0 <= held <= len(keys):
            held = max(0, min(held, len(keys)))
        sent = mine.answered(keys[-1]) if keys else None
        if sent is None:
            return _UNKNOWN
        self._sent_bytes -= sent.bytes
        finding = mine.learn(sent, held, slack := 1 + len(keys) // 64)
        if finding is _RESET:
            self._sent_bytes -= mine.forget_sent()
            self._trim_before(mine, mine.capacity.emptied_before)
            return Verdict.RESET_SUSPECTED
        if finding is _MOVED:
            self._settle(mine)
        if abs(held - sent.believed) <= slack:
            return _AGREED
        return Verdict.LESS if held < sent.believed else Verdict.MORE

    @property
    def bytes_used(self) -> int:
        """What all this takes, as the allocator counts. O(1)."""
        return self._tree.bytes + self._seat_bytes + self._sent_bytes

    def check(self) -> None:
        """Verify every invariant. Raises AssertionError. O(everything)."""
        verify(self._tree, self._seats.values())
        for mine in self._seats.values():
            mine.check()
        sent = sum(mine.sent_bytes() for mine in self._seats.values())
        assert sent == self._sent_bytes, f"{self._sent_bytes} bytes wait for answers, not {sent}"
        assert self.bytes_used <= self._most_bytes or not any(
            mine.holds for mine in self._seats.values()
        ), f"{self.bytes_used} bytes are more than {self._most_bytes}"

    def _use(self, mine: Seat, path: Sequence[Node], depth: int) -> None:
        """The path becomes the most recent: the deeper the less, as its end goes first."""
        tree, end, number, recency = self._tree, mine.end, mine.number, mine.recency
        stop = depth
        for node in reversed(path):
            hold = node.hold(mine.seat)
            if hold is None:
                hold = tree.hold(mine, node, number)
            else:
                less, more = hold.less, hold.more
                if mine.edge is hold:
                    mine.edge = more
                less.more, more.less = more, less  # as `unlink` does
                recency.left(hold.used, hold.kept)
            start = node.start
            kept, stop = stop - start, start
            if hold.kept != kept:
                hold.sure &= kept < hold.kept
                mine.kept += kept - hold.kept
                hold.kept = kept
            if hold.units != kept:
                mine.units += kept - hold.units
                hold.units = kept
            hold.used = number
            less = end.less
            hold.more, hold.less = end, less  # as `link_below(end)` does
            less.more = end.less = hold
            if mine.edge is end:
                mine.edge = hold
        recency.used(number, depth)
        for node in path:
            if node.children is not None and len(node.children) == 1:
                tree.merge(node)

    def _settle(self, mine: Seat) -> None:
        """No more than fits: in the seat's cache, in what is kept beside it, and in memory."""
        capacity, kept = mine.capacity.units, mine.kept
        if capacity is None or kept <= capacity:
            if mine.units != kept:
                mine.believe()
        else:
            if mine.units != capacity:
                mine.believe()
            most = mine.most_kept()
            if most is not None and kept > most:
                self._trim_to(mine, most)
        while (
            self._tree.bytes + self._seat_bytes + self._sent_bytes > self._most_bytes
            and self._relieve()
        ):
            pass

    def _trim_to(self, mine: Seat, units: int) -> None:
        while mine.kept > units:
            self._tree.trim(mine, mine.kept - units)

    def _trim_before(self, mine: Seat, number: int) -> None:
        while mine.holds and mine.end.more.used < number:
            self._tree.trim(mine, mine.kept)

    def _relieve(self) -> bool:
        """Free some memory at the expense of who takes most. False where there is nothing.

        Not of who used what least recently: a busy seat does not make others forget what they hold.
        """
        mine = max(self._seats.values(), key=lambda each: each.kept + _HOLD_UNITS * each.holds)
        floor = (mine.kept + _HOLD_UNITS * mine.holds) * 63 // 64
        target = self._most_bytes - self._seat_bytes - self._sent_bytes - _BATCH_BYTES
        if not mine.holds:
            return False
        while mine.holds:
            alone = not isinstance(mine.end.more.node.holders, dict)
            over = self._tree.bytes - target
            self._tree.trim(mine, max(1, over // 8) if alone else mine.kept)
            if self._tree.bytes <= target or mine.kept + _HOLD_UNITS * mine.holds < floor:
                break
        return True


def _last_believed(path: Sequence[Node], seat: int) -> Hold | None:
    """The deepest hold of a seat of which something is believed held. O(log nodes)."""
    found, low, high = None, 0, len(path)
    while low < high:
        middle = (low + high) // 2
        hold = path[middle].hold(seat)
        if hold is not None and hold.units:
            found, low = hold, middle + 1
        else:
            high = middle
    return found
