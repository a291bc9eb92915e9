"""How soon requests of a kind come back: the estimate against the truth it was drawn from."""

from itertools import pairwise
from math import exp, inf
from random import Random

import numpy as np
import pytest

from stemcache.policy.evict import returns
from stemcache.policy.evict.returns import Kind, Returns, Stay

HEAVY = 5_000


def learnt(
    hazards: dict[Kind, float],
    *,
    values: tuple[int, ...] = (3,),
    cut_s: float = inf,
    waiting_s: float | None = None,
    requests: int = HEAVY,
    fits: int = 6,
) -> Returns:
    """Requests that return at a constant rate, each watched for at most `cut_s`."""
    draw, estimate = Random(7), Returns(values)
    open_stays: list[Stay] = []
    for number in range(requests):
        kind = list(hazards)[number % len(hazards)]
        age_s = draw.expovariate(hazards[kind])
        if waiting_s is not None and age_s > waiting_s:
            open_stays.append(Stay(kind, 0.0, waiting_s, 1.0))
            continue
        estimate.observe(Stay(kind, 0.0, min(age_s, cut_s), 1.0), returned=age_s <= cut_s)
    for _ in range(fits):
        estimate.fit(open_stays, requests=0)
    return estimate


@pytest.mark.parametrize("cut_s", [inf, 8.0])
def test_the_hazard_is_returns_over_waiting_time(cut_s: float) -> None:
    """What was cut short counts for as long as it was seen, so cutting changes nothing."""
    estimate = learnt({(0,): 0.1}, cut_s=cut_s)

    assert estimate.index((0,), 0.0) == pytest.approx(0.1, rel=0.08)
    assert estimate.index((0,), 5.0) == pytest.approx(0.1, rel=0.08)


def test_those_who_still_wait_count_as_far_as_they_were_seen() -> None:
    """Left out, they would make everybody look sooner back than they are."""
    estimate = learnt({(0,): 0.02}, waiting_s=10.0)

    assert estimate.index((0,), 4.0) == pytest.approx(0.02, rel=0.1)


def test_kinds_differ_by_what_sets_them_apart() -> None:
    """A factor for each value of each feature, whatever the other features are."""
    truth: dict[Kind, float] = {
        (a, b): 0.01 * (1, 4)[a] * (1, 3)[b] for a in (0, 1) for b in (0, 1)
    }
    estimate = learnt(truth, values=(2, 2), requests=4 * HEAVY, fits=12)
    # Buckets that hold the bulk of the returns.
    for kind, rate in truth.items():
        assert estimate.hazard(kind)[10] == pytest.approx(rate, rel=0.25)


def test_what_was_never_seen_changes_nothing() -> None:
    """An unknown value is taken for the average of what is known."""
    estimate = learnt({(0,): 0.1, (1,): 0.1})

    assert estimate.index((2,), 3.0) == pytest.approx(estimate.index((0,), 3.0), rel=0.1)


def test_nothing_seen_is_a_hazard_that_falls_with_age() -> None:
    """So the oldest goes first, as with `lru`."""
    estimate = Returns((2, 2))
    indexes = [estimate.index((0, 1), age_s) for age_s in (0.0, 1.0, 9.0, 100.0, 5_000.0, 1e6)]

    assert sorted(indexes, reverse=True) == indexes
    assert estimate.index((1, 0), 100.0) == pytest.approx(0.1 / 100, rel=0.3)


def test_a_fit_of_nothing_is_what_there_was_before() -> None:
    """A server may be asked for room before anything was seen."""
    before, after = Returns((2, 2)), Returns((2, 2))
    after.fit([], requests=0)

    assert before.index((0, 1), 5.0) == pytest.approx(after.index((0, 1), 5.0))


def test_the_index_looks_ahead_of_a_peak() -> None:
    """Who returns after 20 seconds is worth more at 15 than at 1, though neither returns now."""
    draw, estimate = Random(3), Returns((1,))
    for _ in range(HEAVY):
        estimate.observe(Stay((0,), 0.0, draw.uniform(18.0, 22.0), 1.0), returned=True)
    estimate.fit([], requests=0)
    young, later, due, past = (estimate.index((0,), age_s) for age_s in (0.2, 8.0, 16.0, 200.0))

    assert young < later < due
    assert past < young
    assert 1 / 20 == pytest.approx(young, rel=0.25)


def test_the_index_is_the_best_that_any_wait_earns() -> None:
    """Against sums over every stopping age, one by one."""
    estimate = learnt({(0,): 0.05, (1,): 0.5})
    hazard = estimate.hazard((1,))
    for start in (0, 3, 9, 20, 33):
        best, left, came, waited = 0.0, 1.0, 0.0, 0.0
        for rate, width in zip(hazard[start:], returns._WIDTHS[start:], strict=True):
            gone = left * (1 - exp(-rate * width))
            came, waited, left = came + gone, waited + gone / rate, left - gone
            best = max(best, came / waited)

        assert pytest.approx(best, rel=1e-6) == returns._best(hazard[None, :])[0, start]


def test_between_ages_the_index_has_no_steps() -> None:
    """Two leaves a little apart in age are not far apart in rank."""
    estimate = learnt({(0,): 0.05})
    ages = np.geomspace(0.6, 40_000, 2_000).tolist()
    steps = [
        abs(estimate.index((0,), later) / estimate.index((0,), age) - 1)
        for age, later in pairwise(ages)
    ]

    assert max(steps) < 0.2


def test_a_share_of_a_request_counts_as_much_of_one() -> None:
    """Two halves are one."""
    whole, halves = Returns((1,)), Returns((1,))
    whole.observe(Stay((0,), 0.0, 5.0, 1.0), returned=True)
    for _ in range(2):
        halves.observe(Stay((0,), 0.0, 5.0, 0.5), returned=True)
    for estimate in (whole, halves):
        estimate.fit([], requests=0)

    assert whole.hazard((0,)).tolist() == pytest.approx(halves.hazard((0,)).tolist())


def test_what_came_in_late_was_not_waited_for_before() -> None:
    """A kind that a request takes on at age 10 has no waiting time from before."""
    early, late = Returns((1,)), Returns((1,))
    for _ in range(100):
        early.observe(Stay((0,), 0.0, 20.0, 1.0), returned=False)
        late.observe(Stay((0,), 10.0, 20.0, 1.0), returned=False)
    for estimate in (early, late):
        estimate.fit([], requests=0)

    assert late.hazard((0,))[0] > 5 * early.hazard((0,))[0]
    assert late.hazard((0,))[11] == pytest.approx(early.hazard((0,))[11], rel=0.5)


def test_old_news_counts_less_and_is_dropped_in_the_end() -> None:
    """Half after 20,000 requests; kinds of which nothing is left take no memory."""
    estimate = learnt({(0,): 0.5})
    for _ in range(200):
        for _ in range(20):
            estimate.observe(Stay((1,), 0.0, 100.0, 1.0), returned=True)
        estimate.fit([], requests=20_000)

    assert estimate.index((1,), 1.0) < 0.02
    assert {(1,)} == estimate._rows.keys()


def test_tables_grow_with_kinds() -> None:
    """Any number of kinds, each with its own counts."""
    estimate = Returns((20, 20))
    for number in range(400):
        kind = number % 20, number // 20
        for _ in range(3):
            estimate.observe(Stay(kind, 0.0, 1.0 + kind[0], 1.0), returned=kind[1] < 10)
    estimate.fit([Stay((0, 0), 0.0, 3.0, 1.0)], requests=64)

    assert estimate.index((5, 3), 4.0) > 3 * estimate.index((5, 15), 4.0)
