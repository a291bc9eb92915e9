from base64 import b64encode

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.count import count_bytes, part_tokens, tool_tokens
from stemcache.prompt.part import (
    Document,
    Image,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éé", 1), ("\ud800", 1)]
)
def test_text_is_a_quarter_of_a_token_a_byte(text: str, tokens: int) -> None:
    """Rounded up; characters count by their bytes, whole or not."""
    assert count_bytes(text) == tokens


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (Text("x" * 40), 10),
        (Text(""), 1),
        (Image(media_type="image/png", base64="AAAA"), 1_500),
        (Image(media_type="image/png", url="https://example.com/a.png"), 1_500),
        (Document(media_type="application/pdf", url="https://example.com/a.pdf"), 2_000),
        (Document(media_type="application/pdf", base64="A" * 64_001), 4_000),
        (Document(media_type="text/plain", base64=b64encode(b"x" * 1_200).decode()), 300),
        (ToolCall(id="c" * 400, name="find", arguments='{"q":1}'), 3),
        (ToolResult(call_id="c", parts=()), 1),
        (
            ToolResult(call_id="c", parts=(Text("x" * 8), Image(media_type="image/png", url="u"))),
            1_502,
        ),
        (Thinking(api=Api.MESSAGES, json="x" * 80), 20),
        (Native(api=Api.CHAT, json="x" * 80), 20),
    ],
)
def test_every_kind_of_part_is_estimated(part: Part, tokens: int) -> None:
    """At least one token each; ids are not counted, pictures by the piece, files by the page."""
    assert part_tokens(part) == tokens


def test_a_count_of_the_users_is_asked_for_all_texts() -> None:
    """Results are counted text by text; what is no text is estimated still."""
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return 7

    result = ToolResult(call_id="c", parts=(Text("a"), Text("b")))
    assert part_tokens(result, count) == 14
    assert part_tokens(ToolCall(id="c", name="n", arguments="{}"), count) == 14
    assert part_tokens(Image(media_type="image/png", url="u"), count) == 1_500
    assert asked == ["a", "b", "n", "{}"]


def test_a_tool_is_counted_by_its_canonical_text() -> None:
    """Name, description and schema, whatever order its keys came in."""
    one = Tool(name="f", description="d", schema={"type": "object", "required": ["a"]})
    other = Tool(name="f", description="d", schema={"required": ["a"], "type": "object"})
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return 7

    assert tool_tokens(one, count) == 7
    assert asked == ['f\nd\n{"required":["a"],"type":"object"}']
    assert tool_tokens(one) == tool_tokens(other) == 10


def test_a_schema_that_is_no_json_cannot_be_counted() -> None:
    """The place is told."""
    with pytest.raises(UsageError, match="the value at /a is a set"):
        tool_tokens(Tool(name="f", description="d", schema={"a": {1}}))
