"""JSON of strangers, read and written without an exception for what is no JSON."""

import json
from typing import Any

import msgspec

__all__ = ["dumped", "parsed"]


def parsed(data: bytes) -> Any:
    """The value; None for what is none. Halves of surrogate pairs are let through, as sent."""
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        # A stream may be cut between the two halves of a character, which only Python's bears.
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            return None


def dumped(value: Any) -> bytes:
    """The value on one line."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")
