"""Times of traces: milliseconds in decimal, exactly; and what logs write.

A decimal number of milliseconds is read as the nearest float of seconds, by moving its point and
not by dividing, and a float of seconds is written as the decimal of milliseconds that reads back
as the same float.
"""

import math
from datetime import UTC, datetime
from decimal import Decimal

import msgspec

from stemcache.trace.problem import BadLineError

__all__ = ["MAX_SECONDS", "log_time_s", "milliseconds", "seconds"]

MAX_SECONDS = 1e11
"""Some 3,000 years either way: times beyond it are in another unit, or nonsense."""

_UNITS = ((10**17, 10**9), (10**14, 10**6), (10**11, 10**3))
"""From this number on, a time since 1970 is in ns, in µs, in ms; below in seconds."""


def seconds(raw: msgspec.Raw, name: str) -> float | None:
    """The time that a field spells in milliseconds; None for null or a field that is not there."""
    text = bytes(raw)
    if text in {b"", b"null"}:
        return None
    if text[0] not in b"-0123456789":
        raise BadLineError(f"{name} is not a number of milliseconds")
    if b"e" in text or b"E" in text:
        value = float(Decimal(text.decode()).scaleb(-3))
    else:
        value = float(text + b"e-3")
    return _bounded(value, name)


def milliseconds(arrival_s: float) -> bytes:
    """The JSON number that `seconds` reads back exactly."""
    shifted = Decimal(repr(arrival_s)).scaleb(3)
    text = format(shifted, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text).encode()


def log_time_s(value: object, name: str) -> float | None:
    """A log's time in seconds since 1970, or since its own zero; None for null.

    Numbers are seconds, or ms, µs, ns where that is what makes them a date; texts are ISO 8601,
    in UTC where they name no zone.
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise BadLineError(f"{name} is no ISO 8601 time") from None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadLineError(f"{name} is neither a number nor a text")
    for start, unit in _UNITS:
        if value >= start:
            return _bounded(value / unit, name)
    return _bounded(float(value), name)


def _bounded(value: float, name: str) -> float:
    if not math.isfinite(value) or abs(value) > MAX_SECONDS:
        raise BadLineError(f"{name} is too large for a time", fix="mend its unit")
    return value
