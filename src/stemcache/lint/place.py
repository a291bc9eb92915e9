"""Where a change stands: the text around it, the place in words, and the place without numbers.

```
/messages/3/content/1/text   ──►  in words     in message 3 (user)
                             ──►  for groups   /messages/*/content/*/text
```
"""

import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import islice

from stemcache.lint.cause import Pair
from stemcache.trace.divergence.change import Change
from stemcache.trace.spans.span import Span
from stemcache.wire.section import Section

__all__ = [
    "Around",
    "around",
    "earlier_on_line",
    "exact",
    "group_place",
    "where",
    "window_start",
]

_AHEAD_CHARS = 1024
_WIDENED_CHARS = 128
"""So far a window begins ahead of the first character that differs."""
_WINDOW_CHARS = 4096
_LINE_CHARS = 4096 + 1024
_NUMBER = re.compile(r"/\d+(?=/|$)")
_PARTS = 6
_MOST_BEFORE = 256


@dataclass(frozen=True, slots=True)
class Around:
    """The child's text around a change."""

    before: str
    """What stands ahead of the window, 1,024 characters at most."""
    line: str
    """The line that the window begins in, up to the end of the line that it ends in."""


def around(change: Change) -> Around:
    """The text around; empty where what differs is no string. O(length of window and line)."""
    text = _string_at(change)
    if text is None or change.char is None or change.char > len(text):
        return Around("", "")
    start = window_start(text, change.char, change.new, change.old)
    end = start + len(change.new)
    begin = text.rfind("\n", max(0, start - _AHEAD_CHARS), start) + 1
    begin = begin or max(0, start - _AHEAD_CHARS)
    stop = text.find("\n", end, end + _LINE_CHARS)
    stop = stop if stop >= 0 else min(len(text), end + _LINE_CHARS)
    return Around(text[max(0, start - _AHEAD_CHARS) : start], text[begin:stop])


def window_start(text: str, char: int, window: str, other: str) -> int:
    """Where a window begins in its text, whose first character that differs is `char`.

    Ahead of that both windows are widened to the same words, so what they begin with alike is what
    they were widened by. To look for the window in the text would find it elsewhere where the text
    repeats itself. O(window).
    """
    start = char - _common_start(window, other)
    if start >= 0 and text.startswith(window, start):
        return start
    at = text.rfind(window, max(0, char - _WIDENED_CHARS), char + len(window))
    return at if window and at >= 0 else char


def exact(old: str, new: str) -> tuple[str, str]:
    """Both windows without what they were widened by: from the first difference to the last.

    Of windows that were cut the ends are not compared. O(windows).
    """
    front = _common_start(old, new)
    old, new = old[front:], new[front:]
    if front + max(len(old), len(new)) >= _WINDOW_CHARS:
        return old, new
    back = 0
    while back < min(len(old), len(new)) and old[-1 - back] == new[-1 - back]:
        back += 1
    return old[: len(old) - back], new[: len(new) - back]


def _common_start(one: str, other: str) -> int:
    for at, (ours, theirs) in enumerate(zip(one, other, strict=False)):
        if ours != theirs:
            return at
    return min(len(one), len(other))


def earlier_on_line(change: Change, pair: Pair) -> tuple[Change, ...]:
    """Up to three changes ahead of this one on the same line of the same string."""
    text = _string_at(change)
    if text is None or change.char is None:
        return ()
    changes = pair.divergence.changes
    low = bisect_left(changes, change.after_index, key=lambda other: other.after_index)
    found: list[Change] = []
    for other in islice(changes, low, low + _MOST_BEFORE):
        if other is change:
            break
        if other.pointer == change.pointer and other.char is not None:
            apart = change.char - other.char
            if 0 <= apart <= _AHEAD_CHARS and "\n" not in text[other.char : change.char]:
                found.append(other)
    return tuple(found[-3:])


def _string_at(change: Change) -> str | None:
    """The child's string that the pointer names."""
    for span in change.after:
        if span.text_pointer == change.pointer:
            return span.text
        if change.pointer.startswith(f"{span.pointer}/"):
            found = _member(span.value, change.pointer[len(span.pointer) + 1 :])
            if found is not None:
                return found
    return None


def _member(value: object, pointer: str) -> str | None:
    for part in pointer.split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif (
            isinstance(value, list) and key.isdecimal() and len(key) < 10 and int(key) < len(value)
        ):
            value = value[int(key)]
        else:
            return None
    return value if isinstance(value, str) else None


def where(change: Change) -> str:
    """The place in words, to end a sentence: `in the system prompt`, `in message 3 (user)`."""
    if change.section is Section.TOOLS:
        return "in a tool's definition"
    if change.section is Section.SYSTEM:
        return "in the system prompt"
    if change.pointer.startswith("/prompt"):
        return "in the prompt"
    span: Span | None = next(iter(change.after or change.before), None)
    if span is None or span.message < 0:
        return "in the history"
    role = f" ({span.role})" if span.role in {"user", "assistant", "tool", "model"} else ""
    return f"in message {span.message}{role}"


def group_place(change: Change) -> str:
    """The place with numbers of messages and tools left out, for occurrences of one cause."""
    parts = change.pointer.split("/", _PARTS)[:_PARTS]
    pointer = "/".join(part[:64] for part in parts)
    if change.section is Section.SYSTEM:
        return f"system:{pointer}"
    if change.section is Section.TOOLS:
        return "tools:" + "/".join(_NUMBER.sub("/*", pointer).split("/")[:4])
    return "messages:" + _NUMBER.sub("/*", pointer)
