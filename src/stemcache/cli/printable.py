"""Names that others chose, made safe to print: tenants, sessions, models, files.

| in the name | printed |
|---|---|
| ESC, NUL, a line's end and other controls | `\\x1b`, `\\x00`, `\\n` |
| marks that turn the direction of writing, and others without a shape | `\\u202e`, `\\ufeff` |
| half of a surrogate pair, which no terminal can be sent | `\\ud800` |
| more than fits | its beginning, `…`, its end |

For what people read. JSON has escapes of its own and keeps names as they are.
"""

from collections.abc import Iterator
from unicodedata import category

__all__ = ["printable"]

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"
"""Writing needs them, in Persian and in pictures of families, and they move nothing."""
_ELLIPSIS = "…"


def printable(text: str, *, most_characters: int = 120) -> str:
    """The text on one line, at most so many characters long, whatever it holds.

    O(`most_characters`), however long the text. Not to be read back: a text that spells an escape
    with a backslash prints alike.
    """
    assert most_characters >= 1, "there is room for the mark that something is left out"
    if len(text) <= most_characters:
        whole = "".join(map(_shown, text))
        if len(whole) <= most_characters:
            return whole
    room = most_characters - len(_ELLIPSIS)
    tail = list(_fitting(reversed(text), room // 3))
    head = _fitting(iter(text), room - sum(map(len, tail)))
    return "".join([*head, _ELLIPSIS, *reversed(tail)])


def _fitting(characters: Iterator[str], room: int) -> Iterator[str]:
    for character in characters:
        shown = _shown(character)
        room -= len(shown)
        if room < 0:
            return
        yield shown


def _shown(character: str) -> str:
    if category(character) not in _UNSEEN or character in _JOINERS:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
