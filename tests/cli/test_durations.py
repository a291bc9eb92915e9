import math

import click
import pytest

from stemcache.cli.durations import DURATION, SOME_TIME, lasting


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("250ms", 0.25),
        ("5m", 300.0),
        ("5 min", 300.0),
        ("2h", 7200.0),
        ("1.5d", 129_600.0),
        ("0", 0.0),
        ("INF", math.inf),
    ],
)
def test_durations_are_seconds(text: str, seconds: float) -> None:
    """With a unit or without."""
    assert DURATION.convert(text, None, None) == seconds
    assert DURATION.convert(seconds, None, None) == seconds


@pytest.mark.parametrize("text", ["", "h", "-1s", "1 fortnight", "1e3", "nan", "2h30m"])
def test_what_is_no_duration_is_told(text: str) -> None:
    """With what one looks like."""
    with pytest.raises(click.BadParameter) as caught:
        DURATION.convert(text, None, None)
    assert caught.value.message == (f"{text!r} is no duration; use a number with a unit: 90s, 2h")


@pytest.mark.parametrize("text", ["0", "0ms", "0.1ms"])
def test_no_time_is_refused_where_something_has_to_happen(text: str) -> None:
    """With what is enough."""
    with pytest.raises(click.BadParameter) as caught:
        SOME_TIME.convert(text, None, None)
    assert caught.value.message == f"{text} is too short; write 1ms or more, such as 10s or 5m"
    assert SOME_TIME.convert("1ms", None, None) == 0.001


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 s"),
        (0.25, "0.2 s"),
        (1.0, "1 s"),
        (60.0, "1 min"),
        (90.0, "90 s"),
        (3600.0, "1 h"),
        (3537.0, "59 min"),
        (9000.0, "2.5 h"),
        (172_800.0, "2 d"),
    ],
)
def test_durations_are_told_with_a_unit_that_suits(seconds: float, words: str) -> None:
    """The largest that leaves two, or exactly one."""
    assert lasting(seconds) == words
