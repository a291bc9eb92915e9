import math

import pytest

from stemcache.lint.figures import count_of, money, percent, tokens


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (1, "1"),
        (9_999, "9,999"),
        (10_000, "10.0k"),
        (12_345, "12.3k"),
        (123_456, "123k"),
        (999_499, "999k"),
        (999_500, "1.00M"),
        (1_234_567, "1.23M"),
        (99_960_000, "100M"),
        (4_500_000_000, "4.50B"),
        (10**15, "1,000T"),
        (10**30, "1,000,000,000,000,000,000T"),
        (-12_345, "-12.3k"),
    ],
)
def test_tokens_have_three_digits(number: int, shown: str) -> None:
    """Above ten thousand, with a unit; below they are whole."""
    assert tokens(number) == shown


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (0.0, "$0.00"),
        (12.3, "$12.30"),
        (0.1, "$0.10"),
        (0.05, "$0.05"),
        (0.034, "$0.034"),
        (0.00042, "$0.00042"),
        (1e-9, "under $0.000001"),
        (999.99, "$999.99"),
        (999.999, "$1,000"),
        (123_456.7, "$123,457"),
        (-2.5, "-$2.50"),
        (None, ""),
        (math.nan, ""),
        (math.inf, ""),
    ],
)
def test_money_has_cents_and_small_sums_have_digits(usd: float | None, shown: str) -> None:
    """What is not known is an empty text, never a zero."""
    assert money(usd) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0.0%"),
        (0.0001, "under 0.1%"),
        (0.8, "80.0%"),
        (0.99999, "over 99.9%"),
        (1.0, "100.0%"),
        (1.5, "150.0%"),
        (None, ""),
        (math.nan, ""),
    ],
)
def test_a_little_is_not_called_nothing(share: float | None, shown: str) -> None:
    """Nor is almost all called all."""
    assert percent(share) == shown


def test_one_is_singular() -> None:
    """And everything else is not."""
    assert count_of(1, "request") == "1 request"
    assert count_of(2000, "request") == "2,000 requests"
    assert count_of(0, "entry", "entries") == "0 entries"
