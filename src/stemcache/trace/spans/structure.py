"""Structures as the text that is compared: compact JSON in the order sent, without markers.

```
{"name": "f", "input_schema": {…}, "cache_control": {"type": "ephemeral"}}
                    │
                    ▼
{"name":"f","input_schema":{…}}          a marker is no content: moving it changes nothing
```
A member of a marker's name may also be an object's own, such as a property of a tool's schema. It
is a marker where its value is null, or an object that is no schema.
"""

import json
from typing import Any

import msgspec

from stemcache.trace.spans.bad_body import BadBodyError

__all__ = ["escaped", "is_marker", "structure_text"]

_NAMES = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
_QUOTED = tuple(f'"{name}"'.encode() for name in _NAMES)
_SCHEMA_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_MEMBERS = frozenset({"type", "ttl", "mode", "scope"})

_encode = msgspec.json.Encoder().encode


def structure_text(value: Any) -> str:
    """Compact JSON, characters unescaped. Linear; a structure with markers is written twice.

    Raises BadBodyError where it nests too deep or holds what is no JSON.
    """
    try:
        try:
            data = _encode(value)
        except (ValueError, OverflowError):  # half a surrogate pair, or an integer of many digits
            return _odd_text(value)
        for name in _QUOTED:
            if name in data:
                data = _encode(_stripped(value))
                break
    except RecursionError:
        raise BadBodyError("the JSON nests too deep") from None
    except (TypeError, ValueError):
        raise BadBodyError("the body holds values that are no JSON") from None
    return data.decode()


def _odd_text(value: Any) -> str:
    return json.dumps(_stripped(value), ensure_ascii=False, separators=(",", ":"))


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _stripped(member)
            for key, member in value.items()
            if key not in _NAMES or not is_marker(member)
        }
    if isinstance(value, list):
        return [_stripped(item) for item in value if not _is_point(item)]
    return value


def _is_point(item: Any) -> bool:
    """Whether an item of a list is nothing but Converse's marker."""
    return (
        isinstance(item, dict)
        and len(item) == 1
        and "cachePoint" in item
        and is_marker(item["cachePoint"])
    )


def is_marker(value: Any) -> bool:
    """Whether the value of a member that is named like a marker makes it one, or its absence."""
    if value is None:
        return True
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind is None:
        return value.keys() <= _MEMBERS
    return isinstance(kind, str) and kind not in _SCHEMA_TYPES


def escaped(key: str) -> str:
    """A key as a part of a JSON pointer."""
    if "~" in key or "/" in key:
        return key.replace("~", "~0").replace("/", "~1")
    return key
