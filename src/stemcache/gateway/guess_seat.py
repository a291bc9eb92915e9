"""One seat of the guess: how much of what it was sent it is believed to hold, and why.

```
    least recent                         most recent
      h1 ─── h2 ─── h3 ─── h4 ─── h5 ─── h6              holds, a ring
     0/9    0/4    2/8    5/5    9/9    3/3              units believed held / kept
                    ▲ edge                               all behind it whole, nothing before it
```
"""

from collections.abc import Sequence

from stemcache.gateway.guess_capacity import Capacity, Finding
from stemcache.gateway.guess_tree import Hold, Node, Ring

__all__ = ["Seat", "Sent"]

_MOST_SENT = 512  # requests whose answers can be learned from
_SENT_BYTES = 384
_STRETCH_BYTES = 144
# Plain names: to name a member of an enumeration takes six times as long.
_NOTHING, _MOVED = Finding.NOTHING, Finding.MOVED


class Stretch:
    """Leading keys of a prompt that one use had used last."""

    __slots__ = ("distance", "settled", "stop", "used")

    def __init__(self, used: int, settled: bool) -> None:  # noqa: FBT001  in a hot loop
        self.stop = 0
        """Keys from the prompt's beginning to the stretch's end."""
        self.used = used
        self.settled = settled
        """Its keys had been computed: that use was answered, or had found them there."""
        self.distance = 0
        """Units used more recently than the stretch's first key."""


class Sent:
    """What was known of a prompt at its seat when it was sent there."""

    __slots__ = ("believed", "bytes", "number", "stretches")

    def __init__(self, number: int, believed: int, stretches: list[Stretch]) -> None:
        self.number = number
        self.believed = believed
        self.stretches = stretches
        self.bytes = _SENT_BYTES + _STRETCH_BYTES * len(stretches)
        """As accounted for."""


class Seat(Ring):
    """A ring with its capacity, and the requests whose answers have not come."""

    __slots__ = ("_given", "_learned", "_open", "_sent", "capacity", "number")

    BYTES = 30 * 1024
    """What a seat takes that holds nothing."""

    def __init__(self, seat: int, capacity: int | None) -> None:
        super().__init__(seat)
        self.capacity = Capacity(capacity)
        self.number = 0
        """Of the request sent last."""
        self._given = capacity
        self._learned = False
        self._sent: dict[int, Sent] = {}
        """By the last key of the prompt, the oldest first."""
        self._open: set[int] = set()

    def told(self, capacity: int | None) -> bool:
        """Its capacity was given anew: whether that changes more than an estimate's last digits.

        If it does, what was learned is of another cache. If not, it is better than what is given.
        """
        before, self._given = self._given, capacity
        if capacity == before:
            return False
        if capacity is None or before is None or abs(capacity - before) > before // 8:
            if self.capacity.answers:
                self.capacity = Capacity(capacity)
            self.capacity.units = capacity
            self._learned = False
            return True
        if not self._learned:
            self.capacity.units = capacity
        return False

    def most_kept(self) -> int | None:
        """Units to keep: beyond what is believed held, as many as it takes to notice more."""
        capacity = self.capacity.units
        return None if capacity is None else capacity + capacity // 2

    def believe(self) -> None:
        """Move the edge to where capacity allows. O(holds that it passes)."""
        capacity = self.capacity.units
        target = self.kept if capacity is None else min(capacity, self.kept)
        while self.units > target:
            hold = self.edge
            took = min(hold.units, self.units - target)
            hold.units -= took
            self.units -= took
            if not hold.units:
                self.edge = hold.more
        while self.units < target:
            hold = self.edge
            if hold is self.end or hold.units == hold.kept:
                hold = hold.less
                self.edge = hold
            took = min(hold.kept - hold.units, target - self.units)
            hold.units += took
            self.units += took

    def send(self, path: Sequence[Node], depth: int, last_key: int) -> int:
        """Remember what is known of the prompt that is sent now. Bytes that this takes more.

        `path` and `depth`: how the prompt's keys match. O(nodes on the path).
        """
        believed, seat, unsettled = 0, self.seat, self._open
        stretches: list[Stretch] = []
        places: list[tuple[Hold, Stretch]] = []
        used, whole = -1, False
        for node in path:
            hold = node.hold(seat)
            if hold is None:
                break
            if hold.units:
                believed = node.start + hold.units
            settled = hold.sure or hold.used not in unsettled
            if hold.used != used or settled is not whole:
                used, whole = hold.used, settled
                stretch = Stretch(used, settled)
                stretches.append(stretch)
            stretch.stop = node.start + hold.kept
            places.append((hold, stretch))
        if stretches:
            stretch.stop = min(stretch.stop, depth)
            self._measure(stretches)
            for hold, stretch in places:
                hold.sure = stretch.settled and self.capacity.well_within(stretch.distance)
        sent = Sent(self.number, min(believed, depth), stretches)
        grown, waiting = sent.bytes, self._sent
        if last_key in waiting or len(waiting) >= _MOST_SENT:
            old = last_key if last_key in waiting else next(iter(waiting))
            grown -= self._drop(old).bytes
        waiting[last_key] = sent
        unsettled.add(self.number)
        return grown

    def answered(self, last_key: int) -> Sent | None:
        """What was known of a prompt that has now been answered; forgotten here."""
        sent = self._sent.pop(last_key, None)
        if sent is not None:
            self._open.discard(sent.number)
        return sent

    def oldest_sent(self) -> Sent | None:
        """What has waited longest for its answer; forgotten here."""
        return self._drop(next(iter(self._sent))) if self._sent else None

    def sent_bytes(self) -> int:
        """What takes what waits for answers. O(it)."""
        return sum(sent.bytes for sent in self._sent.values())

    def forget_sent(self) -> int:
        """The answers to come are of no use. Bytes that this frees."""
        freed = self.sent_bytes()
        self._sent.clear()
        self._open.clear()
        return freed

    def learn(self, sent: Sent, held: int, slack: int) -> Finding:
        """A prompt's first `held` keys were found, no more."""
        stretches, number = sent.stretches, sent.number
        if not stretches:
            return _NOTHING
        start, finding = 0, _NOTHING
        known = stretches[-1].stop
        found = min(held, known)
        for each in stretches:
            if start < found <= each.stop:
                finding = self.capacity.had(
                    each.distance + found - start, used=each.used, number=number
                )
            if start <= held < each.stop and held + slack < known and each.settled:
                lost = self.capacity.lost(
                    each.distance + held + 1 - start, used=each.used, number=number
                )
                finding = lost if lost is not _NOTHING else finding
            start = each.stop
        if finding is _MOVED:
            self._learned = True
        return finding

    def check(self) -> None:
        """Verify the invariants that the ring does not have. Raises AssertionError."""
        most = self.most_kept()
        assert most is None or self.kept <= most, "more is kept than is of use"
        capacity = self.capacity.units
        fits = self.kept if capacity is None else min(self.kept, capacity)
        assert self.units == fits, f"{self.units} units are believed held, {fits} fit"
        assert len(self._sent) <= _MOST_SENT, "too many requests are remembered"
        assert {sent.number for sent in self._sent.values()} == self._open, "answers got lost"

    def _measure(self, stretches: Sequence[Stretch]) -> None:
        if len(stretches) == 1:
            (only,) = stretches
            only.distance = self.recency.distance(only.used, only.stop)
            return
        start, uses = 0, []
        for each in stretches:
            uses.append((each.used, each.stop - start))
            start = each.stop
        for each, distance in zip(stretches, self.recency.distances(uses), strict=True):
            each.distance = distance

    def _drop(self, last_key: int) -> Sent:
        sent = self._sent.pop(last_key)
        self._open.discard(sent.number)
        return sent
