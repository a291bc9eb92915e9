import numpy as np
import numpy.typing as npt
import pytest

from stemcache.trace.distinct import Distinct, name_hash
from stemcache.trace.ids import mixed


def hashes(start: int, stop: int) -> npt.NDArray[np.uint64]:
    """Hashes of numbers."""
    return mixed(np.arange(start, stop, dtype=np.uint64))


def test_counts_are_exact_as_long_as_they_fit() -> None:
    """However often each comes."""
    distinct = Distinct(capacity=1000)
    for _ in range(3):
        distinct.add(hashes(0, 1000))
    assert (distinct.count, distinct.exact) == (1000, True)
    distinct.add(hashes(0, 0))
    assert distinct.count == 1000


@pytest.mark.parametrize("step", [1, 7, 5000])
def test_more_are_estimated_in_bounded_memory(step: int) -> None:
    """Within a few per cent at this capacity, and the same however they come."""
    distinct = Distinct(capacity=1000)
    for start in range(0, 5000 if step == 1 else 100_000, step):
        distinct.add(hashes(start, start + step))
    true = 5000 if step == 1 else 100_000
    assert not distinct.exact
    assert len(distinct._kept) <= 1000
    assert distinct.count == pytest.approx(true, rel=0.12)


def test_names_are_counted_one_by_one() -> None:
    """By 64 bits of each."""
    distinct = Distinct(capacity=4)
    for name in ("a", "b", "a", "\ud800"):
        distinct.add_one(name_hash(name))
    assert (distinct.count, distinct.exact) == (3, True)
    for i in range(100):
        distinct.add_one(name_hash(str(i)))
    assert not distinct.exact


def test_what_came_behind_another_than_at_first_is_counted() -> None:
    """Once for each time."""
    distinct = Distinct()
    one = np.array([1, 2, 3], np.uint64)
    distinct.add(one, np.array([0, 1, 2], np.uint64))
    distinct.add(one, np.array([0, 1, 2], np.uint64))
    assert distinct.conflicts == 0
    distinct.add(one, np.array([0, 9, 2], np.uint64))
    assert distinct.conflicts == 1
