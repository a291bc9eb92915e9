"""Chunks of bytes to numbered lines, with a bound on what one line may hold in memory."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["ENDLESS_BYTES", "MAX_LINE_BYTES", "EndlessLineError", "Line", "numbered_lines"]

MAX_LINE_BYTES = 2**28
"""A request with 10 M block ids takes about 200 MB."""
ENDLESS_BYTES = 2**32
"""Behind so many bytes without a line's end there are no lines: what is read is a device, a file of
something else, or a bomb."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EndlessLineError(Exception):
    """A line goes on beyond all bounds. Never leaves the package."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Line(NamedTuple):
    """A line that is not blank."""

    number: int
    """Counted from 1, blank lines included."""
    text: bytes | None
    """None for a line that is longer than the bound."""


def numbered_lines(
    chunks: Iterable[bytes],
    *,
    max_line_bytes: int = MAX_LINE_BYTES,
    endless_bytes: int = ENDLESS_BYTES,
) -> Iterator[Line]:
    """Lines without their ends, blank ones left out. O(bytes), whatever the lines' lengths.

    Holds one chunk and at most `max_line_bytes` of the line that runs on. A line beyond that is
    told as soon as it is, before its end is looked for: who stops at it reads no further. Raises
    EndlessLineError where no end comes within `endless_bytes`.
    """
    number = 1
    parts: list[bytes] = []
    held = 0
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        for part in (first, *others[:-1]) if others else ():
            if held <= max_line_bytes:  # otherwise it was told before
                long = held + len(part) > max_line_bytes
                line = Line(number, None) if long else _joined(number, parts, part)
                if line is not None:
                    yield line
            number, held = number + 1, 0
            parts.clear()
        last = others[-1] if others else first
        told = held > max_line_bytes
        held += len(last)
        if held <= max_line_bytes:
            parts.append(last)
        else:
            parts.clear()
            if not told:
                yield Line(number, None)
            if held > endless_bytes:
                raise EndlessLineError(number)
    if held <= max_line_bytes:
        line = _joined(number, parts, b"")
        if line is not None:
            yield line


def _joined(number: int, parts: list[bytes], last: bytes) -> Line | None:
    text = b"".join([*parts, last]) if parts else last
    if number == 1:
        text = text.removeprefix(_BYTE_ORDER_MARK)
    return None if not text or text.isspace() else Line(number, text)
