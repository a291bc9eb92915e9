r"""What differs in the text of JSON but not in what it says.

| kind | one text | the other |
|---|---|---|
| white-space | `{"a": 1}` | `{"a":1}` |
| escapes | `"\u00e9"`, `"\/"` | `"é"`, `"/"` |
| numbers | `1.0` | `1` |
| key-order | `{"model": …, "messages": …}` | `{"messages": …, "model": …}` |
| repeated-keys | `{"a": 1, "a": 2}` | `{"a": 2}` |

Providers read bodies, not their text, so none of it costs anything. Order and numbers inside of
what a provider writes out again, such as a tool's schema, are left to the comparison of contents.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from stemcache.lint.explain.json_map import JsonMap, unescaped

__all__ = ["Spelling", "SpellingKind", "spellings"]

SpellingKind = Literal["white-space", "escapes", "numbers", "key-order", "repeated-keys"]

_LONGEST_NUMBER = 64
_MOST_KEYS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """One kind of difference that no provider sees."""

    kind: SpellingKind
    count: int
    """At how many places."""
    pointer: str
    """The first of them; empty for the body as a whole."""
    old: str = ""
    """How the first request is spelt, in words or names of keys. Never a text of a prompt."""
    new: str = ""


def spellings(old: JsonMap, new: JsonMap, *, rendered: Iterable[int]) -> list[Spelling]:
    """All kinds that there are. O(both maps).

    Both maps are of whole bodies and number paths alike. `rendered` are the paths of what a
    provider writes out again.
    """
    seen = _Rendered(old, rendered)
    found = [
        _white_space(old, new),
        _escapes(old, new),
        _numbers(old, new, seen),
        _key_order(old, new, seen),
        _repeated(old, new),
    ]
    return [one for one in found if one is not None]


class _Rendered:
    """Whether a path is in a part of the body that is written out again."""

    def __init__(self, of: JsonMap, rendered: Iterable[int]) -> None:
        self._paths = of.paths
        self._known = {-1: False} | dict.fromkeys(rendered, True)

    def __contains__(self, path: int) -> bool:
        """O(1) when asked of all paths of a map."""
        climbed = []
        while path not in self._known:
            climbed.append(path)
            path = self._paths.parent(path)
        found = self._known[path]
        self._known.update(dict.fromkeys(climbed, found))
        return found


def _white_space(old: JsonMap, new: JsonMap) -> Spelling | None:
    one, other = old.layout, new.layout
    if one == other:
        bare, other_bare = old.text.strip(), new.text.strip()
        if old.tokens != new.tokens or bare == other_bare or one == "without white space":
            return None
        if "".join(bare.split()) != "".join(other_bare.split()):
            return None
        other = f"{other}, in another way"
    return Spelling(kind="white-space", count=1, pointer="", old=one, new=other)


def _pairs(old: JsonMap, new: JsonMap) -> Iterator[tuple[int, str, str]]:
    """Path and both texts of what is spelt otherwise."""
    for path, (start, end) in new.values.items():
        if path not in old.values or path in new.keys:
            continue
        before, after = old.spelt(path), new.text[start:end]
        if before != after and before and after:
            yield path, before, after


def _escapes(old: JsonMap, new: JsonMap) -> Spelling | None:
    found = [
        path
        for path, before, after in _pairs(old, new)
        if before[0] == after[0] == '"'
        and ("\\" in before or "\\" in after)
        and unescaped(before) == unescaped(after)
    ]
    if not found:
        return None
    return Spelling(kind="escapes", count=len(found), pointer=new.paths.pointer(found[0]))


def _numbers(old: JsonMap, new: JsonMap, seen: _Rendered) -> Spelling | None:
    found = [
        path
        for path, before, after in _pairs(old, new)
        if _same_number(before, after) and path not in seen
    ]
    if not found:
        return None
    return Spelling(kind="numbers", count=len(found), pointer=new.paths.pointer(found[0]))


def _same_number(one: str, other: str) -> bool:
    if max(len(one), len(other)) > _LONGEST_NUMBER:
        return False
    if not (one[0] in "-0123456789" and other[0] in "-0123456789"):
        return False
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False


def _key_order(old: JsonMap, new: JsonMap, seen: _Rendered) -> Spelling | None:
    found: list[tuple[int, list[int], list[int]]] = []
    for path, keys in new.keys.items():
        before = old.keys.get(path)
        if before is None or before == keys:
            continue
        both = set(before) & set(keys)
        first, second = [key for key in before if key in both], [key for key in keys if key in both]
        if first != second and path not in seen:
            found.append((path, first, second))
    if not found:
        return None
    path, first, second = min(found, key=lambda each: each[0])
    return Spelling(
        kind="key-order",
        count=len(found),
        pointer=new.paths.pointer(path),
        old=_names(old, first),
        new=_names(new, second),
    )


def _names(of: JsonMap, keys: list[int]) -> str:
    shown = [str(of.paths.key(key))[:40] for key in keys[:_MOST_KEYS]]
    return ", ".join(shown) + (", …" if len(keys) > _MOST_KEYS else "")


def _repeated(old: JsonMap, new: JsonMap) -> Spelling | None:
    one, other = old.repeated, new.repeated
    if one == other:
        return None
    paths = other or one
    return Spelling(
        kind="repeated-keys",
        count=len(set(one) ^ set(other)) or 1,
        pointer=new.paths.pointer(paths[0]),
        old=f"{len(one)}" if one else "none",
        new=f"{len(other)}" if other else "none",
    )
