"""Where two prompts first differ, and what kind of text that is.

```
held     …You are an agent. It is 2026-03-14 09:26:53. Answer brief…
varied   …You are an agent. It is 2031-10-08 22:41:05. Answer brief…
                                    ▲ byte 27 of /system/0/text, byte 1,310 in all: an ISO time
```
Only what has to stay is compared: passages before the cut of the prompt that is compared with, and
parameters that some provider's rule makes part of its key or of its choice of a server.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

from stemcache.integrations.stability_address import KIND, holds_address
from stemcache.integrations.stability_prompt import Passage, Seen
from stemcache.lint.text_class import classify

__all__ = ["Difference", "difference"]

_BEFORE_CHARS, _BEHIND_CHARS = 32, 40
_WINDOW_CHARS = 4_096
_NUMBER = re.compile(r"[+-]?\d[\d.,'   _]*(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first place."""

    section: str
    """`tools`, `system`, `messages`, `text`, or `parameters`."""
    pointer: str
    """JSON pointer to the string; empty for a text by itself."""
    offset_bytes: int
    """In that string."""
    prefix_bytes: int
    """All that stands before it, in bytes of UTF-8."""
    kind: str
    """What differs, with an article: `an ISO time with seconds`, `the order of keys`."""
    old: str
    """Of the prompt that is compared with: a few characters before the place, and behind it."""
    new: str
    before_chars: int
    """How many of them stand before it, in both."""

    @property
    def of_an_address(self) -> bool:
        """Whether it is where an object lies that differs, whatever else was varied."""
        return KIND in self.kind


def difference(held: Seen, other: Seen) -> Difference | None:
    """The first, or None where all that has to stay is equal. Linear."""
    prefix_bytes = 0
    ended = Passage("", "", "", "")
    for number, old in enumerate(held.passages[: held.cut]):
        new = other.passages[number] if number < len(other.passages) else ended
        if _read(old) != _read(new):
            return _differing(held, other, number, new, prefix_bytes)
        prefix_bytes += len(_bytes(old.text))
    return _parameter(held, other, prefix_bytes)


def _read(one: Passage) -> tuple[object, ...]:
    return one.section, one.head, one.text, one.marker


def _differing(held: Seen, other: Seen, number: int, new: Passage, prefix_bytes: int) -> Difference:
    old = held.passages[number]
    at = _first(old.text, new.text)
    kind = _passage_kind(held, other, number, new)
    if kind is None:
        kind = _kind(old.text, new.text, at, held.ids, other.ids)
    start = max(0, at - _BEFORE_CHARS)
    offset = _common_bytes(old.text, new.text, at)
    return Difference(
        section=old.section,
        pointer=old.pointer,
        offset_bytes=offset,
        prefix_bytes=prefix_bytes + offset,
        kind=kind,
        old=old.text[start : at + _BEHIND_CHARS],
        new=new.text[start : at + _BEHIND_CHARS],
        before_chars=at - start,
    )


def _first(old: str, new: str) -> int:
    """Characters that are equal from the start."""
    low, high = 0, min(len(old), len(new))
    if old[:high] == new[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _common_bytes(old: str, new: str, at: int) -> int:
    """How many bytes are equal: characters that differ may begin with equal ones."""
    equal = len(_bytes(old[:at]))
    for one, two in zip(_bytes(old[at : at + 1]), _bytes(new[at : at + 1]), strict=False):
        if one != two:
            break
        equal += 1
    return equal


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")  # bytes that were no UTF-8
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _passage_kind(held: Seen, other: Seen, number: int, new: Passage) -> str | None:
    """What differs where it is not the text, or more than this passage."""
    old = held.passages[number]
    if new.section == "":
        return "the number of pieces: the other prompt ends before this one"
    if old.text == new.text and old.head == new.head:
        if old.section != new.section:
            return f"the section: the other prompt has it in {new.section}"
        return "the marker behind it"
    ours = [_read(one) for one in held.passages if one.section == old.section]
    theirs = [_read(one) for one in other.passages if one.section == old.section]
    if ours != theirs and sorted(map(repr, ours)) == sorted(map(repr, theirs)):
        return f"the order of {old.section}: the same ones stand in another order"
    if old.text == new.text:
        return f"who speaks, or what kind of block it is: {old.head!r}, then {new.head!r}"
    return None


def _kind(old: str, new: str, at: int, ids: Collection[int], new_ids: Collection[int]) -> str:
    if holds_address(old, at, ids) and holds_address(new, at, new_ids):
        return f"{KIND}, as id() and the default repr write it"
    if _same_json(old, new):
        return "the order of keys: the same JSON, its objects written in another order"
    ours, theirs = _windows(old, new, at)
    one, two = _holds(_NUMBER, old, at), _holds(_NUMBER, new, at)
    if one and two and re.sub(r"\D", "", one) == re.sub(r"\D", "", two):
        return "a number, written with other separators"
    told = classify(ours, theirs, before=new[max(0, at - 1024) : at], line=_line(new, at))
    if told is not None:
        return told.phrase
    if one and two and _nearly(one, two):
        return "the last digits of a number: a sum taken in another order"
    if sorted(old.splitlines()) == sorted(new.splitlines()):
        return "the order of lines: the same ones stand in another order"
    if sorted(_words(old)) == sorted(_words(new)):
        return "the order of words: the same ones stand in another order"
    if at == len(old) or new.endswith(old[at:]):
        return "text that was added"
    if at == len(new) or old.endswith(new[at:]):
        return "text that is missing"
    return "text"


def _windows(old: str, new: str, at: int) -> tuple[str, str]:
    """What differs, without the end that is equal."""
    ours, theirs = old[at : at + _WINDOW_CHARS], new[at : at + _WINDOW_CHARS]
    most = min(len(ours), len(theirs))
    whole = len(old) - at <= _WINDOW_CHARS and len(new) - at <= _WINDOW_CHARS
    end = 0
    while whole and end < most and ours[-1 - end] == theirs[-1 - end]:
        end += 1
    return ours[: len(ours) - end], theirs[: len(theirs) - end]


def _holds(pattern: re.Pattern[str], text: str, at: int) -> str | None:
    """What matches around a place, or ends there."""
    start = max(0, at - 64)
    for found in pattern.finditer(text, start, at + 64):
        if found.start() <= at <= found.end():
            return found.group()
    return None


def _nearly(old: str, new: str) -> bool:
    """Whether only rounding tells two numbers apart."""
    try:
        one, two = float(old.rstrip(",.' ")), float(new.rstrip(",.' "))
    except ValueError:
        return False
    return one != two and abs(one - two) <= 1e-9 * max(abs(one), abs(two))


def _same_json(old: str, new: str) -> bool:
    for start in ("{", "["):
        ours, theirs = old.find(start), new.find(start)
        if ours < 0 or ours != theirs:
            continue
        try:
            one, end = json.JSONDecoder().raw_decode(old, ours)
            two, other_end = json.JSONDecoder().raw_decode(new, theirs)
        except (ValueError, RecursionError):
            continue
        if one == two and old[ours:end] != new[theirs:other_end]:
            return True
    return False


def _words(text: str) -> Iterator[str]:
    return (found.group() for found in _WORD.finditer(text))


def _line(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return text[start : end if end >= 0 else len(text)]


def _parameter(held: Seen, other: Seen, prefix_bytes: int) -> Difference | None:
    for pointer in sorted(held.parameters.keys() | other.parameters.keys()):
        old = held.parameters.get(pointer, "")
        new = other.parameters.get(pointer, "")
        if old == new or pointer not in _keys():
            continue
        at = _first(old, new)
        told = _kind(old, new, at, held.ids, other.ids)
        start = max(0, at - _BEFORE_CHARS)
        return Difference(
            section="parameters",
            pointer=pointer,
            offset_bytes=_common_bytes(old, new, at),
            prefix_bytes=prefix_bytes,
            kind=f"a parameter that is part of a cache's key ({told})",
            old=old[start : at + _BEHIND_CHARS],
            new=new[start : at + _BEHIND_CHARS],
            before_chars=at - start,
        )
    return None


@cache
def _keys() -> frozenset[str]:
    """Pointers of parameters that key a cache or choose a server, by any provider's rule."""
    from stemcache.provider.book import load_book  # noqa: PLC0415 - only where one differs

    rules = load_book().rules.values()
    keys = {pointer for rule in rules for key in rule.keys for pointer in key.pointers}
    return frozenset(keys | {field for rule in rules for field in rule.routing_fields})
