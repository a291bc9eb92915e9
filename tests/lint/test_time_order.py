import random

from stemcache.lint.time_order import in_time_order
from stemcache.trace.calls.call import Call, Fidelity, Place


def _call(line: int, time_s: float | None, size_bytes: int = 100) -> Call:
    return Call(
        place=Place("log", line),
        api=None,
        body=None,
        fidelity=Fidelity.WIRE,
        time_s=time_s,
        size_bytes=size_bytes,
    )


def _lines(calls: list[Call], **bounds: int) -> list[int]:
    return [call.place.line for call in in_time_order(calls, **bounds)]


def test_calls_that_were_written_at_their_ends_come_in_order_of_their_starts() -> None:
    """A long call that began first is judged first."""
    calls = [_call(1, 5.0), _call(2, 3.0), _call(3, 4.0), _call(4, 1.0)]
    assert _lines(calls) == [4, 2, 3, 1]


def test_equal_times_keep_the_order_of_the_log() -> None:
    """A log with whole seconds is not shuffled."""
    assert _lines([_call(line, 7.0) for line in range(1, 50)]) == list(range(1, 50))


def test_calls_without_a_time_stay_where_they_are() -> None:
    """Those before it come before it."""
    calls = [_call(1, 5.0), _call(2, 4.0), _call(3, None), _call(4, 1.0)]
    assert _lines(calls) == [2, 1, 3, 4]


def test_window_is_bounded_in_calls_and_bytes() -> None:
    """What is too far out of place keeps its place, and memory stays bounded."""
    calls = [_call(1, 9.0), _call(2, 8.0), _call(3, 7.0), _call(4, 1.0)]
    assert _lines(calls, most_calls=2) == [3, 4, 2, 1]
    assert _lines(calls, most_bytes=150) == [2, 3, 4, 1]


def test_no_call_is_lost_or_doubled() -> None:
    """Whatever the times, every call comes out once."""
    chance = random.Random(7)
    calls = [
        _call(line, None if chance.random() < 0.1 else chance.random(), chance.randint(1, 500))
        for line in range(1, 400)
    ]
    assert sorted(_lines(calls, most_calls=20, most_bytes=3_000)) == list(range(1, 400))
