"""A dumb twin of the indexes: a dictionary of prefixes that always tells the truth.

It writes every use along the whole path at once and looks at every block to find a victim, so it
shares neither the lazy states nor the heap of the real ones. Policies are spelt out here a second
time, from their documentation.
"""

from dataclasses import dataclass, field

from stemcache.core.tokens import Chain

Path = tuple[tuple[bytes | None, tuple[int, ...]], ...]


@dataclass
class Record:
    value: int
    entered: int
    last: int
    priority: int
    age: int
    uses: int = 0


@dataclass(eq=False)
class TwinLease:
    path: Path


@dataclass
class Twin:
    policy: str
    blocks: dict[Path, Record] = field(default_factory=dict)
    leases: list[TwinLease] = field(default_factory=list)
    seq: int = 0
    age: int = 0

    def match(self, chain: Chain, max_blocks: int | None = None) -> int:
        return len(self._longest(chain, max_blocks))

    def pin(self, chain: Chain, max_blocks: int | None = None, priority: int = 0) -> TwinLease:
        path = self._longest(chain, max_blocks)
        if path:
            self.seq += 1
            for record in self._records(path):
                record.uses += 1
                self._touch(record, priority)
        lease = TwinLease(path)
        self.leases.append(lease)
        return lease

    def release(self, lease: TwinLease) -> None:
        self.leases.remove(lease)

    def values(self, lease: TwinLease) -> list[int]:
        return [record.value for record in self._records(lease.path)]

    def insert(
        self, chain: Chain, values: list[int], lease: TwinLease | None = None, priority: int = 0
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
            for record in self._records(path[:start]):
                self._touch(record, priority)
            for at in range(start, stop):
                self.blocks[path[: at + 1]] = Record(
                    values[at - base], self.seq, self.seq, priority, self.age
                )
        if lease:
            lease.path = path[:stop]
        return start, values[: start - base], existing

    def evict(self, count: int) -> list[int]:
        victims: list[int] = []
        while len(victims) < count:
            leaves = [path for path in self.blocks if self._free(path)]
            if not leaves:
                break
            victim = min(leaves, key=lambda path: self._rank(self.blocks[path]))
            record = self.blocks.pop(victim)
            self.age = max(self.age, record.uses + record.age)
            victims.append(record.value)
        return victims

    def remove(self, chain: Chain) -> tuple[set[int], int]:
        top = path_of(chain)
        if top and top not in self.blocks:
            return set(), 0
        inside = [path for path in self.blocks if path[: len(top)] == top]
        inside = [path for path in inside if len(path) >= max(len(top), 1)]
        pinned = self.pinned()
        gone = [path for path in inside if path not in pinned]
        return {self.blocks.pop(path).value for path in gone}, len(inside) - len(gone)

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

    def _touch(self, record: Record, priority: int) -> None:
        record.last = self.seq
        record.priority = max(record.priority, priority)
        record.age = self.age

    def _free(self, path: Path) -> bool:
        followed = any(
            len(other) > len(path) and other[: len(path)] == path for other in self.blocks
        )
        return not followed and path not in self.pinned()

    def _rank(self, record: Record) -> tuple[int, ...]:
        return {
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
