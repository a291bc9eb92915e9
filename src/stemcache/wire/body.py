"""A request body: from bytes to the fields that an endpoint implements.

```
bytes ──decode_object──► dict ──settle──► implemented fields, no nulls ──convert──► a Struct
            │                      │                                         │
     malformed JSON,       unknown name, or a value                   a value of the
     not an object         that asks for what is not there            wrong type
```
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec

from stemcache.errors import RequestError, UnsupportedError

__all__ = ["Fields", "convert", "cut", "decode_object", "settle", "show"]

T = TypeVar("T")

_NEAR = 64
"""Longer names are like none of ours."""

_BYTE = re.compile(r"\(byte (\d+)\)")
_PATH = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
_MISSING = re.compile(r"missing required field `(\w+)`")


@dataclass(frozen=True, slots=True)
class Fields:
    """What an endpoint does with each documented field of its body."""

    implemented: frozenset[str]
    harmless: frozenset[str] = frozenset()
    """Accepted whatever they say: they change nothing about the answer by their own definition."""
    neutral: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Accepted with these values, which ask for nothing; refused with others."""

    @property
    def names(self) -> frozenset[str]:
        """Every documented name."""
        return self.implemented | self.harmless | frozenset(self.neutral)


def show(value: object) -> str:
    """A user's value as JSON, cut to a length that fits a message."""
    return cut(msgspec.json.encode(value).decode())


def cut(text: str) -> str:
    """A text of the user's, short enough to say back."""
    return text if len(text) <= 40 else text[:37] + "..."


def decode_object(raw: bytes) -> dict[str, Any]:
    """Parse a body that must be one JSON object. Raises RequestError with the position."""
    try:
        body = msgspec.json.decode(raw)
    except RecursionError:
        raise RequestError("the request body nests too deep; send flatter JSON") from None
    except msgspec.DecodeError as error:
        raise RequestError(
            f"the request body is not JSON: {_position(raw, str(error))}; send one JSON object"
        ) from None
    if not isinstance(body, dict):
        raise RequestError(f"the request body is {show(body)}, not an object; send one JSON object")
    return body


def _position(raw: bytes, problem: str) -> str:
    problem = problem.removeprefix("JSON is malformed: ")
    found = _BYTE.search(problem)
    if found is None:
        return f"{problem[0].lower()}{problem[1:]} ({len(raw)} bytes)"
    at = int(found[1])
    line = raw.count(b"\n", 0, at) + 1
    column = at - raw.rfind(b"\n", 0, at)
    return _BYTE.sub(f"at line {line} column {column} (byte {at})", problem)


def settle(body: Mapping[str, Any], fields: Fields) -> dict[str, Any]:
    """The implemented fields that are given, a null counting as not given.

    Raises RequestError for a name that is not documented, UnsupportedError for a value that asks
    for something this server does not do.
    """
    kept: dict[str, Any] = {}
    for name, value in body.items():
        if name not in fields.names:
            # Comparing takes time that grows with the name, and no documented one is near these.
            near = get_close_matches(name, fields.names, n=1) if len(name) <= _NEAR else []
            hint = f"did you mean {near[0]!r}?" if near else "remove it"
            raise RequestError(
                f"unknown field {show(name)} in the request body; {hint}", param=cut(name)
            )
        if value is None:
            continue
        if name in fields.implemented:
            kept[name] = value
        elif name in fields.neutral and not any(_same(value, v) for v in fields.neutral[name]):
            allowed = "".join(f" or send {show(v)}" for v in fields.neutral[name][:1])
            raise UnsupportedError(
                f"{name} is {show(value)} in the request body, which this server does not "
                f"support; leave it out{allowed}",
                param=name,
            )
    return kept


def _same(value: object, other: object) -> bool:
    # In Python False == 0 and True == 1; in JSON they are not.
    return isinstance(value, bool) == isinstance(other, bool) and value == other


def convert(values: Mapping[str, Any], type_: type[T]) -> T:
    """Fill a Struct. Raises RequestError naming the field whose value has the wrong type."""
    try:
        return msgspec.convert(values, type_)
    except msgspec.ValidationError as error:
        found = _PATH.match(str(error))
        assert found is not None, "the pattern matches any text"
        what, path = found["what"], (found["path"] or "").lstrip(".")
        missing = _MISSING.search(what)
        if missing is not None:
            path = f"{path}.{missing[1]}" if path else missing[1]
            raise RequestError(
                f"{path} is missing from the request body; add it", param=path
            ) from None
        raise RequestError(
            f"{path} in the request body cannot be read: {what[0].lower()}{what[1:]}; "
            "send a value of that type",
            param=path,
        ) from None
