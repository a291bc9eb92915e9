"""What to show of a difference: the differing text, widened to whole words, and not too long."""

from dataclasses import dataclass

from stemcache.trace.divergence.hunks import Hunk

__all__ = ["MOST_CHARS", "Window", "window_of"]

MOST_CHARS = 4096
_WIDEN_CHARS = 128
_INNER = frozenset("_-:.+/")
"""Belong to a word when they stand inside of it: times, versions, paths, ids."""


@dataclass(frozen=True, slots=True)
class Window:
    """Both sides of a difference."""

    old: str
    new: str


def window_of(old: str, new: str, hunk: Hunk) -> Window:
    """Whole words around the hunk: `2` ► `3` of two times becomes `10:31:02` ► `10:31:03`."""
    return Window(
        _widened(old, hunk.old_low, hunk.old_high), _widened(new, hunk.new_low, hunk.new_high)
    )


def _widened(text: str, low: int, high: int) -> str:
    start, end = low, high
    # A difference that begins (ends) with a word goes on to that word's beginning (end); where
    # there is nothing on this side, the words that it stands between are not part of it, unless
    # they are one word.
    while start > 0 and low - start < _WIDEN_CHARS and _inside(text[start - 1]):
        start -= 1
    while end < len(text) and end - high < _WIDEN_CHARS and _inside(text[end]):
        end += 1
    while start < low and not text[start].isalnum():
        start += 1
    while end > high and not text[end - 1].isalnum():
        end -= 1
    return text[start : min(end, start + MOST_CHARS)]


def _inside(char: str) -> bool:
    return char.isalnum() or char in _INNER
