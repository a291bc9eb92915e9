"""Names from a log, made safe to show: paths, JSON pointers, routes, and with --show-text texts.

A pointer holds keys of objects, and those are as untrusted as anything in a log.
"""

from collections.abc import Sequence
from unicodedata import category

__all__ = ["encodable", "listed", "visible"]

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"
"""Writing needs them, and they move nothing."""


def visible(text: str, *, most_characters: int = 400) -> str:
    """The text on one line, with controls and marks of direction as escapes.

    Of what is longer than `most_characters` the middle is left out, so this is O(that). Not to be
    read back.
    """
    assert most_characters >= 8, "there is room for two ends and the mark between them"
    if len(text) > most_characters:
        tail = most_characters // 4
        head = most_characters - tail - 1
        text = f"{text[:head]}…{text[-tail:]}"
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def encodable(text: str) -> str:
    """The same text where UTF-8 can hold it; halves of surrogate pairs stand there as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def listed(names: Sequence[str], *, most: int = 3) -> str:
    """The first few names, safe to show, and how many more there are: `a, b, c and 2 more`."""
    shown = ", ".join(visible(name, most_characters=60) for name in names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def _shown(character: str) -> str:
    if category(character) not in _UNSEEN or character in _JOINERS:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
