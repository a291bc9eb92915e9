"""One side of a difference on one line, and where below it the carets stand.

```
masked   [14 chars] [ISO time, 20 chars] [44,687 chars]
                    ^^^^^^^^^^^^^^^^^^^^
text     …time: 2026-11-30T05:14:31Z…
                                 ^
```
Carets are counted in cells, so that they stand right below wide characters and escapes.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rich.cells import cell_len

from stemcache.lint.explain.explanation import Excerpt, View
from stemcache.lint.figures import count_of
from stemcache.lint.visible import visible

__all__ = ["Drawn", "around_place", "masked", "shown"]

_LONGEST_WINDOW = 160
_LENGTH = re.compile(r", (\d{1,3}(?:,\d{3}){0,4}) chars?$")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A line in three parts, of which the middle one differs."""

    before: str
    text: str
    after: str
    start_cell: int
    """Where the carets begin, from the line's own beginning."""
    cells: int
    """How many carets there are, one at least."""


def masked(view: View) -> Drawn:
    """Class and length of what differs, and the length of what stands around it.

    A volatile piece is drawn as a whole; of other texts no more than the characters that differ.
    """
    shape = f"[{visible(view.shape)}]" if view.shape else "[nothing]"
    excerpt = view.excerpt
    before = after = ""
    if excerpt is not None:
        ahead, behind = excerpt.before_chars, excerpt.after_chars
        if _is_exact(view.shape, excerpt):
            ahead += excerpt.exact_start
            behind += len(excerpt.text) - excerpt.exact_end
        before = f"[{count_of(ahead, 'char')}] " if ahead else ""
        after = f" [{count_of(behind, 'char')}]" if behind else ""
    return Drawn(before, shape, after, cell_len(before), cell_len(shape))


def around_place(view: View) -> str:
    """What the place is in the midst of, where a volatile piece is drawn as a whole: else empty."""
    excerpt = view.excerpt
    if excerpt is None or not excerpt.exact_start or _is_exact(view.shape, excerpt):
        return ""
    name = visible(view.shape.partition(",")[0])
    return f", in the {name} from char {excerpt.before_chars} on" if name else ""


def _is_exact(shape: str, excerpt: Excerpt) -> bool:
    """Whether a shape is that of the characters that differ, and of none around them."""
    return _chars_of(shape) == excerpt.exact_end - excerpt.exact_start


def _chars_of(shape: str) -> int:
    """The length that a shape states; 0 where there is nothing, -1 where it states none."""
    if not shape:
        return 0
    found = _LENGTH.search(shape)
    return -1 if found is None else int(found[1].replace(",", ""))


def shown(view: View, room: int) -> Drawn:
    """The text in so many cells, the part that differs whole where it fits. O(room)."""
    if view.excerpt is not None:
        return _excerpt(view.excerpt, room)
    if not view.text:
        return masked(view)
    text = visible(view.text, most_characters=_LONGEST_WINDOW)
    return Drawn("", text, "", 0, cell_len(text))


def _excerpt(excerpt: Excerpt, room: int) -> Drawn:
    most = max(8, min(_LONGEST_WINDOW, room * 2 // 3))
    start, end = excerpt.exact_start, excerpt.exact_end
    if len(excerpt.text) <= most:
        text = "".join(map(visible, excerpt.text))
        low, high = _cells(excerpt.text[:start]), _cells(excerpt.text[:end])
    else:
        piece = excerpt.text[start : start + most - 1]
        text = "".join(map(visible, piece)) + "…"
        low, high = 0, _cells(piece[: end - start])
    left = max(0, room - cell_len(text))
    ahead = _fitting(reversed(excerpt.before), left // 2)
    before = _more(len(ahead), excerpt.before_chars) + "".join(reversed(ahead))
    behind = _fitting(excerpt.after, left - cell_len(before))
    after = "".join(behind) + _more(len(behind), excerpt.after_chars)
    return Drawn(before, text, after, cell_len(before) + low, max(high - low, 1))


def _fitting(text: Iterable[str], cells: int) -> list[str]:
    """Its first characters as they are shown, as many as fit with a mark beside them."""
    found: list[str] = []
    left = cells - 1
    for char in text:
        one = visible(char)
        left -= cell_len(one)
        if left < 0:
            break
        found.append(one)
    return found


def _more(fitting: int, chars: int) -> str:
    return "…" if fitting < chars else ""


def _cells(text: str) -> int:
    return sum(cell_len(visible(char)) for char in text)
