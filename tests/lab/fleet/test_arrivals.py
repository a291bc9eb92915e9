"""When requests come."""

import pytest

from stemcache.lab.fleet.arrivals import arrivals
from tests.lab.fleet.fleets import made, request


def test_times_count_from_the_first_request_and_are_divided_by_speed() -> None:
    """A trace that begins at 100 s and is played twice as fast."""
    ready = made(request(100.0, 1), request(103.0, 2), request(110.0, 3))
    assert arrivals(ready, speed=2.0) == [0.0, 1.5, 5.0]


def test_one_moment_stays_one_moment_unless_asked() -> None:
    """No spreading is the default."""
    ready = made(request(0.0, 1), request(0.0, 2), request(3.0, 3))
    assert arrivals(ready, speed=1.0) == [0.0, 0.0, 3.0]


def test_requests_of_one_moment_are_spread_evenly() -> None:
    """Three at 0 and two at 3, with a clock that ticks in three seconds."""
    ready = made(*(request(at, n) for n, at in enumerate([0.0, 0.0, 0.0, 3.0, 3.0, 6.0])))
    assert arrivals(ready, speed=1.0, spread_s=3.0) == [0.0, 1.0, 2.0, 3.0, 4.5, 6.0]


def test_spreading_never_passes_the_next_moment() -> None:
    """The order of the trace stays."""
    ready = made(*(request(at, n) for n, at in enumerate([0.0, 0.0, 1.0, 1.0])))
    assert arrivals(ready, speed=1.0, spread_s=10.0) == [0.0, 0.5, 1.0, 6.0]


def test_speed_shortens_what_is_spread() -> None:
    """Spreading is in the trace's seconds."""
    ready = made(request(0.0, 1), request(0.0, 2))
    assert arrivals(ready, speed=4.0, spread_s=2.0) == [0.0, 0.25]


@pytest.mark.parametrize("spread_s", [0.0, 3.0])
def test_an_empty_trace_has_no_arrivals(spread_s: float) -> None:
    """Nothing comes of nothing."""
    assert arrivals([], speed=1.0, spread_s=spread_s) == []
