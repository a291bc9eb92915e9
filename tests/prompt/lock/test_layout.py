"""What of a layout is pinned."""

import pytest

from stemcache.prompt.layout import Layout
from stemcache.prompt.lock.layout import portions_of_layout
from stemcache.prompt.lock.portions import pinned
from stemcache.prompt.part import Document, Image, Text
from stemcache.prompt.segment import reference, session, static, turn
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.prompt.volatile.check import VolatileError
from stemcache.trace.spans.span import SpanKind
from stemcache.wire.section import Section

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}}
SEARCH = Tool(name="search", description="find", schema=SCHEMA)
FETCH = Tool(name="fetch", description="get", schema={"type": "object"})
PRIVATE = Tool(name="mine", description="of one", schema=SCHEMA, stability=Stability.SESSION)
RULES = static("rules", "Be kind.", version="3")
BOOK = reference("book", Text("How we ship."), Text("And to whom."), version="2026-11")


def digest(*given: object, tools: tuple[Tool, ...] = (SEARCH,)) -> str:
    """Of the layout."""
    layout = Layout(given, tools)  # type: ignore[arg-type]  # segments
    return pinned("a", portions_of_layout(layout)).digest


def test_static_and_reference_parts_are_pinned_with_their_segments_names() -> None:
    """Sessions and turns are not; tools are, in their order."""
    layout = Layout(
        [RULES, BOOK, session("who", "Ann"), turn("now", "today")], [SEARCH, FETCH, PRIVATE]
    )
    found = portions_of_layout(layout)
    assert [(one.name, one.version) for one in found] == [
        ("tool:fetch", None),
        ("tool:search", None),
        ("rules", "3"),
        ("book", "2026-11"),
        ("book/1", "2026-11"),
    ]
    assert [one.text for one in found[2:]] == ["Be kind.", "How we ship.", "And to whom."]
    assert pinned("a", found).version == "rules=3 book=2026-11"


def test_what_differs_by_session_or_turn_is_the_same_prefix() -> None:
    """One lock for all who share it."""
    same = digest(RULES, session("who", "Ann"), turn("now", "1"))
    assert same == digest(RULES, session("who", "Bob"), turn("now", "2")) == digest(RULES)


def test_the_order_in_which_tools_and_keys_were_made_is_nothing() -> None:
    """The layout has one order for them."""
    turned = {"properties": {"n": {"type": "integer"}, "q": {"type": "string"}}, "type": "object"}
    again = Tool(name="search", description="find", schema=turned)
    assert digest(RULES, tools=(SEARCH, FETCH)) == digest(RULES, tools=(FETCH, again))


@pytest.mark.parametrize(
    "tool",
    [
        Tool(name="search2", description="find", schema=SCHEMA),
        Tool(name="search", description="find it", schema=SCHEMA),
        Tool(name="search", description="find", schema={"type": "object"}),
    ],
)
def test_all_of_a_tool_is_pinned(tool: Tool) -> None:
    """Name, description and schema."""
    assert digest(RULES, tools=(tool,)) != digest(RULES)


def test_pictures_and_files_are_pinned_by_their_bytes() -> None:
    """They stand in the opening of the messages, after what is text alone."""
    image = Image(media_type="image/png", base64="aGk=")
    file = Document(media_type="text/plain", name="law", base64="aGk=")
    found = portions_of_layout(Layout([RULES, reference("seen", image, file)]))
    assert [(one.section, one.kind) for one in found[1:]] == [
        (Section.MESSAGES, SpanKind.IMAGE),
        (Section.MESSAGES, SpanKind.DOCUMENT),
    ]
    other = Image(media_type="image/png", base64="aG8=")
    assert digest(RULES, reference("seen", image)) != digest(RULES, reference("seen", other))
    named = Document(media_type="text/plain", name="bill", base64="aGk=")
    assert digest(reference("seen", file)) != digest(reference("seen", named))


def test_tokens_are_those_that_the_layout_counts() -> None:
    """By the counter that it was given."""
    layout = Layout([RULES], count=len)
    assert pinned("a", portions_of_layout(layout)).tokens == len("Be kind.")


def test_volatile_text_is_refused_before_anything_is_pinned() -> None:
    """A clock would be another prefix with every build."""
    with pytest.raises(VolatileError, match="segment 'rules'"):
        portions_of_layout(Layout([static("rules", "Now: 2026-11-30T05:14:01Z")]))
