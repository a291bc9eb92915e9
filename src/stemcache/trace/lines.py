"""Chunks of bytes to numbered lines, with a bound on what one line may hold in memory."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["MAX_LINE_BYTES", "Line", "numbered_lines"]

MAX_LINE_BYTES = 2**28
"""A request with 10 M block ids takes about 200 MB."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """A line that is not blank."""

    number: int
    """Counted from 1, blank lines included."""
    text: bytes | None
    """None for a line that is longer than the bound."""


def numbered_lines(
    chunks: Iterable[bytes], *, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Line]:
    """Lines without their ends, blank ones left out. O(bytes), whatever the lines' lengths.

    Holds one chunk and at most `max_line_bytes` of the line that runs on.
    """
    number = 1
    parts: list[bytes] = []
    held = 0
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        for part in (first, *others[:-1]) if others else ():
            line = _joined(number, parts, part, held + len(part) > max_line_bytes)
            if line is not None:
                yield line
            number, held = number + 1, 0
            parts.clear()
        last = others[-1] if others else first
        held += len(last)
        if held > max_line_bytes:
            parts.clear()
        else:
            parts.append(last)
    line = _joined(number, parts, b"", held > max_line_bytes)
    if line is not None:
        yield line


def _joined(number: int, parts: list[bytes], last: bytes, too_long: bool) -> Line | None:  # noqa: FBT001
    if too_long:
        return Line(number, None)
    text = b"".join([*parts, last]) if parts else last
    if number == 1:
        text = text.removeprefix(_BYTE_ORDER_MARK)
    return None if not text or text.isspace() else Line(number, text)
