"""What one seat holds, according to its own KV events.

```
engine's hash ──┐                        slot: parent · depth · children · tiers · copies · age
                ├──► slot ──► arrays
our own key ────┘                        a ─ (b) ─ c ─ d     b was removed before c: it stays
                                                             as a hole, and matches end before it
aside: blocks whose parent is not known (yet), by the parent's hash
```
Engines hash blocks each in their own way; requests are matched by our own keys (`gateway/keys.py`),
which are computed here from the tokens in the events. A prompt that begins with an adapter and a
salt begins with `root_key(adapter, salt)`, as a request's does. What else an engine hashed into a
block (the digest of an image) is appended to the block's tokens, so that such a block and all
behind it match no request that has the tokens alone.

Invariants (`check`):
1. every slot is reached by one key and at most one hash; its parent is a slot;
2. a slot without a tier is a hole: it has children;
3. `holes` has each hole; `fast_holes` each slot that is not in the fast tier and has a child there.

So along a prompt's keys presence is monotone up to the first hole among them, and bisection finds
where it ends. Everything is kept in integers, which the garbage collector does not visit.

Costs: `apply` about 2 us a block; `held` a few us however long the prompt, plus 50 ns a hole; about
300 bytes a block.
"""

from array import array
from collections import Counter, OrderedDict
from dataclasses import dataclass

import numpy as np

from stemcache.gateway.keys import Keys, extend_keys, root_key
from stemcache.gateway.kv_events import FAST_TIER, Batch, Cleared, Removed, Stored

__all__ = ["Held", "Holdings"]

_NO_PARENT = -1
_FAST = 1
_MOST_COPIES = 2**16 - 1
_ASIDE_BYTES_PER_BLOCK = 64
_ASIDE_ENTRY_BYTES = 400


@dataclass(frozen=True, slots=True)
class Held:
    """How much of a prompt's beginning a seat holds, in units of its keys."""

    fast_units: int
    """In the tier that it computes from."""
    any_units: int
    """In some tier."""


@dataclass(slots=True)
class _Aside:
    parent: int
    unit: bytes
    places: int


class Holdings:
    """One seat's blocks. Not thread-safe."""

    def __init__(self, *, most_blocks: int) -> None:
        assert most_blocks > 0, f"a bound of {most_blocks} blocks"
        self._most_blocks = most_blocks
        self.counts: Counter[str] = Counter()
        """What was done and what was left out: stored, removed, cleared, adopted; dropped (over the
        bound), aside_dropped, removed_unknown, rehashed, other_group, other_size, misshapen."""
        self.block_tokens: int | None = None
        """Learned from events; None before the first."""
        self._tiers = {FAST_TIER: _FAST}
        self._groups_left_out: set[int] = set()
        self._reset()

    def _reset(self) -> None:
        self._group: int | None = None
        self._by_hash: dict[int, int] = {}
        self._by_key: dict[int, int] = {}
        self._free: list[int] = []
        self._parent = array("i")
        self._depth = array("I")
        self._children = array("I")
        self._fast_children = array("I")
        self._places = bytearray()
        self._copies = array("H")
        self._key = array("Q")
        self._hash = array("Q")
        self._age = array("Q")
        self._clock = 0
        self._present = 0
        self._slow_only = 0
        self._holes: dict[int, int] = {}
        self._fast_holes: dict[int, int] = {}
        self._aside: OrderedDict[int, _Aside] = OrderedDict()
        self._waiting: dict[int, dict[int, None]] = {}
        self._aside_bytes = 0

    def __len__(self) -> int:
        """Blocks held in some tier and known by their keys."""
        return self._present

    @property
    def aside(self) -> int:
        """Blocks known to be held whose beginning is not known, so that they match nothing."""
        return len(self._aside)

    def clear(self) -> None:
        """Nothing is held. The block size stays as learned until other events say otherwise."""
        self._reset()
        self.counts["cleared"] += 1

    def apply(self, batch: Batch) -> None:
        """Take over a batch, in order. Never raises: what does not fit is counted and left out."""
        for event in batch.events:
            if isinstance(event, Stored):
                self._stored(event)
            elif isinstance(event, Removed):
                self._removed(event)
            elif isinstance(event, Cleared):
                self.clear()

    def held(self, keys: Keys) -> Held:
        """How much of the prompt's beginning is here. Pure; a few us."""
        if not keys.exact or keys.unit != self.block_tokens:
            return Held(0, 0)
        some = self._leading(keys.keys, len(keys.keys), 0xFF, self._holes)
        if not some or not self._slow_only:
            return Held(some, some)
        return Held(self._leading(keys.keys, some, _FAST, self._fast_holes), some)

    def _leading(self, keys: list[int], end: int, mask: int, holes: dict[int, int]) -> int:
        """How many of `keys[:end]` from the first on are in a tier of `mask`."""
        slots, places = self._by_key, self._places
        if len(holes) > end:
            for at in range(end):
                slot = slots.get(keys[at])
                if slot is None or not places[slot] & mask:
                    return at
            return end
        for key, at in holes.items():
            if at < end and keys[at] == key:
                end = at
        # All before `low` are here. Its first guess is the last: a whole match is common.
        low, middle = 0, end - 1
        while low < end:
            slot = slots.get(keys[middle])
            if slot is not None and places[slot] & mask:
                low = middle + 1
            else:
                end = middle
            middle = (low + end) // 2
        return low

    # events

    def _stored(self, event: Stored) -> None:
        bit = self._bit(event.tier)
        if not event.tokens:
            for one in event.hashes:
                self._moved(one, bit)
            return
        count, width = len(event.hashes), 4 * event.block_tokens
        misshapen = len(event.tokens) != count * width
        if not self._indexed(event, misshapen=misshapen):
            return
        if self.block_tokens != event.block_tokens:
            if self._by_key or self._aside:
                self.counts["other_size"] += count
                return
            self.block_tokens = event.block_tokens
        units = [event.tokens[at : at + width] for at in range(0, count * width, width)]
        if event.extras:
            units = [
                unit if extra is None else unit + extra
                for unit, extra in zip(units, (*event.extras, *[None] * count), strict=False)
            ]
        if event.parent is None:
            above, root = _NO_PARENT, root_key(event.adapter, event.salt)
        else:
            slot = self._by_hash.get(event.parent)
            if slot is None:
                self._set_aside(event.parent, event.hashes, units, bit)
                return
            above, root = slot, self._key[slot].to_bytes(8, "little")
        keys: list[int] = []
        extend_keys(keys, root, units[: self._most_blocks])
        if above != _NO_PARENT:
            self._children[above] += 1  # so that it stays while room is made
        room = self._make_room(keys)
        last = above
        for own, theirs in zip(keys[:room], event.hashes, strict=False):
            last = self._put(own, theirs, last, bit)
        if above != _NO_PARENT:
            self._children[above] -= 1
            self._release(above)
        self.counts["stored"] += room
        if room < count:
            self.counts["dropped"] += count - room
        if self._waiting:
            for theirs in event.hashes[:room]:
                self._adopt(theirs)

    def _indexed(self, event: Stored, *, misshapen: bool) -> bool:
        """Whether the event is of the layers that prompts are matched by."""
        group = event.group or 0
        if event.full_attention is False or (misshapen and event.group is not None):
            # Windows forget what is behind them and skip blocks: of no use for a whole prefix.
            self._groups_left_out.add(group)
            if self._group == group:
                self.clear()
        if group in self._groups_left_out or self._group not in {None, group}:
            self.counts["other_group"] += len(event.hashes)
            return False
        if misshapen:
            self.counts["misshapen"] += len(event.hashes)
            return False
        self._group = group
        return True

    def _moved(self, theirs: int, bit: int) -> None:
        """A block is in a tier, said without its tokens: of use where it is known already."""
        slot = self._by_hash.get(theirs)
        if slot is not None:
            self._place(slot, bit)
        elif theirs in self._aside:
            self._aside[theirs].places |= bit
        else:
            self.counts["stored_unknown"] += 1

    def _removed(self, event: Removed) -> None:
        if event.group is not None and event.group != self._group:
            self.counts["other_group"] += len(event.hashes)
            return
        bit = self._bit(event.tier)
        for theirs in event.hashes:
            slot = self._by_hash.get(theirs)
            if slot is not None:
                if bit == _FAST and self._copies[slot] > 1:
                    self._copies[slot] -= 1
                else:
                    self._set_places(slot, self._places[slot] & ~bit)
                self.counts["removed"] += 1
            elif theirs in self._aside:
                entry = self._aside[theirs]
                entry.places &= ~bit
                if not entry.places:
                    self._forget_aside(theirs)
                self.counts["removed"] += 1
            else:
                self.counts["removed_unknown"] += 1

    def _bit(self, tier: str) -> int:
        bit = self._tiers.get(tier)
        if bit is None:
            # Of more tiers than bits, the last ones share one; the table itself stays short.
            bit = 1 << min(len(self._tiers), 7)
            if len(self._tiers) < 8:
                self._tiers[tier] = bit
        return bit

    # slots

    def _put(self, own: int, theirs: int, above: int, bit: int) -> int:
        """The block's slot, made if there is none, with one more copy in the tier."""
        slot = self._by_key.get(own)
        before = self._by_hash.get(theirs)
        if slot is None:
            slot = self._new(own, above, bit)
        elif before == slot:
            self._place(slot, bit)
            return slot
        else:
            # Another hash of the same prompt: the engine has begun anew.
            if self._by_hash.get(self._hash[slot]) == slot:
                del self._by_hash[self._hash[slot]]
            if bit == _FAST:
                self._copies[slot] = 0
            self._place(slot, bit)
        if before is not None:
            # One hash for another prompt: so it has, or it does not hash salts.
            self.counts["rehashed"] += 1
            del self._by_hash[theirs]
            self._set_places(before, 0)
        self._by_hash[theirs] = slot
        self._hash[slot] = theirs
        if theirs in self._aside:
            self._place_all(slot, self._forget_aside(theirs).places)
        return slot

    def _place_all(self, slot: int, places: int) -> None:
        for at in range(8):
            if places >> at & 1:
                self._place(slot, 1 << at)

    def _place(self, slot: int, bit: int) -> None:
        self._clock += 1
        self._age[slot] = self._clock
        if bit == _FAST:
            # An engine that computes one block twice at a time says so twice, and removes it twice.
            self._copies[slot] = min(self._copies[slot] + 1, _MOST_COPIES)
        if not self._places[slot] & bit:
            self._set_places(slot, self._places[slot] | bit)

    def _new(self, own: int, above: int, bit: int) -> int:
        """A slot for a block that was not known, in one tier; its hash is the caller's to give."""
        depth = 0 if above == _NO_PARENT else self._depth[above] + 1
        fast = bit == _FAST
        self._clock += 1
        if self._free:
            slot = self._free.pop()
            self._parent[slot], self._depth[slot], self._key[slot] = above, depth, own
            self._places[slot], self._copies[slot], self._age[slot] = bit, fast, self._clock
        else:
            slot = len(self._places)
            self._parent.append(above)
            self._depth.append(depth)
            self._key.append(own)
            self._hash.append(0)
            self._age.append(self._clock)
            self._children.append(0)
            self._fast_children.append(0)
            self._copies.append(fast)
            self._places.append(bit)
        self._by_key[own] = slot
        self._present += 1
        self._slow_only += not fast
        if above != _NO_PARENT:
            self._children[above] += 1
            if fast:
                self._fast_child(above, 1)
        return slot

    def _fast_child(self, slot: int, change: int) -> None:
        """One more, or one fewer, of a block's children is in the fast tier."""
        self._fast_children[slot] += change
        if not self._places[slot] & _FAST:
            if self._fast_children[slot]:
                self._fast_holes[self._key[slot]] = self._depth[slot]
            else:
                self._fast_holes.pop(self._key[slot], None)

    def _set_places(self, slot: int, places: int) -> None:
        """Change where a block is; frees its slot, and holes above it, where nothing is left."""
        before = self._places[slot]
        self._places[slot] = places
        own = self._key[slot]
        if (before ^ places) & _FAST:
            if places & _FAST:
                self._fast_holes.pop(own, None)
            else:
                self._copies[slot] = 0
                if self._fast_children[slot]:
                    self._fast_holes[own] = self._depth[slot]
            above = self._parent[slot]
            if above != _NO_PARENT:
                self._fast_child(above, 1 if places & _FAST else -1)
        self._present += (places != 0) - (before != 0)
        self._slow_only += (places > 0 and not places & _FAST) - (before > 0 and not before & _FAST)
        if places:
            self._holes.pop(own, None)
        elif self._children[slot]:
            self._holes[own] = self._depth[slot]
        else:
            self._release(slot)

    def _release(self, slot: int) -> None:
        while slot != _NO_PARENT and not self._places[slot] and not self._children[slot]:
            self._holes.pop(self._key[slot], None)
            del self._by_key[self._key[slot]]
            if self._by_hash.get(self._hash[slot]) == slot:
                del self._by_hash[self._hash[slot]]
            self._free.append(slot)
            slot = self._parent[slot]
            if slot != _NO_PARENT:
                self._children[slot] -= 1

    def _make_room(self, keys: list[int]) -> int:
        """How many of these blocks fit, once whole old tails have gone where the bound asks it."""
        known = len(self._by_key)
        if known + len(keys) <= self._most_blocks:
            return len(keys)
        over = known + sum(key not in self._by_key for key in keys) - self._most_blocks
        if over > 0:
            self._drop(min(known, over + self._most_blocks // 16))
        left = self._most_blocks - len(self._by_key)
        for at, key in enumerate(keys):
            if key not in self._by_key:
                if not left:
                    return at
                left -= 1
        return len(keys)

    def _drop(self, goal: int) -> None:
        """Forget so many blocks, tail by tail, those first whose last block is the oldest."""
        children = np.frombuffer(self._children, np.uint32)
        places = np.frombuffer(self._places, np.uint8)
        ages = np.frombuffer(self._age, np.uint64)
        leaves = np.flatnonzero((children == 0) & (places != 0))
        oldest_first: list[int] = leaves[np.argsort(ages[leaves])].tolist()
        del children, places, ages  # views hold the arrays' memory in place
        goal = len(self._by_key) - goal
        for leaf in oldest_first:
            slot = leaf
            while slot != _NO_PARENT and self._places[slot] and not self._children[slot]:
                if len(self._by_key) <= goal:
                    return
                above = self._parent[slot]
                above_is_hole = above != _NO_PARENT and not self._places[above]
                self.counts["dropped"] += 1
                self._set_places(slot, 0)
                if above_is_hole:
                    break  # it may have gone along
                slot = above

    # blocks whose parent is not known

    def _set_aside(
        self, parent: int, hashes: tuple[int, ...], units: list[bytes], bit: int
    ) -> None:
        known = []
        for theirs, unit in zip(hashes, units, strict=True):
            slot = self._by_hash.get(theirs)
            if slot is not None:
                self._place(slot, bit)
                known.append(theirs)
            elif theirs in self._aside:
                self._aside[theirs].places |= bit
            else:
                self._aside[theirs] = _Aside(parent, unit, bit)
                self._waiting.setdefault(parent, {})[theirs] = None
                self._aside_bytes += len(unit) + _ASIDE_ENTRY_BYTES
            parent = theirs
        for theirs in known:
            self._adopt(theirs)
        while self._aside_bytes > self._most_blocks * _ASIDE_BYTES_PER_BLOCK:
            self._forget_aside(next(iter(self._aside)))
            self.counts["aside_dropped"] += 1

    def _forget_aside(self, theirs: int) -> _Aside:
        entry = self._aside.pop(theirs)
        self._aside_bytes -= len(entry.unit) + _ASIDE_ENTRY_BYTES
        siblings = self._waiting[entry.parent]
        del siblings[theirs]
        if not siblings:
            del self._waiting[entry.parent]
        return entry

    def _adopt(self, parent: int) -> None:
        """Give the blocks that waited for this one their keys, and those that waited for them."""
        found = [parent]
        while found:
            parent = found.pop()
            above = self._by_hash.get(parent)
            for theirs in list(self._waiting.get(parent, ())):
                entry = self._forget_aside(theirs)
                if above is None or len(self._by_key) >= self._most_blocks:
                    self.counts["dropped"] += 1
                    continue
                keys: list[int] = []
                extend_keys(keys, self._key[above].to_bytes(8, "little"), [entry.unit])
                slot = self._put(keys[0], theirs, above, entry.places & -entry.places)
                self._place_all(slot, entry.places & (entry.places - 1))
                self.counts["adopted"] += 1
                found.append(theirs)

    def check(self) -> None:
        """Verify every invariant; linear. For tests, and servers when idle."""
        children: Counter[int] = Counter()
        fast: Counter[int] = Counter()
        for key, slot in self._by_key.items():
            assert self._key[slot] == key, f"slot {slot} is not that of its key"
            above = self._parent[slot]
            if above != _NO_PARENT:
                assert self._by_key.get(self._key[above]) == above, (
                    f"slot {slot} has lost its parent"
                )
                assert self._depth[slot] == self._depth[above] + 1, (
                    f"slot {slot} is at a wrong depth"
                )
                children[above] += 1
                fast[above] += bool(self._places[slot] & _FAST)
        for theirs, slot in self._by_hash.items():
            assert self._hash[slot] == theirs, f"slot {slot} is not that of its hash"
        slots = set(self._by_key.values())
        for slot in slots:
            assert self._children[slot] == children[slot], f"slot {slot} miscounts its children"
            assert self._fast_children[slot] == fast[slot], f"slot {slot} miscounts fast children"
            assert self._places[slot] or children[slot], f"slot {slot} holds nothing"
            is_fast = bool(self._places[slot] & _FAST)
            assert is_fast == bool(self._copies[slot]), f"slot {slot} miscounts its copies"
        depths = {slot: self._depth[slot] for slot in slots}
        assert self._holes == {
            self._key[slot]: depths[slot] for slot in slots if not self._places[slot]
        }, "holes"
        assert self._fast_holes == {
            self._key[slot]: depths[slot]
            for slot in slots
            if fast[slot] and not self._places[slot] & _FAST
        }, "holes of the fast tier"
        places = [self._places[slot] for slot in slots]
        assert self._present == sum(1 for one in places if one), "blocks held"
        assert self._slow_only == sum(1 for one in places if one and not one & _FAST), "slow blocks"
        assert len(slots) + len(self._free) == len(self._places), "slots lost"
        assert len(slots) <= self._most_blocks, "more blocks than the bound"
        waiting = sum(len(siblings) for siblings in self._waiting.values())
        assert waiting == len(self._aside), "blocks aside"
        assert not self._waiting.keys() & self._by_hash.keys(), "a parent has come unnoticed"
