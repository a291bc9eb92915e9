"""Spans in one line each, for tables in tests."""

from stemcache.trace.spans.span import Prompt, Span

Row = tuple[str, str, str, str, str]


def row(span: Span) -> Row:
    """Section and message, pointer, the rest of the text's pointer, role and kind, text."""
    message = span.section.value[0] + ("" if span.message < 0 else str(span.message))
    place = message + ("." if span.ends_message else "")
    assert span.text_pointer.startswith(span.pointer)
    rest = span.text_pointer.removeprefix(span.pointer)
    return place, span.pointer, rest, f"{span.role} {span.kind.value}".strip(), span.text


def rows(prompt: Prompt) -> list[Row]:
    """All spans of a prompt; a place ends in a full stop where its message ends."""
    return [row(span) for span in prompt.spans]


def marks(prompt: Prompt) -> dict[str, tuple[str, str | None]]:
    """For each marked span its marker and its time to live."""
    return {
        span.pointer: (span.marker.pointer, span.marker.ttl)
        for span in prompt.spans
        if span.marker is not None
    }


def labels(prompt: Prompt) -> dict[str, str]:
    """For each span that has one its label."""
    return {span.pointer: span.label for span in prompt.spans if span.label}
