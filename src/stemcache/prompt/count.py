"""How many tokens a piece has, estimated without a tokenizer unless one is given.

Text is a quarter of a token a byte: about right for English in every tokenizer in use, too low for
source code by a tenth and too high for Chinese by a third. Pictures and files are guessed roughly,
since what they cost depends on sizes that are not looked at.
"""

from collections.abc import Callable

from stemcache.prompt.canonical import canonical_json
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

__all__ = ["Count", "count_bytes", "part_tokens", "tool_tokens"]

Count = Callable[[str], int]
"""Tokens of a text. Called for every text whenever a prompt is laid: remember what is costly."""

_BYTES_PER_TOKEN = 4
_IMAGE_TOKENS = 1_500
"""A picture as large as a screen, the order of magnitude at all providers."""
_PAGE_TOKENS = 2_000
_PAGE_BASE64_CHARS = 64_000
"""Of a PDF with text, a page; pages that are scanned are larger, and are counted too high."""


def count_bytes(text: str) -> int:
    """A quarter of the bytes in UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN)


def part_tokens(part: Part, count: Count = count_bytes) -> int:
    """Of one part, at least 1."""
    return max(1, _part(part, count))


def tool_tokens(tool: Tool, count: Count = count_bytes) -> int:
    """Of one definition, at least 1. Raises UsageError for a schema that is no JSON."""
    return max(1, count(f"{tool.name}\n{tool.description}\n{canonical_json(tool.schema)}"))


def _part(part: Part, count: Count) -> int:
    match part:
        case Text():
            return count(part.text)
        case Image():
            return _IMAGE_TOKENS
        case Document():
            return _document(part)
        case ToolCall():
            return count(part.name) + count(part.arguments)
        case ToolResult():
            return sum(_part(one, count) for one in part.parts)
        case Thinking() | Native():
            return count(part.json)


def _document(part: Document) -> int:
    if part.base64 is None:
        return _PAGE_TOKENS
    if part.media_type.startswith("text/"):
        # Four characters of base64 are three bytes of text.
        return len(part.base64) * 3 // 4 // _BYTES_PER_TOKEN
    return -(-len(part.base64) // _PAGE_BASE64_CHARS) * _PAGE_TOKENS
