"""Figures of one usage object as they are stated, before it is decided what they mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Stated", "by_ttl", "count_of", "has_any", "inner", "plus"]

_LARGEST = 10**10
"""No call has more tokens; a larger figure is none."""
_TTLS = {
    "ephemeral_5m_input_tokens": "5m",
    "ephemeral_1h_input_tokens": "1h",
    "ttl_30m_tokens": "30m",
    "ttl_12h_tokens": "12h",
}


@dataclass(slots=True, kw_only=True)
class Stated:
    """What one object says. Changed only while it is read."""

    given: int | None = None
    """The figure for the prompt."""
    includes: bool | None = None
    """Whether `given` includes read and written tokens, as the shape is documented; None: it
    depends on who wrote it."""
    plain: int | None = None
    """Stated apart: tokens neither read nor written."""
    extra: int = 0
    """Prompt tokens that `given` leaves out whichever way it is read."""
    read: int | None = None
    written: int | None = None
    by_ttl: dict[str, int] = field(default_factory=dict)
    output: int | None = None
    total: int | None = None
    total_sums: bool = False
    """Whether `total` is documented to be the sum of all shares, so that it tells what `given`
    includes."""
    odd: list[str] = field(default_factory=list)


def count_of(values: Mapping[str, Any], *keys: str, odd: list[str]) -> int | None:
    """The first of the keys that holds a count; what is there and is none is said in `odd`."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, Mapping):  # OTLP's JSON
            value = value.get("intValue", value.get("doubleValue", value.get("stringValue")))
        if value is None:
            continue
        count = _count(value)
        if count is not None:
            return count
        odd.append(f"{key} is no count of tokens")
    return None


def has_any(values: Mapping[str, Any], *keys: str) -> bool:
    """Whether one of the keys holds anything but null."""
    return any(values.get(key) is not None for key in keys)


def inner(values: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The first of the keys that holds an object, or an empty one."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, Mapping):
            return value
    return {}


def by_ttl(values: Mapping[str, Any], *, odd: list[str]) -> dict[str, int]:
    """Written tokens by the name of their lifetime."""
    found: dict[str, int] = {}
    for key, ttl in _TTLS.items():
        tokens = count_of(values, key, odd=odd)
        if tokens is not None:
            found[ttl] = tokens
    return found


def plus(first: int | None, second: int | None) -> int | None:
    """The sum, unknown where a part is."""
    return None if first is None or second is None else first + second


def _count(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value <= _LARGEST else None
    if isinstance(value, float):
        return int(value) if 0 <= value <= _LARGEST and value.is_integer() else None
    if isinstance(value, str) and len(value) <= 11 and value.isascii() and value.isdigit():
        return int(value)
    return None
