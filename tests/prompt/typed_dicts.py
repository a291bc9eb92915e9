"""Whether a value fits a type that an official client declares, member by member.

Stricter than a type checker on the points that matter on the wire: members that no type declares
are reported, for a server would ignore or refuse them, and iterables have to be lists.
"""

import types
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

_LISTS = (list, Iterable, Sequence)
_OBJECTS = (dict, Mapping)


def misfits(value: object, kind: Any, at: str = "") -> list[str]:
    """What does not fit, with JSON pointers; empty where the value is of the type."""
    origin = get_origin(kind)
    if kind is object or kind is Any:
        return []
    if kind is None or kind is types.NoneType:
        return [] if value is None else [f"{at}: not null"]
    if origin in {Annotated, Required, NotRequired}:
        return misfits(value, get_args(kind)[0], at)
    if origin is Literal:
        return [] if value in get_args(kind) else [f"{at}: {value!r} is none of {get_args(kind)}"]
    if origin in {Union, types.UnionType}:
        found = [misfits(value, one, at) for one in get_args(kind)]
        return [] if [] in found else min(found, key=lambda one: _gravity(one, at))
    if is_typeddict(kind):
        return _object(value, kind, at)
    if origin in _OBJECTS:
        if not isinstance(value, dict):
            return [f"{at}: no object"]
        inner = get_args(kind)[1]
        return [one for key, item in value.items() for one in misfits(item, inner, f"{at}/{key}")]
    if origin in _LISTS or getattr(origin, "__name__", "") == "SequenceNotStr":
        if not isinstance(value, list):
            return [f"{at}: no list"]
        inner = get_args(kind)[0]
        return [one for i, item in enumerate(value) for one in misfits(item, inner, f"{at}/{i}")]
    if kind is float:
        return [] if isinstance(value, int | float) else [f"{at}: no number"]
    return [] if type(value) is kind else [f"{at}: no {getattr(kind, '__name__', kind)}"]


def _object(value: object, kind: Any, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at}: no object"]
    hints = _hints(kind)
    # The clients declare `Required` in strings, which the class itself does not look into.
    required = [name for name, hint in hints.items() if _is_required(hint)]
    found = [f"{at}/{name}: missing" for name in required if name not in value]
    for name, item in value.items():
        if name in hints:
            found += misfits(item, hints[name], f"{at}/{name}")
        else:
            found.append(f"{at}/{name}: unknown to {kind.__name__}")
    return found


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _is_required(hint: Any) -> bool:
    return get_origin(hint) is Required


def _gravity(found: list[str], at: str) -> tuple[bool, bool, int]:
    """The alternative that was meant: of the same shape, type and role, with fewest misfits."""
    other = any(one.startswith((f"{at}/type:", f"{at}/role:")) for one in found)
    return any(one.startswith(f"{at}: ") for one in found), other, len(found)
