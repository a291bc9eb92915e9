r"""Where in a text of JSON each value stands, and how the text is spelt.

```
text    { "a": [1, "x\u00e9"], "b": 2 }          paths    0 root
                                                          1 /a     parent 0
values  0: 0..32   1: 7..22   2: 8..9   3: …              2 /a/0   parent 1
keys    0: (1, 4)                                         …
```
A path is a number that stands for its parent's number and one key, so that neither deep nesting nor
long keys cost more than the text is long. Two maps with the same `Paths` number alike.

Scanning costs some microseconds a token and is given up beyond a bound: a map is for showing
places, and nothing is decided by it. Texts need not be valid JSON; of others some values are found
or none, and nothing is raised.
"""

import re
from dataclasses import dataclass, field

__all__ = ["JsonMap", "Paths", "line_and_column", "raw_offset", "scan", "unescaped"]

_MOST_TOKENS = 2**18
_TOKEN = re.compile(
    r'([ \t\r\n]*)(?:([{}\[\],:])|("[^"\\]*(?:\\.[^"\\]*)*")|([^\s{}\[\],:"]+))', re.DOTALL
)
_PIECE = re.compile(
    r"[^\\]+|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|\\",
    re.DOTALL,
)
_LONGEST_KEY = 2**16


class Paths:
    """Numbers for places in JSON. 0 is the root."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str | int], int] = {}
        self._made: list[tuple[int, str | int]] = [(-1, "")]

    def number(self, parent: int, key: str | int) -> int:
        """The number of a child, made where there is none. O(1)."""
        made = self._made
        number = self._numbers.setdefault((parent, key), len(made))
        if number == len(made):
            made.append((parent, key))
        return number

    def parent(self, number: int) -> int:
        """The number of the object or array that it is in; -1 for the root."""
        return self._made[number][0]

    def key(self, number: int) -> str | int:
        """The last part of its pointer."""
        return self._made[number][1]

    def find(self, pointer: str) -> int | None:
        """The number of a JSON pointer, None where no text has such a place."""
        at = 0
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = self._numbers.get((at, key))
            if found is None and key.isascii() and key.isdigit() and len(key) < 10:
                found = self._numbers.get((at, int(key)))
            if found is None:
                return None
            at = found
        return at

    def pointer(self, number: int) -> str:
        """Its JSON pointer. O(depth)."""
        parts: list[str] = []
        while number > 0:
            number, key = self._made[number]
            parts.append("/" + str(key).replace("~", "~0").replace("/", "~1"))
        return "".join(reversed(parts))


@dataclass(slots=True)
class JsonMap:
    """One text. Of keys that an object repeats the last counts, as decoders have it."""

    text: str
    paths: Paths
    values: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Start and end of each value in the text."""
    keys: dict[int, list[int]] = field(default_factory=dict)
    """Paths of an object's members, in order, repeated ones where they stand last."""
    repeated: list[int] = field(default_factory=list)
    """Paths of members that stand in their object more than once."""
    layout: str = "without white space"
    """In words: that, `on one line`, `indented by 2`."""
    tokens: int = 0

    def spelt(self, number: int) -> str:
        """The text of a value; empty where there is none."""
        start, end = self.values.get(number, (0, 0))
        return self.text[start:end]


@dataclass(slots=True)
class _Frame:
    path: int
    start: int
    is_object: bool
    index: int = 0
    key: int | None = None
    members: dict[int, None] = field(default_factory=dict)


def scan(text: str, paths: Paths, *, most_tokens: int = _MOST_TOKENS) -> JsonMap | None:
    """Map a text; None where it has more than `most_tokens` tokens or is no JSON. O(text)."""
    found = JsonMap(text, paths)
    stack: list[_Frame] = []
    at, spaced, indent = 0, False, ""
    while match := _TOKEN.match(text, at):
        found.tokens += 1
        if found.tokens > most_tokens:
            return None
        space, mark, string, _other = match.groups()
        if space and at:
            spaced = True
            indent = indent or (space if "\n" in space else "")
        at = match.end()
        start = at - len(match[0]) + len(space)
        frame = stack[-1] if stack else None
        if mark is not None and mark in ",:":
            continue
        if mark is not None and mark in "}]":
            if frame is None or frame.is_object != (mark == "}"):
                return None
            stack.pop()
            found.values[frame.path] = frame.start, at
            if frame.is_object:
                found.keys[frame.path] = list(frame.members)
            continue
        if frame is not None and frame.is_object and frame.key is None:
            if string is None:
                return None
            _enter_key(found, frame, string)
            continue
        path = _next_path(paths, frame)
        if mark is None:
            found.values[path] = start, at
        else:
            stack.append(_Frame(path, start, is_object=mark == "{"))
    if stack or not found.values or text[at:].strip():
        return None
    if indent:
        found.layout = f"indented by {len(indent) - indent.rfind(chr(10)) - 1}"
    elif spaced:
        found.layout = "on one line"
    return found


def _enter_key(found: JsonMap, frame: _Frame, string: str) -> None:
    key = unescaped(string) if len(string) <= _LONGEST_KEY else string
    number = found.paths.number(frame.path, key)
    if number in frame.members:
        del frame.members[number]
        found.repeated.append(number)
    frame.members[number] = None
    frame.key = number


def _next_path(paths: Paths, frame: _Frame | None) -> int:
    if frame is None:
        return 0
    if frame.is_object:
        assert frame.key is not None, "a key came before"
        number, frame.key = frame.key, None
        return number
    frame.index += 1
    return paths.number(frame.path, frame.index - 1)


_SHORT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def unescaped(string: str) -> str:
    """What a string of JSON, its quotes included, spells. Halves of surrogate pairs are joined."""
    bare = string[1:-1]
    if "\\" not in bare:
        return bare
    parts = [_piece(match[0]) for match in _PIECE.finditer(bare)]
    return "".join(parts)


def _piece(piece: str) -> str:
    if piece[0] != "\\":
        return piece
    if len(piece) == 12:
        high, low = int(piece[2:6], 16), int(piece[8:], 16)
        return chr(0x10000 + ((high & 0x3FF) << 10 | (low & 0x3FF)))
    if len(piece) == 6:
        return chr(int(piece[-4:], 16))
    return _SHORT.get(piece[1:], piece[1:])


def raw_offset(text: str, start: int, end: int, char: int) -> int:
    """Where character `char` of the string that stands at `[start, end)` is spelt. O(string)."""
    left = char
    for match in _PIECE.finditer(text, start + 1, max(start + 1, end - 1)):
        size = len(match[0]) if match[0][0] != "\\" else 1
        if left < size:
            return match.start() + (left if match[0][0] != "\\" else 0)
        left -= size
    return max(start, end - 1)


def line_and_column(text: str, offset: int, *, first_line: int = 1) -> tuple[int, int]:
    """Line and column of an offset, both counted from 1. O(offset)."""
    begin = text.rfind("\n", 0, offset) + 1
    return first_line + text.count("\n", 0, offset), offset - begin + 1
