from random import Random
from statistics import mean
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.replay.schedule import RECORDED, Arrivals, Think, arrivals, next_due_s, sessions
from stemcache.replay.selection import Planned
from tests.replay.made import planned


def at(*times: float | None, **others: Any) -> list[Planned]:
    """Requests that arrive so."""
    return [planned(number, arrival_s=time, **others) for number, time in enumerate(times)]


def due(trace: list[Planned], speed: float = 1.0, rate: float | None = None) -> Arrivals:
    """When they are sent."""
    return arrivals(trace, speed=speed, rate=rate, random=Random(1))


def test_times_are_the_traces_from_its_first_request_on() -> None:
    """Scaled by the speed."""
    assert due(at(10.0, 12.0, 16.0)).due_s == (0.0, 2.0, 6.0)
    assert due(at(10.0, 12.0, 16.0), speed=2).due_s == (0.0, 1.0, 3.0)
    assert due(at(-5.0, 5.0)).due_s == (0.0, 10.0)


def test_a_rate_is_the_mean_over_the_whole_trace() -> None:
    """The shape of the traffic stays: bursts are bursts."""
    found = due(at(0.0, 1.0, 1.0, 10.0), rate=30)
    assert found.due_s == pytest.approx((0.0, 0.01, 0.01, 0.1))


def test_requests_out_of_order_are_sent_at_their_own_time() -> None:
    """And counted; equal times keep the trace's order."""
    found = due(at(5.0, 1.0, 5.0, 4.0, 9.0))
    assert [each.number for each in found.planned] == [1, 3, 0, 2, 4]
    assert found.due_s == (0.0, 3.0, 4.0, 4.0, 8.0)
    assert found.out_of_order == 2


def test_a_trace_without_times_gets_those_of_strangers() -> None:
    """A Poisson process of the rate, the same for the same seed."""
    trace = at(*([None] * 4000))
    found = due(trace, rate=50)
    assert found.drawn
    assert found.due_s == due(trace, rate=50).due_s
    gaps = [b - a for a, b in zip(found.due_s, found.due_s[1:], strict=False)]
    assert mean(gaps) == pytest.approx(0.02, rel=0.1)
    assert mean(gap < 0.02 for gap in gaps) == pytest.approx(0.632, abs=0.04)


@pytest.mark.parametrize(
    ("trace", "rate", "message"),
    [
        (at(None, None), None, "2 of 2 requests of the trace have no arrival time; use --concurr"),
        (at(None, 1.0), 5.0, "1 of 2 requests of the trace have no arrival time"),
        (at(3.0, 3.0, 3.0), 5.0, "all 3 requests of the trace arrive at once, so --rate 5 cannot"),
        (at(0.0, 1.0, session_clock=True), None, "the trace's times count from the start of each"),
    ],
)
def test_times_that_cannot_be_used_are_told(
    trace: list[Planned], rate: float | None, message: str
) -> None:
    """With another way to replay the trace."""
    with pytest.raises(UsageError) as caught:
        due(trace, rate=rate)
    assert message in str(caught.value)


def test_one_request_and_none_have_a_schedule() -> None:
    """Also at a rate."""
    assert due(at(4.0), rate=3).due_s == (0.0,)
    assert due(at(4.0)).due_s == (0.0,)
    assert due([]).due_s == ()


def test_sessions_keep_their_order_and_begin_in_the_traces() -> None:
    """A request without one is alone; a name in another scope is another session."""
    trace = [
        planned(0, session="a"),
        planned(1, session="b"),
        planned(2),
        planned(3, session="a"),
        planned(4),
        planned(5, session="a", scope="other"),
    ]
    numbers = [[turn.number for turn in each.turns] for each in sessions(trace)]
    assert numbers == [[0, 3], [1], [2], [4], [5]]


def following(
    think: Think, *, answered: float, speed: float = 1.0, most: float | None = None
) -> float:
    """When the second turn of a session is due."""
    return next_due_s(
        planned(0, arrival_s=100.0),
        planned(1, arrival_s=110.0),
        before_due_s=3.0,
        answered_s=answered,
        think=think,
        speed=speed,
        max_think_s=most,
    )


def test_a_given_think_time_counts_from_the_answer() -> None:
    """None at all included."""
    assert following(2.0, answered=5.0) == 7.0
    assert following(0.0, answered=5.0) == 5.0


def test_a_recorded_gap_counts_from_the_turn_before() -> None:
    """The recorded answer's time is in it; a target that takes longer is waited for."""
    assert following(RECORDED, answered=5.0) == 13.0
    assert following(RECORDED, answered=15.0) == 15.0
    assert following(RECORDED, answered=5.0, speed=5.0) == 5.0
    assert following(RECORDED, answered=4.0, speed=5.0) == 5.0


def test_thinking_may_be_bounded() -> None:
    """A user of the trace may have gone to lunch."""
    assert following(RECORDED, answered=5.0, most=1.0) == 6.0
    assert following(9.0, answered=5.0, most=1.0) == 6.0
    assert following(0.5, answered=5.0, most=1.0) == 5.5


def test_without_recorded_times_there_is_no_thinking() -> None:
    """Nor where they go back."""
    for start, end in ((None, None), (None, 1.0), (9.0, 1.0)):
        found = next_due_s(
            planned(0, arrival_s=start),
            planned(1, arrival_s=end),
            before_due_s=0.0,
            answered_s=4.0,
            think=RECORDED,
            speed=1.0,
            max_think_s=None,
        )
        assert found == 4.0
