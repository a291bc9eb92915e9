import numpy as np

from stemcache.trace.spans.chain import mixed, running

MASK = 2**64 - 1


def slow(items: list[int]) -> list[int]:
    """The same in plain numbers."""
    total, found = 0, []
    for i, item in enumerate(items, 1):
        x = (item + i * 0x9E3779B97F4A7C15) & MASK
        x ^= x >> 30
        x = x * 0xBF58476D1CE4E5B9 & MASK
        x ^= x >> 27
        x = x * 0x94D049BB133111EB & MASK
        x ^= x >> 31
        total = total + x & MASK
        found.append(total)
    return found


def test_a_chain_is_the_sum_of_mixed_items() -> None:
    """As plain arithmetic has it."""
    items = [0, 0, 1, MASK, 12_345, 2**63]
    assert running(np.array(items, np.uint64)).tolist() == slow(items)


def test_nothing_has_no_chain() -> None:
    """An empty array for an empty one."""
    assert running(np.empty(0, np.uint64)).tolist() == []


def test_prefixes_have_equal_chains_until_they_differ() -> None:
    """And never again behind that, also where items are exchanged or repeated."""
    items = np.arange(10_000, dtype=np.uint64)
    swapped = items.copy()
    swapped[[100, 5_000]] = swapped[[5_000, 100]]
    shifted = np.insert(items, 100, items[99])
    for other in (swapped, shifted):
        equal = running(items) == running(other)[: len(items)]
        assert equal[:100].all()
        assert not equal[100:].any()


def test_chains_of_few_items_do_not_collide() -> None:
    """All orders of a hundred small numbers in pairs and triples differ."""
    found = set()
    for a in range(100):
        for b in range(100):
            found.add(int(running(np.array([a, b], np.uint64))[-1]))
    assert len(found) == 10_000


def test_mixing_is_one_to_one_and_leaves_its_argument() -> None:
    """Neighbours are far apart."""
    numbers = np.arange(100_000, dtype=np.uint64)
    spread = mixed(numbers)
    assert len(np.unique(spread)) == 100_000
    assert numbers[5] == 5
    assert 0.49 < (spread >> np.uint64(63)).mean() < 0.51
