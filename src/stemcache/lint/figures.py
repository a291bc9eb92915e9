"""Tokens, money and shares in few characters.

| figure | shown |
|---|---|
| 9,876 tokens | `9,876` |
| 1,234,567 tokens | `1.23M` |
| 12.3 dollars | `$12.30` |
| 0.00042 dollars | `$0.00042` |
| unknown | an empty text, never a zero |
"""

import math

__all__ = ["count_of", "money", "percent", "tokens"]

_UNITS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))
_WHOLE_TO = 10_000


def tokens(number: int) -> str:
    """Whole below ten thousand, three digits and a unit above."""
    if abs(number) < _WHOLE_TO:
        return f"{number:,}"
    # 999,500 is shown as 1.00M: what rounds up to a thousand of a unit is one of the next.
    size, unit = next(each for each in _UNITS if abs(number) >= 0.9995 * each[0])
    value = number / size
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{digits}f}{unit}"


def money(usd: float | None) -> str:
    """Dollars and cents; smaller sums with two digits that say something; empty where unknown."""
    if usd is None or not math.isfinite(usd):
        return ""
    sign, size = ("-" if usd < 0 else ""), abs(usd)
    if size >= 999.995:
        return f"{sign}${size:,.0f}"
    if size >= 0.0995 or size == 0:
        return f"{sign}${size:,.2f}"
    if size < 1e-6:
        return f"{sign}under $0.000001"
    places = 1 - math.floor(math.log10(size))
    whole, _, cents = f"{size:.{places}f}".partition(".")
    return f"{sign}${whole}.{cents.rstrip('0').ljust(2, '0')}"


def percent(share: float | None) -> str:
    """One digit behind the point; what is little is not called nothing."""
    if share is None or not math.isfinite(share):
        return ""
    if 0 < share < 0.0005:
        return "under 0.1%"
    if 0.9995 <= share < 1:
        return "over 99.9%"
    return f"{share:.1%}"


def count_of(number: int, one: str, many: str = "") -> str:
    """`1 request`, `2,000 requests`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
