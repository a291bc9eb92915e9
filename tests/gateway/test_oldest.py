"""Which blocks are forgotten first."""

from array import array
from random import Random

from stemcache.gateway.oldest import oldest_leaves


def oldest(children: list[int], tiers: list[int], ages: list[int]) -> list[int]:
    """The first to go first."""
    found = oldest_leaves(array("I", children), bytearray(tiers), array("Q", ages))
    return list(reversed(found))


def test_few_leaves_are_all_taken_in_order_of_age() -> None:
    """Not those with children, nor those that hold nothing."""
    assert oldest([0, 1, 0, 0, 0], [1, 1, 2, 0, 1], [50, 10, 30, 5, 20]) == [4, 2, 0]


def test_where_there_is_none_none_is_found() -> None:
    """Nothing known, or everything with children."""
    assert oldest([], [], []) == []
    assert oldest([1, 2], [1, 1], [1, 2]) == []


def test_of_many_leaves_some_of_the_oldest_are_taken_in_order() -> None:
    """About a 64th of them, whatever the order of their slots."""
    ages = list(range(1, 100_001))
    Random(1).shuffle(ages)
    found = oldest([0] * 100_000, [1] * 100_000, ages)
    taken = [ages[slot] for slot in found]
    assert taken == list(range(1, len(taken) + 1))
    assert 800 < len(taken) < 3000


def test_at_least_one_is_found_among_many() -> None:
    """Also where most leaves have not been used for equally long."""
    ages = [7] * 5000
    assert len(oldest([0] * 5000, [1] * 5000, ages)) == 5000


def test_memory_may_grow_afterwards() -> None:
    """Nothing keeps the arrays from being appended to."""
    children, tiers, ages = array("I", [0]), bytearray([1]), array("Q", [1])
    oldest_leaves(children, tiers, ages)
    children.append(0)
    tiers.append(1)
    ages.append(2)
    assert list(oldest_leaves(children, tiers, ages)) == [1, 0]
