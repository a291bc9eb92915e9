import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.trace.problem import BadLineError
from stemcache.trace.times import log_time_s, milliseconds, seconds


@given(st.floats(-1e11, 1e11))
def test_a_time_comes_back_to_the_last_bit(arrival_s: float) -> None:
    """What is written is JSON, too."""
    written = milliseconds(arrival_s)
    assert seconds(msgspec.Raw(written), "t") == arrival_s
    assert msgspec.json.decode(written) == pytest.approx(arrival_s * 1000, rel=1e-15, abs=1e-300)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"27482", 27.482),
        (b"0.5", 0.0005),
        (b"-3", -0.003),
        (b"1.5e3", 1.5),
        (b"2E-1", 0.0002),
        (b"null", None),
        (b"", None),
    ],
)
def test_milliseconds_are_read_by_moving_the_point(text: bytes, expected: float | None) -> None:
    """27,482 ms is the float nearest to 27.482, as dividing may miss it for fractions."""
    assert seconds(msgspec.Raw(text), "timestamp") == expected


def test_a_time_that_is_none_is_told() -> None:
    """With the field's name, without its value."""
    for text in (b'"12"', b"[1]", b"{}", b"true"):
        with pytest.raises(BadLineError) as caught:
            seconds(msgspec.Raw(text), "timestamp")
        assert caught.value.reason == "timestamp is not a number of milliseconds"
    for text in (b"1e15", b"-1e15", b"1e999"):
        with pytest.raises(BadLineError) as caught:
            seconds(msgspec.Raw(text), "timestamp")
        assert caught.value.reason == "timestamp is too large for a time"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (12, 12.0),
        (1772352000.25, 1772352000.25),
        (1772352000250, 1772352000.25),
        (1772352000250000, 1772352000.25),
        (1772352000250000000, 1772352000.25),
        ("2026-03-01T08:00:00.250Z", 1772352000.25),
        ("2026-03-01T09:00:00.250+01:00", 1772352000.25),
        ("2026-03-01 08:00:00.25", 1772352000.25),
        (None, None),
    ],
)
def test_logs_write_one_moment_in_many_ways(value: object, expected: float | None) -> None:
    """Seconds, ms, µs, ns, and ISO 8601 with a zone or in UTC."""
    assert log_time_s(value, "ts") == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("yesterday", "ts is no ISO 8601 time"),
        ([1], "ts is neither a number nor a text"),
        (True, "ts is neither a number nor a text"),
        (math.inf, "ts is too large for a time"),
        (math.nan, "ts is too large for a time"),
        (-1e12, "ts is too large for a time"),
    ],
)
def test_a_log_time_that_is_none_is_told(value: object, reason: str) -> None:
    """By what is wrong with it."""
    with pytest.raises(BadLineError) as caught:
        log_time_s(value, "ts")
    assert caught.value.reason == reason
