from stemcache.trace.spans.span import Marker, SpanKind
from stemcache.trace.spans.tools import tool_spans
from stemcache.wire.section import Section


def test_each_tool_is_a_span_outside_of_messages() -> None:
    """The last ends the section; none has a role."""
    spans = tool_spans([{"name": "f"}, {"name": "g"}], "/tools")
    assert [(span.pointer, span.ends_message) for span in spans] == [
        ("/tools/0", False),
        ("/tools/1", True),
    ]
    assert {(span.section, span.role, span.message, span.kind) for span in spans} == {
        (Section.TOOLS, "", -1, SpanKind.TOOL)
    }


def test_a_marker_stands_on_the_tool_or_in_its_function() -> None:
    """The tool's own wins."""
    mark = {"type": "ephemeral"}
    spans = tool_spans(
        [
            {"function": {"name": "f", "cache_control": mark}},
            {"function": {"name": "f", "cache_control": mark}, "cache_control": mark},
        ],
        "/tools",
    )
    assert [span.marker for span in spans] == [
        Marker("/tools/0/function/cache_control"),
        Marker("/tools/1/cache_control"),
    ]
    assert {span.text for span in spans} == {'{"function":{"name":"f"}}'}


def test_what_is_no_tool_is_other() -> None:
    """A list of names is kept as it is."""
    (span,) = tool_spans(["f"], "/functions")
    assert (span.pointer, span.kind, span.text) == ("/functions/0", SpanKind.OTHER, '"f"')


def test_no_tools_are_no_spans() -> None:
    """An empty list for an empty one."""
    assert tool_spans([], "/tools") == []
