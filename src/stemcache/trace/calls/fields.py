"""Fields of decoded JSON that somebody else wrote: a value of the wanted type, or None.

Logs are untrusted: every field may be absent or of another type. A field of the wrong type is read
as one that is absent, since a call is worth more than its trimmings; only what makes the body
itself unreadable is an error.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

import msgspec

from stemcache.trace.problem import BadLineError, decode_problem
from stemcache.trace.times import log_time_s

__all__ = [
    "decoded",
    "first",
    "items_of",
    "json_of",
    "known_time_s",
    "mapping_of",
    "name_of",
    "nested",
    "number_of",
    "split_url",
    "status_of",
    "text_of",
]

_MAX_STATUS = 999
_MAX_DIGITS = 25


def decoded(text: bytes | str, what: str) -> Any:
    """JSON with the key order it has. Raises BadLineError, which names `what` and no content."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        reason = decode_problem(error, text)
    except UnicodeEncodeError:
        reason = "a text holds half of a surrogate pair, which is no character"
    raise BadLineError(f"{what}: {reason}" if what else reason)


def json_of(value: object) -> Any:
    """The value that a text of JSON spells; what is no text as it is; None for other texts."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


def mapping_of(value: object) -> Mapping[str, Any]:
    """An object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items_of(value: object) -> Sequence[Any]:
    """An array, or an empty one."""
    return value if isinstance(value, list) else ()


def text_of(value: object) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def name_of(value: object) -> str | None:
    """A name: a text, a whole number as its digits, or the `id` of an object."""
    if isinstance(value, dict):
        value = value.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_of(value)


def number_of(value: object) -> float | None:
    """A finite number that is not a truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def status_of(value: object) -> int | None:
    """An HTTP status, also where it is spelt as a text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 3:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 100 <= value <= _MAX_STATUS else None


def known_time_s(value: object) -> float | None:
    """A time as logs write it, in Unix seconds: a number, digits in a text, or ISO 8601."""
    if isinstance(value, str):
        value = value.strip()
        if value.isascii() and value.isdigit() and len(value) < _MAX_DIGITS:
            value = int(value)  # nanoseconds have more digits than a float
        elif value.isascii() and value.replace(".", "", 1).isdigit():
            value = float(value)
        elif value.endswith(" UTC"):
            value = value.removesuffix(" UTC")
    try:
        return log_time_s(value, "time")
    except (BadLineError, OverflowError, ValueError):
        return None


def first(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The value of the first of the fields that is there and not null."""
    for name in names:
        value = record.get(name)
        if value is not None:
            return value
    return None


def nested(record: object, *names: str) -> Any:
    """A field of a field, or None where something on the way is no object."""
    for name in names:
        if not isinstance(record, dict):
            return None
        record = record.get(name)
    return record


def split_url(value: object) -> tuple[str | None, str | None]:
    """Host and path of a URL, without what else it may carry: user, password, query."""
    url = text_of(value)
    if url is None:
        return None, None
    if "://" not in url:
        return (None, url.partition("?")[0]) if url.startswith("/") else (None, None)
    try:
        parts = urlsplit(url)
    except ValueError:
        return None, None
    return parts.hostname, parts.path or None
