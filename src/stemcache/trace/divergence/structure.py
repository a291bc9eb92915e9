"""The first difference of two JSON values, in the order in which their keys were written.

```
old  {"name": "f", "input_schema": {"type": "object", "properties": {…}}}
new  {"name": "f", "input_schema": {"properties": {…}, "type": "object"}}
                    └ /input_schema: the same members, its keys in another order
```
Values nest as deep as a decoder lets them; nothing here recurses into them but the JSON encoder,
whose refusal counts as "not the same".

Cost: linear in both values.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from stemcache.trace.divergence.hunks import Hunk, common_prefix, common_suffix
from stemcache.trace.divergence.window import MOST_CHARS, window_of
from stemcache.trace.spans.structure import escaped, is_marker

__all__ = ["Spot", "first_difference", "same_but_order", "same_json_text"]

_MARKERS = frozenset({"cache_control", "prompt_cache_breakpoint", "cachePoint"})
_SETS = frozenset({"required"})
"""Arrays of JSON Schema that mean a set: other order, same meaning."""
_MOST_JSON_CHARS = 2**20


@dataclass(frozen=True, slots=True)
class Spot:
    """A place where two values differ."""

    pointer: str
    """Below the values' own pointer; empty for the values themselves."""
    char: int | None
    key_order: bool
    old: str
    new: str


_Path = tuple["_Path", str] | tuple[()]
"""A pointer as a chain from its end, so that a step down costs the same at every depth."""

_Step = tuple[object, object, _Path]
"""Two values to be compared, and where they stand."""


class _Difference(NamedTuple):
    path: _Path
    char: int | None
    key_order: bool
    old: str
    new: str

    def spot(self) -> Spot:
        """With the pointer written out."""
        parts: list[str] = []
        path = self.path
        while path:
            path, key = path
            parts.append(f"/{escaped(key)}")
        return Spot("".join(reversed(parts)), self.char, self.key_order, self.old, self.new)


@dataclass(frozen=True, slots=True)
class _Keys:
    """Two objects whose keys are the same up to number `at`.

    Looked into only when the walk comes there: telling whether they mean the same costs as much as
    they are long.
    """

    old: Mapping[str, object]
    new: Mapping[str, object]
    mine: list[str]
    theirs: list[str]
    path: _Path
    at: int

    def difference(self) -> _Difference:
        """What differs there: the order, a key that came, or one that went."""
        mine, theirs, at = self.mine, self.theirs, self.at
        came = set(theirs) - set(mine)
        went = set(mine) - set(theirs)
        if not came and not went:
            same = same_but_order(self.old, self.new)
            return _Difference(self.path, None, same, _listed(mine), _listed(theirs))
        if at < len(theirs) and theirs[at] in came:
            shown = _shown(self.new[theirs[at]])
            return _Difference((self.path, theirs[at]), None, False, "", shown)
        if at < len(mine) and mine[at] in went:
            return _Difference(self.path, None, False, _shown(self.old[mine[at]]), "")
        return _Difference(self.path, None, False, _listed(mine), _listed(theirs))


def same_but_order(old: object, new: object) -> bool:
    """Whether both mean the same but for the order of keys (and of `required`)."""
    try:
        return _canonical(old) == _canonical(new)
    except (RecursionError, ValueError, TypeError):
        return False


def same_json_text(old: str, new: str) -> bool:
    """Whether both are JSON objects or arrays with the same value, spelt in two ways."""
    if max(len(old), len(new)) > _MOST_JSON_CHARS:
        return False
    if old.lstrip()[:1] not in {"{", "["} or new.lstrip()[:1] not in {"{", "["}:
        return False
    try:
        return same_but_order(json.loads(old), json.loads(new))
    except (RecursionError, ValueError):
        return False


def first_difference(old: object, new: object) -> Spot | None:
    """Where they first differ, markers left out; None where they do not."""
    todo: list[_Step | _Keys | _Difference] = [(old, new, ())]
    while todo:
        item = todo.pop()
        if isinstance(item, _Difference):
            return item.spot()
        if isinstance(item, _Keys):
            return item.difference().spot()
        mine, theirs, path = item
        if mine is theirs:
            continue
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            todo += reversed(_members(mine, theirs, path))
        elif isinstance(mine, list) and isinstance(theirs, list):
            todo += reversed(_items(mine, theirs, path))
        elif isinstance(mine, str) and isinstance(theirs, str):
            if mine != theirs:
                return _strings(mine, theirs, path).spot()
        elif type(mine) is not type(theirs) or mine != theirs:
            return _Difference(path, None, False, _shown(mine), _shown(theirs)).spot()
    return None


def _members(
    old: Mapping[str, object], new: Mapping[str, object], path: _Path
) -> list[_Step | _Keys | _Difference]:
    mine, theirs = _keys(old), _keys(new)
    both = min(len(mine), len(theirs))
    at = next((i for i in range(both) if mine[i] != theirs[i]), both)
    steps: list[_Step | _Keys | _Difference] = [
        (old[key], new[key], (path, key)) for key in theirs[:at]
    ]
    if at < max(len(mine), len(theirs)):
        steps.append(_Keys(old, new, mine, theirs, path, at))
    return steps


def _items(old: list[Any], new: list[Any], path: _Path) -> list[_Step | _Keys | _Difference]:
    if (
        path
        and path[1] in _SETS
        and all(isinstance(item, str) for item in (*old, *new))
        and old != new
        and sorted(old) == sorted(new)
    ):
        return [_Difference(path, None, True, _listed(old), _listed(new))]
    both = min(len(old), len(new))
    steps: list[_Step | _Keys | _Difference] = [
        (old[i], new[i], (path, str(i))) for i in range(both)
    ]
    if len(new) > both:
        steps.append(_Difference((path, str(both)), None, False, "", _shown(new[both])))
    elif len(old) > both:
        steps.append(_Difference((path, str(both)), None, False, _shown(old[both]), ""))
    return steps


def _strings(old: str, new: str, path: _Path) -> _Difference:
    front = common_prefix(old, new)
    back = common_suffix(old, new, min(len(old), len(new)) - front)
    shown = window_of(old, new, Hunk(front, len(old) - back, front, len(new) - back))
    return _Difference(path, front, same_json_text(old, new), shown.old, shown.new)


def _keys(value: Mapping[str, object]) -> list[str]:
    return [key for key in value if key not in _MARKERS or not is_marker(value[key])]


def _listed(keys: list[str]) -> str:
    return ", ".join(keys)[:MOST_CHARS]


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value[:MOST_CHARS]
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))[:MOST_CHARS]
    except (RecursionError, ValueError, TypeError):
        return ""


def _canonical(value: object) -> str:
    return json.dumps(_plain(value, ""), sort_keys=True)


def _plain(value: Any, name: str) -> Any:
    """Without markers, and with arrays that mean sets in one order. Nests as the value does."""
    if isinstance(value, Mapping):
        return {key: _plain(value[key], key) for key in _keys(value)}
    if isinstance(value, list):
        if name in _SETS and all(isinstance(item, str) for item in value):
            return sorted(value)
        return [_plain(item, "") for item in value]
    if isinstance(value, str) and name == "arguments":
        try:
            return [_plain(json.loads(value), "")] if value[:1] in {"{", "["} else value
        except ValueError:
            return value
    return value
