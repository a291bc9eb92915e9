"""Numbers in words, as the terminal writes them. An unknown rate is said to be unknown, never 0."""

from typing import Any

__all__ = [
    "capacity_of",
    "compact",
    "count",
    "lasting",
    "lives",
    "percent",
    "points",
    "shortened",
    "times",
]

_LONGEST_NAME = 40


def percent(rate: float | None) -> str:
    """36.6%."""
    return "unknown" if rate is None else f"{rate:.1%}"


def points(rate: float | None) -> str:
    """The difference of two rates; nothing where there is none."""
    return "" if rate is None else f"{100 * rate:.1f} points"


def times(ratio: float | None) -> str:
    """How many times as much; nothing where that is not known."""
    return "" if ratio is None else f"{ratio:.2f}\N{MULTIPLICATION SIGN}"


def count(number: int) -> str:
    """12,031."""
    return f"{number:,}"


def capacity_of(blocks: int | None) -> str:
    """In blocks; null has no bound."""
    return "no bound" if blocks is None else f"{blocks:,}"


def lives(ttl_s: float | None) -> str:
    """A time to live; null has no bound."""
    return "no bound" if ttl_s is None else lasting(ttl_s)


def lasting(seconds: float) -> str:
    """A duration with the unit that suits it."""
    for unit, size in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size or seconds == size:
            return f"{seconds / size:,.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:,.1f}".removesuffix(".0") + " s"


def compact(number: float) -> str:
    """For an axis: exact below 10,000, then three digits and a letter."""
    if number < 10_000:
        return f"{number:,g}" if number < 1000 else f"{number:,.0f}"
    letters = iter("kMGTPE")
    letter = ""
    while number >= 999.5:
        number /= 1000
        letter = next(letters)
    return f"{number:.3g}{letter}"


def shortened(name: Any) -> str:
    """A name that a file brought, fit for a label: bounded, without control characters."""
    clean = "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(name)
    )
    return clean if len(clean) <= _LONGEST_NAME else clean[: _LONGEST_NAME - 1] + "…"
