from collections.abc import Hashable
from random import Random

import pytest

from stemcache.lab.flat import FLAT, Arc, FlatCache, FlatPolicy, S3Fifo
from tests.lab.histories import random_trace, visit


class Counting:
    """Never evicts; remembers the order of touches."""

    def __init__(self) -> None:
        self.touched: list[Hashable] = []

    def __contains__(self, block: Hashable) -> bool:
        return block in self.touched

    def touch(self, block: Hashable) -> None:
        self.touched.append(block)


def held(policy: FlatPolicy, blocks: str) -> str:
    """Which of these single-letter blocks are there."""
    return "".join(block for block in blocks if block in policy)


def touch(policy: FlatPolicy, blocks: str) -> None:
    """Use them in turn."""
    for block in blocks:
        policy.touch(block)


def test_only_an_unbroken_beginning_is_found() -> None:
    """What stands behind a gap is of no use."""
    policy = Counting()
    cache = FlatCache(policy)
    cache.feed(visit([1, 2]))
    assert cache.feed(visit([1, 9, 2])) == 1
    assert policy.touched == [2, 1, 2, 9, 1], "from the end to the root"


def test_scopes_and_usable_blocks_are_kept() -> None:
    """Equal ids of two scopes differ; the last token of a known prompt is computed."""
    cache = FlatCache(Counting())
    cache.feed(visit([1, 2], scope="a"))
    assert cache.feed(visit([1, 2], scope="b")) == 0
    assert cache.feed(visit([1, 2], scope="a", usable=1)) == 1


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("capacity", [1, 2, 3, 7, 20])
def test_a_policy_never_holds_more_than_its_capacity(name: str, capacity: int) -> None:
    """Nor does it lose what was touched last, or fail on any history."""
    random = Random(capacity)
    policy = FLAT[name](capacity)
    for _ in range(3000):
        block = int(random.paretovariate(0.7))
        policy.touch(block)
        assert block in policy
        if random.random() < 0.02:
            assert sum(block in policy for block in range(200)) <= capacity


@pytest.mark.parametrize("name", FLAT)
def test_a_cache_as_large_as_the_trace_finds_everything(name: str) -> None:
    """With room for all there is nothing to choose."""
    trace = random_trace(Random(3), 100)
    cache, seen = FlatCache(FLAT[name](10_000)), set[tuple[str, int]]()
    for each in trace:
        blocks = [(each.scope, block) for block in each.ids.tolist()]
        assert cache.feed(each) == sum(block in seen for block in blocks)
        seen.update(blocks)


def test_s3_fifo_keeps_what_was_used_twice_and_drops_a_scan() -> None:
    """Blocks used again move to the main queue; a scan passes through the small one."""
    policy = S3Fifo(10)
    touch(policy, "ababab")
    touch(policy, "qrstuvwxyz")
    assert held(policy, "ab") == "ab"


def test_s3_fifo_remembers_what_it_dropped_too_early() -> None:
    """A block that comes back soon after it left goes straight to the main queue."""
    policy = S3Fifo(10)
    touch(policy, "abcdefghijk")
    assert "a" not in policy
    touch(policy, "a")
    touch(policy, "lmnopqrst")
    assert "a" in policy


def test_arc_keeps_what_was_used_twice_through_a_scan() -> None:
    """A scan of blocks used once does not push out those used again."""
    policy = Arc(4)
    touch(policy, "abab")
    touch(policy, "uvwxyz")
    assert held(policy, "ab") == "ab"


def test_arc_gives_recency_more_room_when_it_evicted_too_early() -> None:
    """Blocks asked again soon after they left the first list make that list longer."""
    policy = Arc(4)
    touch(policy, "aabbccdd")
    touch(policy, "ef")
    assert held(policy, "abcd") == "bcd"
    touch(policy, "e")
    touch(policy, "f")
    assert held(policy, "ef") == "ef"
