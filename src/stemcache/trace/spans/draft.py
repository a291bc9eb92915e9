"""Spans in the making: a block is read by itself, and its place is known when its message ends.

```
message 3 ──► [Draft, Draft, Draft] ──finished──► Span, Span, Span(ends_message=True)
```
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stemcache.trace.spans.span import Marker, Span, SpanKind
from stemcache.trace.spans.structure import structure_text
from stemcache.wire.section import Section

__all__ = ["Draft", "Parts", "finished", "structure"]


class Draft(NamedTuple):
    """A span without its message. A named tuple, for there is one a block and they do not last."""

    pointer: str
    text_pointer: str
    role: str
    kind: SpanKind
    text: str
    value: Any
    marker: Marker | None = None
    label: str = ""


@dataclass(slots=True)
class Parts:
    """A body taken apart."""

    spans: dict[Section, list[Span]]
    taken: frozenset[str]
    """Members of the body that became spans."""
    automatic: Marker | None = None
    stray: Mapping[str, object] = field(default_factory=dict)
    """Markers that stand where nothing is before them, by pointer."""


def structure(
    pointer: str, role: str, kind: SpanKind, value: Any, marker: Marker | None = None
) -> Draft:
    """A span that is compared as compact JSON. Linear in its size; raises BadBodyError."""
    return Draft(pointer, pointer, role, kind, structure_text(value), value, marker)


def finished(section: Section, message: int, drafts: Sequence[Draft]) -> Iterator[Span]:
    """The spans of one message, or of a section that has none."""
    last = len(drafts) - 1
    for i, draft in enumerate(drafts):
        pointer, text_pointer, role, kind, text, value, marker, label = draft
        yield Span(
            section,
            pointer,
            text_pointer,
            role,
            kind,
            text,
            value,
            message,
            i == last,
            marker,
            label,
        )
