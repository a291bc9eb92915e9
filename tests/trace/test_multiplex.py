import math
import random

import pytest

from stemcache.errors import UsageError
from stemcache.trace.multiplex import Mix, multiplex
from stemcache.trace.record import TraceRequest
from tests.trace.traces import request_of, same

HOUR = 3600.0


def sessions(count: int, *, requests: int = 5, step_s: float = 60.0) -> list[TraceRequest]:
    """Sessions one after another, each from its own zero."""
    return [
        request_of(i, arrival_s=i * step_s, scope=f"s{n}", session=f"s{n}", session_clock=True)
        for n in range(count)
        for i in range(requests)
    ]


def test_a_random_subset_starts_within_the_window() -> None:
    """Each session once, its steps as they were, all in order of time."""
    mixed = multiplex(sessions(50), Mix(10, 2 * HOUR, math.inf))
    assert len(mixed) == 50
    times = [one.arrival_s for one in mixed]
    assert times == sorted(times, key=lambda time: time or 0.0)
    starts: dict[str | None, float] = {}
    for one in mixed:
        assert not one.session_clock
        assert one.arrival_s is not None
        starts.setdefault(one.session, one.arrival_s)
        assert one.arrival_s == starts[one.session] + 60.0 * int(one.block_ids[0])
    assert len(starts) == 10
    assert all(0 <= start <= 2 * HOUR for start in starts.values())
    assert len(set(starts.values())) == 10


def test_what_comes_after_the_cut_is_dropped() -> None:
    """And nothing else."""
    mix = Mix(20, 100.0, 200.0, seed=3)
    whole = multiplex(sessions(20), Mix(20, 100.0, math.inf, seed=3))
    kept = multiplex(sessions(20), mix)
    assert 0 < len(kept) < len(whole)
    expected = [one for one in whole if one.arrival_s is not None and one.arrival_s <= 200.0]
    assert all(map(same, kept, expected))


def test_a_draw_depends_on_names_and_seed_alone() -> None:
    """Not on the file's order, nor on whether sessions are interleaved in it."""
    requests = sessions(30)
    shuffled = sorted(requests, key=lambda one: (int(one.block_ids[0]), one.session or ""))
    expected = multiplex(requests, Mix(7, HOUR, HOUR))
    assert all(map(same, multiplex(shuffled, Mix(7, HOUR, HOUR)), expected))
    other = multiplex(requests, Mix(7, HOUR, HOUR, seed=1))
    assert {one.session for one in other} != {one.session for one in expected}


def test_draws_are_fair() -> None:
    """Every session is drawn about as often as any other, and starts fill the window."""
    counts = dict.fromkeys((f"s{n}" for n in range(10)), 0)
    starts = []
    for seed in range(400):
        for one in multiplex(sessions(10, requests=1), Mix(3, 1.0, 9.0, seed=seed)):
            assert one.session is not None
            assert one.arrival_s is not None
            counts[one.session] += 1
            starts.append(one.arrival_s)
    assert all(80 <= count <= 160 for count in counts.values())  # 120 expected, 4 deviations
    assert 0.45 < sum(starts) / len(starts) < 0.55


def test_all_sessions_may_be_drawn() -> None:
    """Requests that came at one moment keep an order that no file's order enters."""
    requests = sessions(4, requests=3, step_s=0.0)
    random.Random(1).shuffle(requests)
    mixed = multiplex(requests, Mix(4, 0.0, 1.0))
    assert len(mixed) == 12
    assert [one.session for one in mixed] == sorted(
        (one.session or "" for one in mixed), key=lambda name: Mix(4, 0.0, 1.0).drawn(name)[0]
    )


def test_more_sessions_than_there_are_is_told() -> None:
    """With how many there are."""
    with pytest.raises(UsageError) as caught:
        multiplex(sessions(3), Mix(4, HOUR, HOUR))
    assert str(caught.value) == (
        "--multiplex asks for 4 sessions, but the trace has 3; ask for fewer"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"arrival_s": 1.0},
        {"arrival_s": 1.0, "session": "a"},
        {"session": "a", "session_clock": True},
    ],
)
def test_a_trace_that_has_one_clock_is_told(fields: dict[str, object]) -> None:
    """There is nothing to put together."""
    with pytest.raises(UsageError) as caught:
        multiplex([request_of(1, **fields)], Mix(1, HOUR, HOUR))
    assert str(caught.value) == (
        "--multiplex puts sessions with clocks of their own on one, but this trace has requests "
        "without one; leave the flag out"
    )
