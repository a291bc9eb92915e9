"""JSON pointers into the child: to a block, to the message it begins, behind the last one."""

from collections.abc import Sequence

from stemcache.trace.spans.span import Span
from stemcache.wire.section import Section

__all__ = ["behind", "block_or_message", "message_of"]


def message_of(span: Span) -> str:
    """Pointer to the message that a span belongs to: `/messages/3` of `/messages/3/content/1`."""
    return "/".join(span.pointer.split("/")[:3])


def _begins(spans: Sequence[Span], i: int) -> bool:
    """Whether span `i` is the first of its message."""
    return i == 0 or spans[i - 1].message != spans[i].message


def block_or_message(spans: Sequence[Span], i: int) -> str:
    """Pointer to span `i`, to its whole message where it is the first block of one."""
    span = spans[i]
    if span.section is Section.MESSAGES and _begins(spans, i):
        return message_of(span)
    return span.pointer


def behind(spans: Sequence[Span], low: int, high: int, gone: Sequence[Span], at: int) -> str:
    """Pointer behind the spans `[low, high)` of a section, where span `at` of `gone` is missing."""
    if low == high:
        return block_or_message(gone, at)
    last = spans[high - 1]
    whole = last.section is Section.MESSAGES and _begins(gone, at)
    pointer = message_of(last) if whole else last.pointer
    head, _, number = pointer.rpartition("/")
    if not number.isascii() or not number.isdigit():
        return pointer
    return f"{head}/{int(number) + 1}"
