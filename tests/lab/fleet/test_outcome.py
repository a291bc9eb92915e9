"""Sums over what was served."""

import pytest

from stemcache.lab.fleet.outcome import Outcome, Share, Waits, outcome
from stemcache.lab.fleet.replica import Stay
from stemcache.policy.route.contract import Choice, Reason
from tests.lab.fleet.fleets import made, replica, request


def test_percentiles_are_by_nearest_rank() -> None:
    """Of ten waits the ninetieth is the ninth, the 99th the last."""
    waits = Waits([float(n) for n in range(1, 11)])
    assert (waits.mean_s, waits.percentile_s(50), waits.percentile_s(90)) == (5.5, 5.0, 9.0)
    assert (waits.percentile_s(99), waits.percentile_s(100), waits.percentile_s(1)) == (10, 10, 1)
    assert Waits([2.0]).percentile_s(50) == 2.0


def test_everything_is_added_up_but_the_warm_up() -> None:
    """Three requests, the first of which only fills the cache."""
    jobs = made(request(0, 1), request(5, 1, 2), request(9, 1, 2, 3, tokens=250), warmup=1)
    seats = [0, 0, 1]
    reasons = [Reason.COLD, Reason.CACHED, Reason.REPLICATED]
    stays = [
        Stay(
            job,
            seat,
            job.visit.now_s,
            Choice(seat, reason, None, 0.0, None),
            predicted_blocks=2,
            first_s=job.visit.now_s + 1.5,
            done_s=job.visit.now_s + 3,
            cached_blocks=1,
        )
        for job, seat, reason in zip(jobs, seats, reasons, strict=True)
    ]
    found = outcome("auto", stays, [replica(), replica()])
    assert (found.total.requests, found.total.tokens, found.total.hit_tokens) == (2, 450, 200)
    assert found.shares == [Share(1, 200, 100), Share(1, 250, 150)]
    assert found.waits.ordered_s == [1.5, 1.5]
    assert found.reasons == {Reason.CACHED: 1, Reason.REPLICATED: 1}
    assert (found.predicted_tokens, found.mispredicted_tokens) == (400, 200)
    assert found.end_s == 12.0
    assert (found.requests_over_mean, found.computed_over_mean) == (1.0, 1.2)


def test_nothing_computed_anywhere_is_even() -> None:
    """A maximum over a mean of nothing is 1, not an error."""
    assert Outcome("auto", shares=[Share(), Share()]).computed_over_mean == pytest.approx(1.0)
