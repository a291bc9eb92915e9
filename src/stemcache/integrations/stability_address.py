"""Addresses of objects in what a builder gave: where they stand, and a prompt without them.

```
<Agent object at 0x7f57702bf100>    by its form, as the default repr writes it
139940566546960, 0x7f4673c6a590     by its value: a number that id() gave to the builder
```
A constant that looks like one (`segfault at 0x00badcafe`) is equal in every run, and so nothing
that differs; it is hidden only where addresses are allowed, or told already.
"""

import builtins
import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from stemcache.integrations.stability_patch import Patches, called_by_library
from stemcache.integrations.stability_prompt import Seen

__all__ = ["KIND", "hidden", "holds_address", "note_ids", "with_ids"]

KIND = "the address of an object"
_FORM = re.compile(r"(?:(?<=\bat )|(?<=<cdata )|(?<=<))0x[0-9a-fA-F]{6,16}\b")
_NUMBER = re.compile(r"(?<![0-9A-Za-z_.])(?:0x)?[0-9a-fA-F]{6,20}(?![0-9A-Za-z_])")
_PLACED = "0x…"


def note_ids(patches: Patches, ids: set[int]) -> None:
    """Add to a set what `id()` gives to all but the standard library and test runners."""
    real: Any = builtins.id

    def noted(value: object, /) -> int:
        number: int = real(value)
        if not called_by_library():
            ids.add(number)
        return number

    patches.attribute(builtins, "id", noted)


def with_ids(seen: Seen, ids: Collection[int]) -> Seen:
    """The prompt, with those numbers that stand in it. Linear."""
    if not ids:
        return seen
    texts = [*(one.text for one in seen.passages), *seen.parameters.values()]
    found = {number for text in texts for *_, number in _numbers(text, ids)}
    return replace(seen, ids=tuple(sorted(found)))


def holds_address(text: str, at: int, ids: Collection[int]) -> bool:
    """Whether an address stands around a place, or ends there."""
    near = text[max(0, at - 64) : at + 64]
    place = at - max(0, at - 64)
    return any(start <= place <= end for start, end in _places(near, ids))


def hidden(seen: Seen) -> Seen:
    """The prompt with one word in place of each address. Linear."""

    def without(text: str) -> str:
        parts: list[str] = []
        done = 0
        for start, end in _places(text, seen.ids):
            parts += [text[done:start], _PLACED]
            done = end
        return "".join([*parts, text[done:]])

    return seen.rewritten(without)


def _places(text: str, ids: Collection[int]) -> list[tuple[int, int]]:
    """Where each begins and ends, in order; none stands in another."""
    found = {one.start(): one.end() for one in _FORM.finditer(text)}
    found |= {start: end for start, end, _ in _numbers(text, ids)}
    return sorted(found.items())


def _numbers(text: str, ids: Collection[int]) -> Iterator[tuple[int, int, int]]:
    """Numbers of a set, in decimal or in hexadecimal digits."""
    if not ids:
        return
    for one in _NUMBER.finditer(text):
        digits = one.group()
        for base in (10, 16):
            try:
                number = int(digits, base)
            except ValueError:
                continue
            if number in ids:
                yield one.start(), one.end(), number
                break
