"""What one seat holds, according to its own KV events.

```
Stored ──parent known──► keys of its blocks ──► BlockTable ◄── held(a prompt's keys)
   └─────not known─────► Aside ──the parent comes──┘
Removed ──► one copy fewer, in one tier
```
Engines hash blocks each in their own way; requests are matched by our own keys (`gateway/keys.py`),
which are computed here from the tokens in the events. A prompt that begins with an adapter and a
salt begins with `root_key(adapter, salt)`, as a request's does. What else an engine hashed into a
block (the digest of an image) is appended to the block's tokens, so that such a block and all
behind it match no request that has the tokens alone.

Of a hybrid model's groups of layers the first that attends to everything is followed, and the
others are left out. An engine that does not say what else a prompt depends on (vLLM before
`extra_keys`, SGLang of a request's `extra_key`) is believed to hold for everybody what it holds for
one: a wrong guess, never a wrong answer.
"""

from collections import Counter
from dataclasses import dataclass

from stemcache.gateway.aside import Aside, Waiting
from stemcache.gateway.block_table import FAST, NO_PARENT, BlockTable
from stemcache.gateway.keys import Keys, extend_keys, root_key
from stemcache.gateway.kv_events import FAST_TIER, Batch, Cleared, Removed, Stored

__all__ = ["Held", "Holdings"]

_ASIDE_BYTES_PER_BLOCK = 64
_STEP_BLOCKS = 256
_MOST_GROUPS = 64
"""Left out that are remembered; models have a handful."""


@dataclass(frozen=True, slots=True)
class Held:
    """How much of a prompt's beginning a seat holds, in units of its keys."""

    fast_units: int
    """In the tier that it computes from."""
    any_units: int
    """In some tier."""


class Holdings:
    """One seat's blocks. Not thread-safe."""

    def __init__(self, *, most_blocks: int) -> None:
        """Bound: about 380 bytes a block, what is kept aside included."""
        assert most_blocks > 0, f"a bound of {most_blocks} blocks"
        self._most_blocks = most_blocks
        self._counts: Counter[str] = Counter()
        self.block_tokens: int | None = None
        """Learned from events; None before the first."""
        self._tiers = {FAST_TIER: FAST}
        self._groups_left_out: set[int] = set()
        self._group: int | None = None
        self._table = BlockTable(most_blocks)
        self._aside = Aside(most_blocks * _ASIDE_BYTES_PER_BLOCK)
        self._gone: list[BlockTable | Aside] = []
        """Used no more, and freed piece by piece."""

    def __len__(self) -> int:
        """Blocks held in some tier and known by their keys."""
        return len(self._table)

    @property
    def aside(self) -> int:
        """Blocks known to be held whose beginning is not known, so that they match nothing."""
        return len(self._aside)

    @property
    def counts(self) -> Counter[str]:
        """What was done and what was left out, in blocks.

        stored, removed, adopted, cleared (times); dropped (over the bound), aside_dropped,
        removed_unknown, stored_unknown, rehashed, other_group, other_size, misshapen.
        """
        table = Counter(dropped=self._table.dropped, rehashed=self._table.rehashed)
        return self._counts + table

    def limit(self, most_blocks: int) -> None:
        """Another bound. A lower one is come to in steps of `tend`, which `apply` takes as well."""
        assert most_blocks > 0, f"a bound of {most_blocks} blocks"
        self._most_blocks = most_blocks

    def tend(self) -> bool:
        """A step of what is put off, to free memory or keep a bound; whether there is more.

        About half a millisecond, and half a microsecond where nothing is.
        """
        if self._gone and not self._gone[-1].shed():
            self._gone.pop()
        most, aside = self._most_blocks, self._most_blocks * _ASIDE_BYTES_PER_BLOCK
        more = self._table.shrink(most, step=_STEP_BLOCKS)
        went = self._aside.shrink(aside, step=_STEP_BLOCKS)
        if went:
            self._counts["aside_dropped"] += went
        return more or went == _STEP_BLOCKS or bool(self._gone)

    def clear(self) -> None:
        """Nothing is held. The block size stays as learned until other events say otherwise."""
        self._groups_left_out.clear()
        self._empty()

    def _empty(self) -> None:
        self._counts = self.counts
        self._counts["cleared"] += 1
        self._group = None
        self._gone += [old for old in (self._table, self._aside) if len(old)]
        self._table = BlockTable(self._most_blocks)
        self._aside = Aside(self._most_blocks * _ASIDE_BYTES_PER_BLOCK)

    def apply(self, batch: Batch) -> None:
        """Take over a batch, in order. Never raises: what does not fit is counted and left out.

        About 4 us a block; 5 ms more each time that thousands of old blocks are chosen to go.
        """
        self.tend()
        for event in batch.events:
            if isinstance(event, Stored):
                self._stored(event)
            elif isinstance(event, Removed):
                self._removed(event)
            elif isinstance(event, Cleared):
                self.clear()

    def held(self, keys: Keys) -> Held:
        """How much of the prompt's beginning is here. Pure; 3 us, twice that with two tiers."""
        if not keys.exact or keys.unit != self.block_tokens:
            return Held(0, 0)
        table = self._table
        some = table.leading(keys.keys, len(keys.keys), fast=False)
        if not some or table.all_fast:
            return Held(some, some)
        return Held(table.leading(keys.keys, some, fast=True), some)

    def _stored(self, event: Stored) -> None:
        bit = self._bit(event.tier)
        if not event.tokens:
            for theirs in event.hashes:
                self._moved(theirs, bit)
            return
        count, width = len(event.hashes), 4 * event.block_tokens
        if not self._indexed(event, misshapen=len(event.tokens) != count * width):
            return
        units = [event.tokens[at : at + width] for at in range(0, count * width, width)]
        for at, extra in enumerate(event.extras[:count]):
            if extra is not None:
                units[at] += extra
        if event.parent is None:
            self._put(event.hashes, units, NO_PARENT, root_key(event.adapter, event.salt), bit)
            return
        above = self._table.slot(event.parent)
        if above is None:
            self._set_aside(event.parent, event.hashes, units, bit)
        else:
            self._put(event.hashes, units, above, self._table.key(above), bit)

    def _indexed(self, event: Stored, *, misshapen: bool) -> bool:
        """Whether the event is of the layers and the block size that prompts are matched by."""
        group = event.group or 0
        windowed = event.full_attention is False or (misshapen and event.group is not None)
        if windowed:
            # Windows forget what is behind them and skip blocks: of no use for a whole prefix.
            if len(self._groups_left_out) < _MOST_GROUPS:
                self._groups_left_out.add(group)
            if self._group == group:
                self._empty()
        left_out = None
        if windowed or group in self._groups_left_out or self._group not in {None, group}:
            left_out = "other_group"
        elif misshapen:
            left_out = "misshapen"
        elif event.block_tokens != self.block_tokens and (len(self._table) or len(self._aside)):
            left_out = "other_size"
        if left_out is not None:
            self._counts[left_out] += len(event.hashes)
            return False
        self._group = group
        self.block_tokens = event.block_tokens
        return True

    def _put(
        self, hashes: tuple[int, ...], units: list[bytes], above: int, root: bytes, bit: int
    ) -> None:
        """Store a run behind a slot whose key is `root`, as far as there is room."""
        table = self._table
        keys: list[int] = []
        extend_keys(keys, root, units[: table.most_blocks])
        if above != NO_PARENT:
            table.hold(above)  # while room is made
        room = table.make_room(keys)
        last = above
        for own, theirs in zip(keys[:room], hashes, strict=False):
            last = table.put(own, theirs, last, bit)
        if above != NO_PARENT:
            table.let_go(above)
        self._counts["stored"] += room
        self._counts["dropped"] += len(hashes) - room
        if len(self._aside):
            for theirs in hashes[:room]:
                self._merge(theirs)
                self._adopt(theirs)

    def _moved(self, theirs: int, bit: int) -> None:
        """A block is in a tier, said without its tokens: of use where it is known already."""
        slot, waiting = self._table.slot(theirs), self._aside.get(theirs)
        if slot is not None:
            self._table.place(slot, bit)
        elif waiting is not None:
            waiting.tiers |= bit
        else:
            self._counts["stored_unknown"] += 1

    def _removed(self, event: Removed) -> None:
        if event.group is not None and event.group != self._group:
            self._counts["other_group"] += len(event.hashes)
            return
        bit = self._bit(event.tier)
        for theirs in event.hashes:
            slot, waiting = self._table.slot(theirs), self._aside.get(theirs)
            if slot is not None:
                self._table.take(slot, bit)
            elif waiting is not None:
                waiting.tiers &= ~bit
                if not waiting.tiers:
                    self._aside.pop(theirs)
            else:
                self._counts["removed_unknown"] += 1
                continue
            self._counts["removed"] += 1

    def _bit(self, tier: str) -> int:
        bit = self._tiers.get(tier)
        if bit is None:
            # Of more tiers than bits, the last ones share one; the table itself stays short.
            bit = 1 << min(len(self._tiers), 7)
            if len(self._tiers) < 8:
                self._tiers[tier] = bit
        return bit

    def _set_aside(
        self, parent: int, hashes: tuple[int, ...], units: list[bytes], bit: int
    ) -> None:
        known = []
        for theirs, unit in zip(hashes, units, strict=True):
            slot, waiting = self._table.slot(theirs), self._aside.get(theirs)
            if slot is not None:
                self._table.place(slot, bit)
                known.append(theirs)
            elif waiting is not None:
                waiting.tiers |= bit
            else:
                self._aside.add(theirs, Waiting(parent, unit, bit))
            parent = theirs
        for theirs in known:
            self._adopt(theirs)
        self._counts["aside_dropped"] += self._aside.trim()

    def _merge(self, theirs: int) -> None:
        """A block that waited was stored again, behind a known parent."""
        slot = self._table.slot(theirs)
        if slot is not None and self._aside.get(theirs) is not None:
            self._place(slot, self._aside.pop(theirs).tiers)

    def _adopt(self, parent: int) -> None:
        """Give the blocks that waited for this one their keys, and those that waited for them."""
        table, found = self._table, [parent]
        while found:
            parent = found.pop()
            above = table.slot(parent)
            for theirs in self._aside.children(parent):
                waiting = self._aside.pop(theirs)
                if above is None or table.full:
                    self._counts["dropped"] += 1
                    continue
                keys: list[int] = []
                extend_keys(keys, table.key(above), [waiting.unit])
                first = waiting.tiers & -waiting.tiers
                slot = table.put(keys[0], theirs, above, first)
                self._place(slot, waiting.tiers & ~first)
                self._counts["adopted"] += 1
                found.append(theirs)

    def _place(self, slot: int, tiers: int) -> None:
        for at in range(8):
            if tiers >> at & 1:
                self._table.place(slot, 1 << at)

    def check(self) -> None:
        """Verify every invariant; linear. For tests, and servers when idle."""
        self._table.check()
        self._aside.check()
        for parent in self._aside.parents():
            assert self._table.slot(parent) is None, "a parent has come unnoticed"
