"""Both sides of a change: where in the files they stand, and the text there.

The parent's place is found by analogy: the same way into the span that the child's span was before.
"""

from dataclasses import dataclass

from stemcache.lint.cause import Cause
from stemcache.lint.explain.explanation import Excerpt, View
from stemcache.lint.explain.json_map import JsonMap, Paths, line_and_column, raw_offset, scan
from stemcache.lint.explain.request import Request
from stemcache.lint.place import exact, window_start
from stemcache.lint.text_class import shape_of
from stemcache.trace.calls.pointer import follow
from stemcache.trace.divergence.change import Change

__all__ = ["Side", "side_of", "views_of"]

_AROUND_CHARS = 400


@dataclass(frozen=True, slots=True)
class Side:
    """A request and the map of its text, where there is one."""

    request: Request
    map: JsonMap | None

    def view(
        self,
        pointer: str,
        char: int | None,
        *,
        shape: str = "",
        excerpt: Excerpt | None = None,
        text: str = "",
    ) -> View:
        """A place of the body, with the line and column that it has in the file."""
        place = self.request.call.place
        line, column = self._position(pointer, char)
        return View(
            file=place.file,
            line=line,
            column=column,
            pointer=pointer,
            char=char,
            shape=shape,
            excerpt=excerpt,
            text=text,
        )

    def text_at(self, pointer: str) -> str | None:
        """The string that stands there."""
        body = self.request.call.body
        parts = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
        node: object = body
        for part in parts:
            if not isinstance(node, dict | list):
                return None
            node = follow(node, (part,))
        return node if isinstance(node, str) else None

    def _position(self, pointer: str, char: int | None) -> tuple[int | None, int | None]:
        text, found = self.request.text, self.map
        if text is None or text.first_line is None or found is None:
            return None, None
        number = found.paths.find(text.inner + pointer)
        if number is None or number not in found.values:
            return None, None
        start, end = found.values[number]
        if char is not None and found.text.startswith('"', start):
            start = raw_offset(found.text, start, end, char)
        return line_and_column(found.text, start, first_line=text.first_line)


def side_of(request: Request, paths: Paths) -> Side:
    """O(text)."""
    return Side(request, None if request.text is None else scan(request.text.text, paths))


def views_of(
    change: Change, cause: Cause, old: Side, new: Side, *, first: bool
) -> tuple[View | None, View]:
    """The parent's view, None where it has nothing there, and the child's.

    `first`: no change before it is in the same string, so that both sides count characters alike.
    """
    differing = change.old, change.new
    if change.char is not None:
        differing = exact(change.old, change.new)
    text = new.text_at(change.pointer) if change.char is not None else None
    after = None
    if text is not None and change.char is not None:
        after = _excerpt(text, change.char, change.new, change.old)
    new_view = new.view(
        change.pointer,
        change.char,
        shape=cause.new or _shape(differing[1]),
        excerpt=after,
        text=change.new,
    )
    pointer = _before(change)
    if pointer is None:
        return None, new_view
    old_text = old.text_at(pointer) if first and change.char is not None else None
    before = None
    if old_text is not None and change.char is not None and change.char <= len(old_text):
        before = _excerpt(old_text, change.char, change.old, change.new)
    char = change.char if before is not None else None
    shape = cause.old or _shape(differing[0])
    return old.view(pointer, char, shape=shape, excerpt=before, text=change.old), new_view


def _shape(text: str) -> str:
    return shape_of(text) if text else ""


def _before(change: Change) -> str | None:
    """Where the parent has what the child has at the change's pointer."""
    if not change.before:
        return None
    old = change.before[0]
    if not change.after:
        return old.pointer
    new = change.after[0]
    if change.pointer == new.text_pointer:
        return old.text_pointer
    if change.pointer.startswith(f"{new.pointer}/"):
        return old.pointer + change.pointer[len(new.pointer) :]
    return old.pointer


def _excerpt(text: str, char: int, window: str, other: str) -> Excerpt:
    """The window around a character, and the line that it stands on.

    Costs time in the length of the window. `other` is the other request's window.
    """
    start = window_start(text, char, window, other)
    window = window if text.startswith(window, start) else text[start : start + len(window)]
    end = start + len(window)
    head = text.rfind("\n", max(0, start - _AROUND_CHARS), start) + 1
    head = max(head, start - _AROUND_CHARS, 0)
    tail = text.find("\n", end, end + _AROUND_CHARS)
    tail = tail if tail >= 0 else min(len(text), end + _AROUND_CHARS)
    exact_start = min(max(char - start, 0), len(window))
    behind = _common_end(window, other, most=min(len(window), len(other)) - exact_start)
    return Excerpt(
        before=text[head:start],
        text=window,
        after=text[end:tail],
        before_chars=start,
        after_chars=len(text) - end,
        exact_start=exact_start,
        exact_end=max(len(window) - behind, exact_start),
    )


def _common_end(one: str, other: str, *, most: int) -> int:
    count = 0
    while count < most and one[-1 - count] == other[-1 - count]:
        count += 1
    return count
