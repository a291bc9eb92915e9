"""Canonical JSON: one text for equal values, whatever order dictionaries were made in.

```
{"b": 1.0, "a": (True, "é")}  ──►  {"a":[true,"é"],"b":1}
```
Keys are sorted by code points, nothing is blank, text stays text (UTF-8, no escapes for what is
not ASCII). A number is written by its value: a float without a fraction as the integer that it
equals, any other as the shortest decimal that reads back as itself, integers with all their digits,
also beyond 2^53. `true` is not `1`.

Sorting is also what a model reads: where arguments are to be written in an order, say a reason
before an answer, their names have to sort so.
"""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

from stemcache.errors import UsageError

__all__ = ["canonical_json", "canonical_schema", "canonical_value"]

_DEEPEST = 128
_MOST_BITS = 4096
"""Of an integer: about 1,200 digits, so that nothing takes long to write."""
_ONE_SCHEMA = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_SCHEMAS = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_SCHEMAS_BY_NAME = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)


def canonical_json(value: object) -> str:
    """The text, linear in its length. Raises UsageError, with the place, for what is no JSON."""
    return _text(canonical_value(value))


def canonical_value(value: object) -> Any:
    """The same value of plain dictionaries, lists and numbers, its keys in canonical order.

    Whoever dumps it with keys in the order they have writes the canonical order. Raises UsageError.
    """
    return _plain(value, ())


def canonical_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON Schema in canonical order, in which lists that are sets (`required`) are sorted too.

    `enum`, `examples` and `default` are left in the order given. Raises UsageError.
    """
    plain = _plain(schema, ())
    if not isinstance(plain, dict):
        raise UsageError(
            f"a schema is a {type(schema).__name__}; give the JSON Schema of an object"
        )
    return _schema(plain)


def _text(plain: object) -> str:
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(value: object, path: tuple[str | int, ...]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _string(value, path)
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise UsageError(
                f"the integer at {_place(path)} has {value.bit_length()} bits; "
                f"at most {_MOST_BITS} are written, so pass it as a string"
            )
        return int(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise UsageError(
                f"the number at {_place(path)} is {float(value)!r}, which JSON has no word for; "
                "pass null or a string"
            )
        return int(value) if value.is_integer() else float(value)
    if len(path) >= _DEEPEST:
        raise UsageError(
            f"a value is nested more than {_DEEPEST} deep, at {_place(path)}; "
            "flatten it, or look for an object that holds itself"
        )
    if isinstance(value, Mapping):
        return _object(value, path)
    if isinstance(value, list | tuple):
        return [_plain(item, (*path, at)) for at, item in enumerate(value)]
    raise UsageError(
        f"the value at {_place(path)} is a {type(value).__name__}, which is no JSON; "
        "pass dictionaries with string keys, lists, strings, numbers, true, false or null"
    )


def _object(value: Mapping[Any, Any], path: tuple[str | int, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise UsageError(
                f"a key of the object at {_place(path)} is a {type(key).__name__}; "
                "keys of JSON are strings"
            )
        name = _string(key, path)
        if name in found:
            raise UsageError(
                f"the object at {_place(path)} has the key {name[:40]!r} twice; leave one of them"
            )
        found[name] = _plain(item, (*path, name))
    return dict(sorted(found.items()))


def _string(value: str, path: tuple[str | int, ...]) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the string at {_place(path)} has half of a surrogate pair at character "
            f"{error.start}, which is no UTF-8; decode it with errors='replace'"
        ) from None
    return str.__str__(value)


def _place(path: tuple[str | int, ...]) -> str:
    """A JSON pointer, cut short where it is long."""
    if not path:
        return "the top"
    text = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
    shown = text if len(text) <= 120 else text[:57] + " … " + text[-57:]
    return shown.encode("utf-8", "replace").decode()


def _schema(plain: dict[str, Any]) -> dict[str, Any]:
    """Sets sorted; the value is plain and its keys are in order already."""
    return {key: _keyword(key, value) for key, value in plain.items()}


def _keyword(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        if key in _ONE_SCHEMA:
            return _schema(value)
        if key in _SCHEMAS_BY_NAME:
            return {name: _subschema(one) for name, one in value.items()}
        if key == "dependentRequired":
            return {name: _set(one) for name, one in value.items()}
        if key == "dependencies":
            return {name: _set(_subschema(one)) for name, one in value.items()}
    if isinstance(value, list):
        if key in _SCHEMAS:
            return [_subschema(one) for one in value]
        if key == "required":
            return _set(value)
    return value


def _subschema(value: Any) -> Any:
    return _schema(value) if isinstance(value, dict) else value


def _set(value: Any) -> Any:
    names = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return sorted(value) if names else value
