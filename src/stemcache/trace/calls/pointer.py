"""JSON pointers (RFC 6901): written for where a body stands, and followed for `--map`."""

from collections.abc import Iterable
from typing import Any

from stemcache.errors import UsageError
from stemcache.trace.calls.fields import json_of

__all__ = ["follow", "parsed_pointer", "pointer"]


def pointer(parts: Iterable[str | int]) -> str:
    """Spell a pointer."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def parsed_pointer(text: str, name: str) -> tuple[str, ...]:
    """The parts of a pointer. Raises UsageError for a text that is none."""
    if text and not text.startswith("/"):
        raise UsageError(
            f"the pointer {text!r} for {name} does not begin with a slash; write it like "
            "/payload/body, or leave it empty for the whole line"
        )
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])


def follow(value: Any, parts: Iterable[str]) -> Any:
    """What a pointer leads to, through texts of JSON on the way as well, or None."""
    for part in parts:
        value = json_of(value)
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isascii() and part.isdigit() and len(part) < 10:
            number = int(part)
            value = value[number] if number < len(value) else None
        else:
            return None
    return value
