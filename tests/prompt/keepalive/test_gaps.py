"""Estimates of gaps: against counting, against a dumb product limit, and at their ends."""

import math
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.keepalive.gaps import Gaps, PoissonGaps


def product_limit(seen: list[float], still: list[float], over: int, at_s: float) -> float:
    """The estimate from its definition, one gap at a time."""
    share = 1.0
    for end in sorted(set(seen)):
        if end > at_s:
            break
        at_risk = sum(gap >= end for gap in (*seen, *still)) + over
        share *= 1 - seen.count(end) / at_risk
    return share


def test_whole_gaps_are_counted() -> None:
    """Without open ones it is the part of gaps that are longer."""
    random = Random(1)
    seen = [float(random.randrange(50)) for _ in range(200)]
    found = Gaps.of(seen, over=20)
    for at_s in range(-1, 60):
        later = sum(gap > at_s for gap in seen) + 20
        assert found.later(at_s) == pytest.approx(later / 220)


def test_open_gaps_say_only_that_they_are_longer() -> None:
    """The product limit, beside a twin that goes through all gaps for every step."""
    random = Random(2)
    for _ in range(100):
        seen = [float(random.randrange(12)) for _ in range(random.randrange(1, 12))]
        still = [float(random.randrange(12)) for _ in range(random.randrange(12))]
        over = random.randrange(3)
        found = Gaps.of(seen, open_s=still, over=over)
        for at_s in range(13):
            assert found.later(at_s) == pytest.approx(product_limit(seen, still, over, at_s))


def test_a_gap_open_when_another_ends_was_at_risk() -> None:
    """Ends come before open gaps of the same length."""
    assert Gaps.of([10.0], open_s=[10.0]).later(10.0) == 0.5


def test_it_never_rises_and_starts_at_one() -> None:
    """As the protocol says."""
    random = Random(3)
    found = Gaps.of([random.expovariate(0.01) for _ in range(50)], open_s=[30.0, 400.0], over=2)
    values = [found.later(step * 5.0 - 10) for step in range(200)]
    assert values[0] == 1.0
    assert values == sorted(values, reverse=True)
    assert min(values) > 0


def test_only_open_gaps_promise_no_end() -> None:
    """Nothing was seen to end, so nothing is hoped for."""
    assert Gaps.of([], open_s=[10.0]).later(1e9) == 1.0
    assert Gaps.of([], over=3).later(1e9) == 1.0


def test_how_many_gaps_it_is_made_of_is_known() -> None:
    """The open ones and the endless among them."""
    assert Gaps.of([1.0, 2.0], open_s=[3.0], over=4).observed == 7


@pytest.mark.parametrize("gap_s", [-1.0, math.nan, math.inf])
def test_odd_gaps_are_refused(gap_s: float) -> None:
    """Seen or open."""
    with pytest.raises(UsageError, match="give finite seconds from 0 on"):
        Gaps.of([gap_s])
    with pytest.raises(UsageError, match="give finite seconds from 0 on"):
        Gaps.of([1.0], open_s=[gap_s])


def test_nothing_to_learn_from_is_refused() -> None:
    """An estimate from nothing would be made up."""
    with pytest.raises(UsageError, match="no gap was given to learn from; give at least one"):
        Gaps.of([])
    with pytest.raises(UsageError, match="over is -1; give a whole number from 0 on"):
        Gaps.of([1.0], over=-1)


def test_random_requests_fall_off_to_those_that_never_come() -> None:
    """Exponentially, and 1 before 0."""
    found = PoissonGaps(mean_gap_s=100.0, over=0.25)
    assert found.later(-5.0) == 1.0
    assert found.later(100.0) == pytest.approx(0.25 + 0.75 / math.e)
    assert found.later(1e9) == pytest.approx(0.25)


@pytest.mark.parametrize(("mean_gap_s", "over"), [(0.0, 0.0), (-1.0, 0.0), (1.0, 1.5), (1.0, -0.1)])
def test_odd_rates_are_refused(mean_gap_s: float, over: float) -> None:
    """A mean of nothing, and what is no probability."""
    with pytest.raises(
        UsageError, match=r"give more than 0 s|(mean_gap_s|over) is .*; give a finite number from 0"
    ):
        PoissonGaps(mean_gap_s=mean_gap_s, over=over)
