"""A dumb twin of the indexes: a dictionary of prefixes that always tells the truth.

It writes every use along the whole path at once and looks at every block to find a victim, so it
shares neither the lazy states nor the heap of the real ones. Policies are spelt out here a second
time, from their documentation; those that follow requests are asked themselves, block by block,
since what they are told, when, and in which order is what the indexes can get wrong.
"""

from dataclasses import dataclass, field
from typing import Any

from stemcache.core.hashing import BlockKey
from stemcache.core.index import RequestPolicy, Stamp
from stemcache.core.tokens import Chain
from stemcache.policy import evict

Path = tuple[tuple[bytes | None, tuple[int, ...]], ...]


@dataclass
class Record:
    value: int
    entered: int
    last: int
    priority: int
    age: float
    deepest: int
    uses: int = 0
    state: Any = None
    """Of a policy that follows requests: what was told of this block alone, and inherited."""


@dataclass(eq=False)
class TwinLease:
    path: Path
    own: Any = None


@dataclass
class Twin:
    policy: str
    blocks: dict[Path, Record] = field(default_factory=dict)
    leases: list[TwinLease] = field(default_factory=list)
    seq: int = 0
    age: float = 0

    def __post_init__(self) -> None:
        policy = evict.make(self.policy)
        self.follower = policy if isinstance(policy, RequestPolicy) else None

    def match(self, chain: Chain, max_blocks: int | None = None) -> int:
        return len(self._longest(chain, max_blocks))

    def pin(
        self, chain: Chain, max_blocks: int | None = None, priority: int = 0, now: float = 0.0
    ) -> TwinLease:
        path = self._longest(chain, max_blocks)
        lease = TwinLease(path)
        if path:
            self.seq += 1
            for record in self._records(path):
                record.uses += 1
                self._touch(record, priority, len(path))
            if self.follower:
                stamp = Stamp(self.seq, now, priority, len(path))
                tip = self.blocks[path]
                lease.own = tip.state = self.follower.used(tip.state, stamp)
        self.leases.append(lease)
        return lease

    def release(self, lease: TwinLease, output_tokens: int | None = None) -> None:
        self.leases.remove(lease)
        if self.follower and lease.own is not None:
            self.follower.ended(lease.own, output_tokens)

    def values(self, lease: TwinLease) -> list[int]:
        return [record.value for record in self._records(lease.path)]

    def insert(
        self,
        chain: Chain,
        values: list[int],
        lease: TwinLease | None = None,
        priority: int = 0,
        now: float = 0.0,
    ) -> tuple[int, list[int], list[int]]:
        path = path_of(chain)
        base = len(lease.path) if lease else 0
        stop = base + len(values)
        start = base
        while start < stop and path[: start + 1] in self.blocks:
            start += 1
        existing = [self.blocks[path[: at + 1]].value for at in range(base, start)]
        if start < stop:
            self.seq += 1
            state = None
            if self.follower:
                stamp = Stamp(self.seq, now, priority, stop)
                first = BlockKey(repr(path[: start + 1]).encode())
                state = self.follower.entered(lease.own if lease else None, stamp, lambda: first)
                if lease:
                    lease.own = state
            for record in self._records(path[:start]):
                self._touch(record, priority, stop)
            for at in range(start, stop):
                self.blocks[path[: at + 1]] = Record(
                    values[at - base], self.seq, self.seq, priority, self.age, stop, state=state
                )
        if lease:
            lease.path = path[:stop]
        return start, values[: start - base], existing

    def evict(self, count: int) -> list[int]:
        victims: list[int] = []
        if count and self.follower:
            self.follower.turned(sum(self._free(path) for path in self.blocks))
        while len(victims) < count:
            leaves = [path for path in self.blocks if self._free(path)]
            if not leaves:
                break
            victim = min(leaves, key=lambda path: self._rank(self.blocks[path]))
            record = self._drop(victim)
            if self.follower:
                self.follower.evicted(record.state)
            self.age = max(self.age, self._rank(record)[0])
            victims.append(record.value)
        return victims

    def remove(self, chain: Chain) -> tuple[set[int], int]:
        top = path_of(chain)
        if top and top not in self.blocks:
            return set(), 0
        inside = [path for path in self.blocks if path[: len(top)] == top]
        inside = [path for path in inside if len(path) >= max(len(top), 1)]
        pinned = self.pinned()
        gone = sorted((path for path in inside if path not in pinned), key=len, reverse=True)
        return {self._drop(path).value for path in gone}, len(inside) - len(gone)

    def pinned(self) -> set[Path]:
        return {lease.path[: n + 1] for lease in self.leases for n in range(len(lease.path))}

    def _longest(self, chain: Chain, max_blocks: int | None) -> Path:
        path = path_of(chain)
        stop = 0
        while stop < len(path) and path[: stop + 1] in self.blocks:
            stop += 1
        return path[: stop if max_blocks is None else min(stop, max_blocks)]

    def _records(self, path: Path) -> list[Record]:
        return [self.blocks[path[: at + 1]] for at in range(len(path))]

    def _drop(self, path: Path) -> Record:
        record = self.blocks.pop(path)
        above = self.blocks.get(path[:-1])
        if self.follower and above:
            above.state = self.follower.inherited(above.state, record.state)
        return record

    def _touch(self, record: Record, priority: int, blocks: int) -> None:
        record.last = self.seq
        record.priority = max(record.priority, priority)
        record.age = self.age
        record.deepest = max(record.deepest, blocks)

    def _free(self, path: Path) -> bool:
        followed = any(
            len(other) > len(path) and other[: len(path)] == path for other in self.blocks
        )
        return not followed and path not in self.pinned()

    def _rank(self, record: Record) -> tuple[float, ...]:
        if self.follower:
            return self.follower.rank(record.state)
        once_more = 1 + record.deepest / (24_576 / 16)
        return {
            "cost": (record.age + (record.uses + 1) * once_more, record.last),
            "fifo": (record.entered,),
            "lru": (record.last,),
            "lfu": (record.uses + record.age, record.last),
            "slru": (int(record.uses > 0), record.last),
            "priority": (record.priority, record.last),
        }[self.policy]


def path_of(chain: Chain) -> Path:
    """The chain's full blocks as the twin names them."""
    size = chain.block_size
    tokens = chain.tokens().tolist()
    return tuple(
        (chain.extra(at), tuple(tokens[at * size : (at + 1) * size])) for at in range(chain.blocks)
    )
