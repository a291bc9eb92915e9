"""The blocks of one seat: by the engine's hashes and by our own keys, each in some tiers.

```
engine's hash ──┐                    slot: parent · depth · children · tiers · copies · age
                ├──► slot ──► arrays
our own key ────┘                    a ─ (b) ─ c ─ d     b was removed before c: it stays
                                                         as a hole, and matches end before it
```
Invariants (`check`):
1. every slot is reached by one key and at most one hash; its parent is a slot, one less deep;
2. a slot without a tier is a hole: it has children;
3. `holes` has each hole; `fast_holes` each slot that is not in the fast tier and has a child there.

So along a prompt's keys presence is monotone up to the first hole among them, and bisection finds
where it ends. Everything is kept in integers, which the garbage collector does not visit.

The tables by key and by hash are each in 256 parts, so that one that grows, or goes, holds nobody
up for more than a fraction of a millisecond; and blocks are forgotten one by one as room is needed.

Costs: `put` 2 us; `leading` 3 us however long the prompt, plus 50 ns a hole; to forget one 2 us,
and each time that thousands are chosen 5 ms; 250 bytes a block, 315 after long churn at the bound.
"""

from array import array
from collections import Counter

from stemcache.gateway.oldest import oldest_leaves

__all__ = ["FAST", "NO_PARENT", "BlockTable"]

NO_PARENT = -1
"""In the place of a parent's slot: the block begins a prompt."""

FAST = 1
"""The bit of the tier that is computed from; others are 2 to 128."""

_MOST_COPIES = 2**16 - 1
_SHED_SLOTS = 2**16
_SHED_ENTRIES = 64
_PARTS = 256
_PART = _PARTS - 1


class BlockTable:
    """At most so many slots; of what does not fit, the caller is told."""

    def __init__(self, most_blocks: int) -> None:
        self.most_blocks = most_blocks
        self.dropped = 0
        """Blocks forgotten to make room."""
        self.rehashed = 0
        """Hashes that came to mean another prompt."""
        self._by_hash: list[dict[int, int]] = [{} for _ in range(_PARTS)]
        self._by_key: list[dict[int, int]] = [{} for _ in range(_PARTS)]
        self._known = 0
        self._free = array("i")
        self._oldest = array("i")
        """Slots to forget next, from the last on, as they were at `_oldest_at`."""
        self._oldest_at = 0
        self._parent = array("i")
        self._depth = array("I")
        self._children = array("I")
        self._fast_children = array("I")
        self._tiers = bytearray()
        self._copies = array("H")
        self._key = array("Q")
        self._hash = array("Q")
        self._age = array("Q")
        self._columns: tuple[array[int] | bytearray, ...] = (
            self._parent,
            self._depth,
            self._children,
            self._fast_children,
            self._tiers,
            self._copies,
            self._key,
            self._hash,
            self._age,
            self._free,
        )
        self._clock = 0
        self._held = 0
        self._slow_only = 0
        self._holes: dict[int, int] = {}
        self._fast_holes: dict[int, int] = {}

    def __len__(self) -> int:
        """Blocks that are in some tier."""
        return self._held

    @property
    def full(self) -> bool:
        """Whether no further slot fits."""
        return self._known >= self.most_blocks

    @property
    def all_fast(self) -> bool:
        """Whether every block is in the fast tier."""
        return not self._slow_only

    def slot(self, theirs: int) -> int | None:
        """Of the block of this hash; a hole has one too."""
        return self._by_hash[theirs & _PART].get(theirs)

    def key(self, slot: int) -> bytes:
        """Its key, as the parent of further ones."""
        return self._key[slot].to_bytes(8, "little")

    def leading(self, keys: list[int], end: int, *, fast: bool) -> int:
        """How many of `keys[:end]`, from the first on, are in the fast tier, or in any."""
        slots, tiers = self._by_key, self._tiers
        mask, holes = (FAST, self._fast_holes) if fast else (0xFF, self._holes)
        if len(holes) > end:
            for at in range(end):
                key = keys[at]
                slot = slots[key & _PART].get(key)
                if slot is None or not tiers[slot] & mask:
                    return at
            return end
        for key, at in holes.items():
            if at < end and keys[at] == key:
                end = at
        # All before `low` are here. The first guess is the last one: a whole match is common.
        low, middle = 0, end - 1
        while low < end:
            key = keys[middle]
            slot = slots[key & _PART].get(key)
            if slot is not None and tiers[slot] & mask:
                low = middle + 1
            else:
                end = middle
            middle = (low + end) // 2
        return low

    def put(self, own: int, theirs: int, above: int, bit: int) -> int:
        """The block's slot, made if there is none, with one more copy in the tier.

        There must be room.
        """
        slot = self._by_key[own & _PART].get(own)
        hashes = self._by_hash[theirs & _PART]
        before = hashes.get(theirs)
        if slot is None:
            slot = self._new(own, above, bit)
        elif before == slot:
            self.place(slot, bit)
            return slot
        else:
            # Another hash of the same prompt: the engine has begun anew.
            self._forget_hash(slot)
            if bit == FAST:
                self._copies[slot] = 0
            self.place(slot, bit)
        if before is not None:
            # One hash for another prompt: so it has, or it does not hash salts.
            self.rehashed += 1
            del hashes[theirs]
            self._set_tiers(before, 0)
        hashes[theirs] = slot
        self._hash[slot] = theirs
        return slot

    def place(self, slot: int, bit: int) -> None:
        """One more copy of a known block in a tier."""
        self._clock += 1
        self._age[slot] = self._clock
        if bit == FAST:
            # An engine that computes one block twice at a time says so twice, and removes it twice.
            self._copies[slot] = min(self._copies[slot] + 1, _MOST_COPIES)
        if not self._tiers[slot] & bit:
            self._set_tiers(slot, self._tiers[slot] | bit)

    def take(self, slot: int, bit: int) -> None:
        """One copy fewer in a tier. The slot may be gone afterwards."""
        if bit == FAST and self._copies[slot] > 1:
            self._copies[slot] -= 1
        else:
            self._set_tiers(slot, self._tiers[slot] & ~bit)

    def hold(self, slot: int) -> None:
        """Keep a slot until `let_go`, whatever is dropped."""
        self._children[slot] += 1

    def let_go(self, slot: int) -> None:
        """The end of `hold`."""
        self._children[slot] -= 1
        self._release(slot)

    def make_room(self, keys: list[int]) -> int:
        """How many of these blocks fit, once whole old tails have gone where the bound asks it."""
        known, parts = self._known, self._by_key
        if known + len(keys) <= self.most_blocks:
            return len(keys)
        over = known + sum(key not in parts[key & _PART] for key in keys) - self.most_blocks
        if over > 0:
            self._drop(min(known, over))
        left = self.most_blocks - self._known
        for at, key in enumerate(keys):
            if key not in parts[key & _PART]:
                if not left:
                    return at
                left -= 1
        return len(keys)

    def shrink(self, most_blocks: int, *, step: int) -> bool:
        """Go by at most so many blocks towards another bound; whether it is not reached yet.

        The arrays, some 45 bytes a block, stay as long as they were.
        """
        if self._known > most_blocks:
            self._drop(min(step, self._known - most_blocks))
        self.most_blocks = max(most_blocks, self._known)
        return self._known > most_blocks

    def shed(self) -> bool:
        """Free a piece of a table that is used no more; whether there is more.

        1 ms for one of a million blocks.
        """
        if len(self._by_key) > 1:
            self._by_key.pop()
            self._by_hash.pop()
            return True
        # Every part has objects in every arena of the allocator, which gives them back with the
        # last ones: so those go a few at a time.
        for part in (*self._by_key, *self._by_hash):
            for _ in range(min(len(part), _SHED_ENTRIES)):
                part.popitem()
        if self._by_key[0] or self._by_hash[0]:
            return True
        for column in self._columns:
            if column:
                # In halves: millions of pages are not given back at once.
                del column[len(column) // 2 if len(column) > _SHED_SLOTS else 0 :]
                return True
        return False

    def _drop(self, count: int) -> None:
        """Forget so many blocks, tail by tail, those first whose last block is the oldest."""
        goal = self._known - count
        while self._known > goal:
            if not self._oldest:
                self._oldest = oldest_leaves(self._children, self._tiers, self._age)
                self._oldest_at = self._clock
                if not self._oldest:
                    return
            slot = self._oldest.pop()
            if self._age[slot] > self._oldest_at:
                continue  # it was used since, or is another block by now
            while slot != NO_PARENT and self._tiers[slot] and not self._children[slot]:
                if self._known <= goal:
                    self._oldest.append(slot)  # to go on with this tail
                    return
                above = self._parent[slot]
                above_is_hole = above != NO_PARENT and not self._tiers[above]
                self.dropped += 1
                self._set_tiers(slot, 0)
                if above_is_hole:
                    break  # it may have gone along
                slot = above

    def _new(self, own: int, above: int, bit: int) -> int:
        """A slot for a block that was not known, in one tier; its hash is the caller's to give."""
        depth = 0 if above == NO_PARENT else self._depth[above] + 1
        fast = bit == FAST
        self._clock += 1
        if self._free:
            slot = self._free.pop()
            self._parent[slot], self._depth[slot], self._key[slot] = above, depth, own
            self._tiers[slot], self._copies[slot], self._age[slot] = bit, fast, self._clock
        else:
            slot = len(self._tiers)
            self._parent.append(above)
            self._depth.append(depth)
            self._key.append(own)
            self._hash.append(0)
            self._age.append(self._clock)
            self._children.append(0)
            self._fast_children.append(0)
            self._copies.append(fast)
            self._tiers.append(bit)
        self._by_key[own & _PART][own] = slot
        self._known += 1
        self._held += 1
        self._slow_only += not fast
        if above != NO_PARENT:
            self._children[above] += 1
            if fast:
                self._fast_child(above, 1)
        return slot

    def _set_tiers(self, slot: int, tiers: int) -> None:
        """Change where a block is; frees its slot, and holes above it, where nothing is left."""
        before = self._tiers[slot]
        self._tiers[slot] = tiers
        own = self._key[slot]
        if (before ^ tiers) & FAST:
            if tiers & FAST:
                self._fast_holes.pop(own, None)
            else:
                self._copies[slot] = 0
                if self._fast_children[slot]:
                    self._fast_holes[own] = self._depth[slot]
            above = self._parent[slot]
            if above != NO_PARENT:
                self._fast_child(above, 1 if tiers & FAST else -1)
        self._held += (tiers != 0) - (before != 0)
        self._slow_only += (tiers > 0 and not tiers & FAST) - (before > 0 and not before & FAST)
        if tiers:
            self._holes.pop(own, None)
        elif self._children[slot]:
            self._holes[own] = self._depth[slot]
        else:
            self._release(slot)

    def _fast_child(self, slot: int, change: int) -> None:
        """One more, or one fewer, of a block's children is in the fast tier."""
        self._fast_children[slot] += change
        if not self._tiers[slot] & FAST:
            if self._fast_children[slot]:
                self._fast_holes[self._key[slot]] = self._depth[slot]
            else:
                self._fast_holes.pop(self._key[slot], None)

    def _release(self, slot: int) -> None:
        while slot != NO_PARENT and not self._tiers[slot] and not self._children[slot]:
            own = self._key[slot]
            self._holes.pop(own, None)
            del self._by_key[own & _PART][own]
            self._known -= 1
            self._forget_hash(slot)
            self._free.append(slot)
            slot = self._parent[slot]
            if slot != NO_PARENT:
                self._children[slot] -= 1

    def _forget_hash(self, slot: int) -> None:
        theirs = self._hash[slot]
        hashes = self._by_hash[theirs & _PART]
        if hashes.get(theirs) == slot:
            del hashes[theirs]

    def check(self) -> None:
        """Verify every invariant; linear. For tests, and servers when idle."""
        children: Counter[int] = Counter()
        fast: Counter[int] = Counter()
        by_key = {key: slot for part in self._by_key for key, slot in part.items()}
        by_hash = {theirs: slot for part in self._by_hash for theirs, slot in part.items()}
        assert len(by_key) == self._known, "blocks known"
        for key, slot in by_key.items():
            assert self._key[slot] == key, f"slot {slot} is not that of its key"
            above = self._parent[slot]
            if above != NO_PARENT:
                assert by_key.get(self._key[above]) == above, f"{slot} has lost its parent"
                assert self._depth[slot] == self._depth[above] + 1, f"{slot} is at a wrong depth"
                children[above] += 1
                fast[above] += bool(self._tiers[slot] & FAST)
        for theirs, slot in by_hash.items():
            assert self._hash[slot] == theirs, f"slot {slot} is not that of its hash"
        slots = set(by_key.values())
        assert slots >= set(by_hash.values()), "a hash leads to no slot"
        for slot in slots:
            assert self._children[slot] == children[slot], f"slot {slot} miscounts its children"
            assert self._fast_children[slot] == fast[slot], f"slot {slot} miscounts fast children"
            assert self._tiers[slot] or children[slot], f"slot {slot} holds nothing"
            is_fast = bool(self._tiers[slot] & FAST)
            assert is_fast == bool(self._copies[slot]), f"slot {slot} miscounts its copies"
        depths = {slot: self._depth[slot] for slot in slots}
        holes = {self._key[slot]: depths[slot] for slot in slots if not self._tiers[slot]}
        assert self._holes == holes, "holes"
        assert self._fast_holes == {
            self._key[slot]: depths[slot]
            for slot in slots
            if fast[slot] and not self._tiers[slot] & FAST
        }, "holes of the fast tier"
        held = [self._tiers[slot] for slot in slots if self._tiers[slot]]
        assert self._held == len(held), "blocks held"
        assert self._slow_only == sum(1 for one in held if not one & FAST), "slow blocks"
        assert len(slots) + len(self._free) == len(self._tiers), "slots lost"
        assert len(slots) <= self.most_blocks, "more blocks than the bound"
