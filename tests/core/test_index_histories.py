"""Both forms against the twin: random histories, every answer and every victim compared."""

import os
from dataclasses import dataclass, field
from random import Random

import pytest

from stemcache.core.events import Event, Removed, Stored
from stemcache.core.hash_index import HashIndex
from stemcache.core.hashing import BlockKey
from stemcache.core.index import Lease
from stemcache.core.radix_index import RadixIndex
from stemcache.core.tokens import Chain
from stemcache.policy import evict
from stemcache.policy.evict import odds
from tests.core.twin import Twin, TwinLease, path_of

HISTORIES = int(os.environ.get("STEMCACHE_HISTORIES", "10000"))
STEPS = 30
CASES = [(policy, size) for policy in evict.NAMES for size in (1, 2, 3, 16)]


@dataclass
class Trio:
    """The twin and both forms, given the same history."""

    policy: str
    block_size: int
    random: Random
    twin: Twin = field(init=False)
    clock: float = 0.0
    value: int = 0

    def __post_init__(self) -> None:
        self.twin = Twin(self.policy)
        self.keys: dict[str, set[BlockKey]] = {"hash": set(), "radix": set()}
        self.parents: dict[BlockKey, BlockKey | None] = {}
        self.hash: HashIndex[int, object] = HashIndex(
            block_size=self.block_size,
            policy=evict.make(self.policy),
            listener=lambda event: self.follow("hash", event),
        )
        self.radix: RadixIndex[int, object] = RadixIndex(
            block_size=self.block_size,
            policy=evict.make(self.policy),
            listener=lambda event: self.follow("radix", event),
        )
        self.leases: list[tuple[TwinLease, Lease[int], Lease[int], Chain]] = []
        self.pool: list[Chain] = []

    def follow(self, form: str, event: Event) -> None:
        if isinstance(event, Stored):
            assert event.parent is None or event.parent in self.keys[form]
            assert not self.keys[form] & set(event.keys)
            assert len(event.tokens) == 4 * self.block_size * len(event.keys)
            assert len(event.extras) == len(event.keys)
            self.keys[form] |= set(event.keys)
            self.parents |= zip(event.keys, (event.parent, *event.keys), strict=False)
        else:
            assert isinstance(event, Removed)
            assert set(event.keys) <= self.keys[form]
            assert len(set(event.keys)) == len(event.keys)
            gone: set[BlockKey] = set()
            for key in event.keys:
                assert self.parents[key] not in gone, "a block left before one that follows it"
                gone.add(key)
            self.keys[form] -= gone
            assert all(self.parents[key] not in gone for key in self.keys[form])

    def chain(self) -> Chain:
        """A chain that often shares a prefix with an earlier one."""
        draw = self.random
        if self.pool and draw.random() < 0.7:
            old = draw.choice(self.pool)
            kept = draw.randint(0, len(old))
            tokens = old.tokens()[:kept].tolist()
        else:
            tokens = []
        size = self.block_size * draw.randint(0, 6) + draw.randint(0, self.block_size - 1)
        tokens += [draw.randint(0, 2) for _ in range(size)]
        extras = {draw.randint(0, 4): draw.choice([b"", b"x"])} if draw.random() < 0.2 else {}
        chain = Chain(
            tokens,
            block_size=self.block_size,
            namespace=draw.choice([b"a", b"a", b"a", b"b"]),
            extras=extras,
        )
        self.pool.append(chain)
        return chain

    def fresh(self, count: int) -> list[int]:
        self.value += count
        return list(range(self.value - count, self.value))

    def step(self) -> None:
        self.clock += 1.0
        action = self.random.choice([
            self.match, self.pin, self.pin, self.insert, self.insert, self.grow, self.grow,
            self.release, self.evict, self.evict, self.remove,
        ])  # fmt: skip
        action()
        assert len(self.twin.blocks) == len(self.hash) == len(self.radix)
        assert len(self.twin.pinned()) == self.hash.pinned == self.radix.pinned
        assert self.keys["hash"] == self.keys["radix"]
        assert len(self.keys["hash"]) == len(self.hash)
        self.hash.check()
        self.radix.check()

    def match(self) -> None:
        chain, limit = self.chain(), self.random.choice([None, 0, 1, 3])
        expected = self.twin.match(chain, limit)
        path = path_of(chain)[:expected]
        held = self.twin.pinned()
        pinned = sum(path[: at + 1] in held for at in range(expected))
        for form in (self.hash, self.radix):
            found = form.match(chain, max_blocks=limit)
            assert found == (expected, expected * self.block_size, pinned)

    def pin(self) -> None:
        chain, limit = self.chain(), self.random.choice([None, None, None, 2])
        priority = self.random.choice([0, 0, 1])
        twin = self.twin.pin(chain, limit, priority, self.clock)
        left, right = (
            form.pin(chain, now=self.clock, max_blocks=limit, priority=priority)
            for form in (self.hash, self.radix)
        )
        assert self.twin.values(twin) == list(left.values) == list(right.values)
        assert len(twin.path) == left.blocks == right.blocks
        self.leases.append((twin, left, right, chain))

    def insert(self) -> None:
        chain, priority = self.chain(), self.random.choice([0, 0, 1])
        values = self.fresh(self.random.randint(0, chain.blocks))
        start, spare, existing = self.twin.insert(chain, values, priority=priority, now=self.clock)
        for form in (self.hash, self.radix):
            done = form.insert(chain, values, now=self.clock, priority=priority)
            assert (done.start, list(done.spare), list(done.existing)) == (start, spare, existing)

    def grow(self) -> None:
        if not self.leases:
            return
        twin, left, right, chain = self.random.choice(self.leases)
        if self.random.random() < 0.5:
            chain.extend([self.random.randint(0, 2) for _ in range(self.random.randint(0, 20))])
        values = self.fresh(self.random.randint(0, chain.blocks - len(twin.path)))
        expected = self.twin.insert(chain, values, twin, now=self.clock)
        for form, lease in ((self.hash, left), (self.radix, right)):
            done = form.insert(chain, values, now=self.clock, lease=lease)
            assert (done.start, list(done.spare), list(done.existing)) == expected
            assert lease.blocks == len(twin.path)
            assert lease.tokens == len(twin.path) * self.block_size

    def release(self) -> None:
        if not self.leases:
            return
        at = self.random.randrange(len(self.leases))
        twin, left, right, _ = self.leases.pop(at)
        output_tokens = self.random.choice([None, 0, 5, 300])
        self.twin.release(twin, output_tokens)
        left.release(output_tokens=output_tokens)
        right.release(output_tokens=output_tokens)
        left.release()  # a second call is harmless
        right.release()

    def evict(self) -> None:
        count = self.random.choice([0, 1, 2, 5, 1000])
        expected = self.twin.evict(count)
        left, right = self.hash.evict(count), self.radix.evict(count)
        assert [victim.value for victim in left] == expected
        assert left == right

    def remove(self) -> None:
        if self.random.random() < 0.5:
            return
        chain = self.chain()
        expected, held = self.twin.remove(chain)
        left, right = self.hash.remove(chain), self.radix.remove(chain)
        for done in (left, right):
            assert {victim.value for victim in done.removed} == expected
            assert done.held == held
        assert {victim.key for victim in left.removed} == {victim.key for victim in right.removed}


@pytest.mark.parametrize(("policy", "block_size"), CASES)
def test_both_forms_agree_with_the_twin(policy: str, block_size: int) -> None:
    """Answers, leases, victims and their order are the twin's, and `check` holds at every step."""
    for number in range(-(-HISTORIES // len(CASES))):
        trio = Trio(policy, block_size, Random(f"{policy} {block_size} {number}"))
        for _ in range(STEPS):
            trio.step()
        for lease in list(trio.leases):
            trio.leases = [lease]
            trio.release()
        trio.evict()


@pytest.mark.parametrize("block_size", [1, 2])
def test_both_forms_agree_while_ranks_are_learnt(
    block_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Histories long enough to learn from, and early: all ranks change often."""
    monkeypatch.setattr(odds, "_FIT_REQUESTS", (4, 16))
    monkeypatch.setattr(odds, "_REMEMBERED", 20)
    for number in range(max(2, HISTORIES // 1_000)):
        trio = Trio("odds", block_size, Random(f"learning {block_size} {number}"))
        for _ in range(20 * STEPS):
            trio.step()
        follower = trio.twin.follower
        assert isinstance(follower, odds.Odds)
        assert follower._fitted
