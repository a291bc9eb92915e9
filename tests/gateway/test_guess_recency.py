"""How long ago, in units used since."""

from random import Random

import pytest

from stemcache.gateway.guess_recency import Recency


def test_what_was_used_since_is_counted() -> None:
    """One use a bucket, at these sizes: exact, but for the use itself."""
    recency = Recency()
    for number, units in ((1, 10), (2, 20), (3, 30)):
        recency.used(number, units)
    assert recency.distances([(3, 30)]) == [0]
    assert recency.distances([(2, 20)]) == [30]
    assert recency.distances([(1, 10)]) == [50]
    assert recency.distances([]) == []


def test_a_prompt_counts_before_its_own_later_stretches() -> None:
    """Of one use, the beginning is the more recent."""
    recency = Recency()
    recency.used(1, 50)
    recency.used(2, 8)
    assert recency.distances([(2, 8), (1, 20), (1, 30)]) == [0, 8, 28]


def test_what_is_used_again_is_old_no_more() -> None:
    """It moves; the total stays."""
    recency = Recency()
    recency.used(1, 10)
    recency.used(2, 20)
    recency.left(1, 10)
    recency.used(3, 10)
    assert recency.total == 30
    assert recency.distances([(2, 20)]) == [10]


def test_one_stretch_alone_is_as_far_away_as_the_first_of_several() -> None:
    """Whatever else is in its bucket."""
    random = Random(1)
    recency = Recency()
    for number in range(1, 3_000):
        recency.used(number, random.randint(1, 40))
    for number in (1, 2, 700, 1_500, 2_900, 2_998, 2_999):
        for units in (1, 5, 40):
            assert [recency.distance(number, units)] == recency.distances([(number, units)])


@pytest.mark.parametrize("seed", range(4))
def test_distances_are_right_to_a_few_percent_after_any_history(seed: int) -> None:
    """Of thousands of uses, in a few hundred numbers."""
    random = Random(seed)
    recency = Recency()
    live: dict[int, int] = {}
    for number in range(1, 6000):
        units = random.choice((1, 5, 40, 300))
        recency.used(number, units)
        live[number] = units
        if len(live) > 800:
            old = random.choice(list(live)[: random.choice((1, 700))])
            recency.left(old, live.pop(old))
        if number % 500 == 0:
            total = sum(live.values())
            assert recency.total == total
            for use in random.sample(list(live), 20):
                (measured,) = recency.distances([(use, live[use])])
                exact = sum(units for each, units in live.items() if each > use)
                assert abs(measured - exact) <= total / 30 + 300
