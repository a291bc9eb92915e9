import pytest
from matplotlib.figure import Figure

from stemcache.cli import durations
from stemcache.lab.report.scale import log_scale, round_ticks, thinned
from stemcache.lab.report.wording import (
    capacity_of,
    compact,
    count,
    lasting,
    lives,
    percent,
    points,
    shortened,
    times,
)


def test_rates_differences_and_ratios_have_the_terminals_digits() -> None:
    """One digit after the point for rates and points, two for ratios, thousands apart."""
    assert "36.6%" == percent(0.36591)
    assert "0.0%" == percent(0.0)
    assert "13.4 points" == points(0.134)
    assert "-0.1 points" == points(-0.001)
    assert "1.19\N{MULTIPLICATION SIGN}" == times(1.19)
    assert "12,031" == count(12_031)
    assert "10,000" == capacity_of(10_000)


def test_what_is_missing_is_unknown_or_blank() -> None:
    """A rate that nobody knows is said to be unknown; a comparison that was not made is blank."""
    assert "unknown" == percent(None)
    assert ("", "") == (points(None), times(None))
    assert ("no bound", "no bound") == (capacity_of(None), lives(None))


@pytest.mark.parametrize(
    "seconds", [0.0, 0.5, 1.0, 59.9, 60.0, 61.0, 120.0, 300.0, 3600.0, 5400.0, 86_400.0, 1e6]
)
def test_durations_read_as_in_the_terminal(seconds: float) -> None:
    """The page and the table beside it use the same words."""
    assert durations.lasting(seconds) == lasting(seconds) == lives(seconds)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"),
        (7, "7"),
        (2.5, "2.5"),
        (999, "999"),
        (1024, "1,024"),
        (9999, "9,999"),
        (10_000, "10k"),
        (16_384, "16.4k"),
        (999_499, "999k"),
        (999_500, "1M"),
        (2**30, "1.07G"),
        (5 * 10**12, "5T"),
        (2**30 * 10**9, "1.07E"),
    ],
)
def test_numbers_on_an_axis_are_short(number: float, expected: str) -> None:
    """Exact while that is short, then three digits."""
    assert expected == compact(number)


def test_a_name_for_a_label_is_bounded_and_printable() -> None:
    """What a file brought may be long, or hold what XML cannot."""
    assert "lru" == shortened("lru")
    assert 40 == len(shortened("x" * 1000))
    assert shortened("x" * 1000).endswith("…")
    assert "a\N{REPLACEMENT CHARACTER}b" == shortened("a\x00b")


def test_a_scale_holds_its_values_and_one_place_more() -> None:
    """What has no bound stands beyond the largest that has one."""
    scale = log_scale([10, None, 1000])

    assert (10, 1000) == (scale.low, scale.high)
    assert 10 == scale.at(10)
    assert scale.at(None) > 1000
    assert log_scale([10, 1000]).beyond is None


def test_the_largest_value_keeps_its_label_beside_no_bound() -> None:
    """It is the one that a reader compares with."""
    scale = log_scale([0.5, 60, 86_400, None])
    axes = Figure().add_subplot()

    scale.put_on(axes, [0.5, 60, 86_400], lasting)

    assert ["0.5 s", "1 min", "1 d", "no bound"] == [
        label.get_text() for label in axes.get_xticklabels()
    ]


def test_a_scale_of_one_value_or_none_still_has_a_length() -> None:
    """A log axis cannot begin and end at one place."""
    for values in ([], [5], [None], [5, 5, None]):
        scale = log_scale(values)
        assert 10 * scale.low == scale.high


def test_a_scale_without_a_place_for_no_bound_refuses_it() -> None:
    """That would be a mistake of ours."""
    with pytest.raises(AssertionError, match="without a place"):
        log_scale([1, 2]).at(None)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1, 100_000, [1, 10, 100, 1000, 10_000, 100_000]),
        (1, 100, [1, 3, 10, 30, 100]),
        (3, 20, [5, 10, 20]),
        (11, 12, [11]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    """Decades if there are enough, else parts of them; never none."""
    assert expected == round_ticks(low, high)


def test_ticks_are_few() -> None:
    """Over the widest range that there is, they can still be read."""
    assert len(round_ticks(1, 10**18)) <= 9
    assert [0, 3, 6] == thinned([*range(9)], 3)
    assert [1.0] == thinned([1.0], 3)
    assert [] == thinned([])
