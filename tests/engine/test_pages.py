"""The free list, against a set."""

from random import Random

import numpy as np
import pytest

from stemcache.engine.pages import PagePool, PageTable


def test_a_fresh_pool_gives_one_extent() -> None:
    """Pages that are taken together lie side by side."""
    pool = PagePool(100, room=8)

    first = pool.take(10).tolist()
    second = pool.take(10).tolist()

    assert list(range(first[0], first[0] + 10)) == first
    assert list(range(second[0], second[0] + 10)) == second
    assert second[0] - first[-1] > 8


def test_growth_continues_its_extent_where_it_can() -> None:
    """`after` asks for the page behind the last one."""
    pool = PagePool(100, room=8)
    last = int(pool.take(10)[-1])

    grown = pool.take(3, after=last).tolist()

    assert [last + 1, last + 2, last + 3] == grown


def test_scattered_pages_are_given_when_nothing_else_is_left() -> None:
    """A request larger than any extent gets several."""
    pool = PagePool(10, room=0)
    pool.take(10)
    pool.give([1, 2, 5, 8])

    assert [1, 2, 5, 8] == sorted(pool.take(4).tolist())


def test_neighbours_join_again() -> None:
    """Returned pages form extents with the free pages around them."""
    pool = PagePool(10, room=0)
    pool.take(10)
    for page in (3, 5, 4):
        pool.give([page])
        pool.check()

    assert [3, 4, 5] == pool.take(3).tolist()


@pytest.mark.parametrize("pages", [[0], [5, 5], [4, 5]])
def test_returning_a_free_page_is_caught(pages: list[int]) -> None:
    """A page cannot be freed twice."""
    pool = PagePool(10, room=0)
    pool.take(10)
    pool.give([0, 4])

    with pytest.raises(AssertionError, match="free"):
        pool.give(pages)


def test_the_pool_agrees_with_a_set() -> None:
    """Random takes and gives never lose, invent or share a page."""
    for seed in range(200):
        random = Random(seed)
        pool = PagePool(random.randint(1, 60), room=random.choice([0, 3]))
        free = set(range(pool.total))
        held: list[int] = []
        for _ in range(60):
            if random.random() < 0.5:
                count = random.randint(0, len(free))
                after = random.choice(held) if held and random.random() < 0.5 else None
                got = pool.take(count, after=after).tolist()
                assert len(set(got)) == count
                assert set(got) <= free
                free -= set(got)
                held += got
            else:
                random.shuffle(held)
                count = random.randint(0, len(held))
                back, held = held[:count], held[count:]
                pool.give(back)
                free |= set(back)
            pool.check()
            assert len(free) == pool.free
            assert sorted(free) == pool.pages().tolist()


def test_a_table_grows_and_repoints() -> None:
    """A block table keeps order and can be pointed at equal pages of another owner."""
    table = PageTable()
    table.extend(np.arange(20, dtype=np.int32))
    table.extend(np.array([99], np.int32))

    table.repoint(2, np.array([70, 71], np.int32))

    assert [0, 1, 70, 71, *range(4, 20), 99] == table.pages.tolist()
    table.clear()
    assert len(table) == 0
