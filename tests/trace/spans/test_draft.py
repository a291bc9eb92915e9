from stemcache.trace.spans.draft import Draft, finished, structure
from stemcache.trace.spans.span import Marker, SpanKind
from stemcache.wire.section import Section


def test_the_last_span_ends_the_message() -> None:
    """All have its number, and what their drafts say."""
    mark = Marker("/x/cache_control")
    drafts = [
        Draft("/x", "/x/text", "user", SpanKind.TEXT, "a", {"text": "a"}, mark, "ann"),
        structure("/y", "tool", SpanKind.OTHER, [1]),
    ]
    one, two = finished(Section.MESSAGES, 7, drafts)
    assert (one.pointer, one.text_pointer, one.role, one.text) == ("/x", "/x/text", "user", "a")
    assert (one.message, one.ends_message, one.marker, one.label) == (7, False, mark, "ann")
    assert (two.message, two.ends_message, two.marker, two.label) == (7, True, None, "")
    assert (two.text, two.text_pointer, two.value) == ("[1]", "/y", [1])


def test_no_drafts_are_no_spans() -> None:
    """A section without blocks is empty."""
    assert list(finished(Section.SYSTEM, -1, [])) == []
