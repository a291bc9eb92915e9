r"""Values as Python prints them, cut out of a line of a log and read without running anything.

```
obj=GenerateReqInput(rid='a', text='it\'s', input_ids=[1, 2]), out={'text': …}
    └──────────────── argument_at ──────────────────────────┘
```
The scan goes through a line once, steps over strings, and counts brackets.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any

import msgspec

__all__ = ["named_values", "python_value", "value_end"]

_TEXT = r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'{0}|"[^"\\]*+(?:\\.[^"\\]*+)*+"{0}"""
_TOKEN = re.compile(_TEXT.replace("{0}", "?") + r"|[()\[\]{},]", re.DOTALL)
"""A string whose end is missing goes on to the end of the line: looking for strings inside it would
cost the square of its length."""
_STRING = re.compile(_TEXT.replace("{0}", ""), re.DOTALL)
_NUMBERS = re.compile(r"\[[\d, ]*+\]")
_NAME = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]{0,60})=")
_MAX_PARSED_CHARS = 2**21


def value_end(text: str, start: int) -> int:
    """Where the value that begins at `start` ends: before a comma or a bracket that is not its."""
    depth = 0
    for found in _TOKEN.finditer(text, start):
        piece = found.group()
        if piece[0] in "([{":
            depth += 1
        elif piece[0] in ")]}":
            depth -= 1
            if depth < 0:
                return found.start()
            if depth == 0:
                return found.end()
        elif depth == 0:
            return found.start() if piece == "," else found.end()
    return len(text)


def named_values(text: str) -> Iterator[tuple[str, str]]:
    """Name and text of each argument of a call such as `NAME(a=1, b='x')`."""
    start = text.find("(") + 1
    depth = 0
    begun = start
    for found in _TOKEN.finditer(text, start):
        piece = found.group()
        if piece[0] in "([{":
            depth += 1
        elif piece[0] in ")]}" or (piece == "," and depth == 0):
            if depth == 0:
                yield from _named(text, begun, found.start())
                begun = found.end()
                if piece != ",":
                    return
            else:
                depth -= 1
    yield from _named(text, begun, len(text))


def _named(text: str, start: int, end: int) -> Iterator[tuple[str, str]]:
    name = _NAME.match(text, start, end)
    if name is not None:
        yield name.group(1), text[name.end() : end]


def python_value(text: str) -> Any:
    """The value that a text spells, None for one that is no plain value or is too long."""
    text = text.strip()
    if text[:1] in {"'", '"'}:
        return _unescaped(text[1:-1]) if _STRING.fullmatch(text) is not None else None
    if _NUMBERS.fullmatch(text):
        try:
            return msgspec.json.decode(text)
        except msgspec.MsgspecError:
            return None
    if len(text) > _MAX_PARSED_CHARS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _plain(ast.literal_eval(text))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return None


def _plain(value: Any) -> Any:
    """What JSON could say too, with null for the rest. Python's parser bounds the depth."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items() if isinstance(key, str)}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool) else None


def _unescaped(text: str) -> str | None:
    """A text as it was before Python wrote it; None where its escapes are none of Python's."""
    if "\\" not in text:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = text.encode("ascii", "backslashreplace").decode("unicode_escape")
        # Half of a surrogate pair is no character and could not be written anywhere.
        return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    except UnicodeError:
        return None
