"""Anthropic's Messages as parts. Pure.

```
text         Text          citations beside it            thinking, redacted_thinking   Thinking
tool_use     ToolCall      caller, toolset beside it      image, document               where plain
tool_result  ToolResult    where its content is plain     all else                      Native
```
`cache_control` is no content: it moves, and is left out.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from stemcache.prompt.conversation.native import (
    Turn,
    beside,
    compact,
    jsonable,
    listed,
    mapped,
    native,
    spoken,
    string,
    thought,
    worth_keeping,
)
from stemcache.prompt.part import (
    Document,
    Image,
    Native,
    Part,
    Text,
    ToolCall,
    ToolResult,
)
from stemcache.wire.api import Api

__all__ = ["answer_parts", "turns"]

_API = Api.MESSAGES
_LEAD = ("type", "id", "name", "tool_use_id", "input", "thinking", "signature", "data", "content")
_TEXT = frozenset({"type", "text"})
_CALL = frozenset({"type", "id", "name", "input"})
_RESULT = frozenset({"type", "tool_use_id", "content", "is_error"})
_MEDIA = frozenset({"type", "source", "title"})


def answer_parts(answer: Mapping[str, Any], where: str) -> tuple[Part, ...]:
    """The parts of a whole answer. Linear. Raises UsageError naming the place."""
    content = listed(jsonable(answer.get("content"), f"{where}.content"), f"{where}.content")
    return tuple(filter(worth_keeping, _parts(content, where)))


def turns(messages: list[Any]) -> list[Turn]:
    """The messages of a body. Linear. Raises UsageError naming the place."""
    return spoken(messages, _parts)


def _parts(content: Any, where: str) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),)
    blocks = enumerate(listed(content, f"{where}.content"))
    return _sendable(_part(mapped(block, f"{where}.content[{i}]"), where, i) for i, block in blocks)


def _sendable(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Parts in an order in which the API takes them back.

    Behind a call it takes no text, though models write some there: that is kept before the first.
    """
    made = list(parts)
    first = next((at for at, part in enumerate(made) if isinstance(part, ToolCall)), len(made))
    texts = [part for part in made[first:] if isinstance(part, Text)]
    others = [part for part in made[first:] if not isinstance(part, Text)]
    return (*made[:first], *texts, *others)


def _part(block: dict[str, Any], outer: str, number: int) -> Part:
    where = f"{outer}.content[{number}]"
    kind = string(block, "type", where)
    block = {name: value for name, value in block.items() if name != "cache_control"}
    match kind:
        case "text":
            return Text(string(block, "text", where), beside(_API, block, _TEXT, where))
        case "tool_use":
            given = block.get("input")
            return ToolCall(
                id=string(block, "id", where),
                name=string(block, "name", where),
                arguments=compact(mapped({} if given is None else given, f"{where}.input"), where),
                beside=beside(_API, block, _CALL, where),
            )
        case "thinking" | "redacted_thinking":
            return thought(_API, block, where, _LEAD)
        case "tool_result":
            return _result(block, where)
        case "image" | "document":
            media = _media(block)
            if media is not None:
                return media
    return native(_API, block, where, _LEAD)


def _result(block: dict[str, Any], where: str) -> ToolResult | Native:
    content = block.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    inside: list[Text | Image | Document] = []
    blocks = listed([] if content is None else content, f"{where}.content")
    kept = []
    for i, one in enumerate(blocks):
        given = mapped(one, f"{where}.content[{i}]")
        kept.append({name: value for name, value in given.items() if name != "cache_control"})
        part = _part(given, where, i)
        if isinstance(part, Image | Document) or (isinstance(part, Text) and part.beside is None):
            inside.append(part)
    if len(inside) < len(blocks) or beside(_API, block, _RESULT, where) is not None:
        return native(_API, {**block, "content": kept}, where, _LEAD)
    return ToolResult(
        call_id=string(block, "tool_use_id", where),
        parts=tuple(inside),
        failed=block.get("is_error") is True,
    )


def _media(block: dict[str, Any]) -> Image | Document | None:
    """None for what the part has no fields for: files by id, context, citations."""
    source, title = block.get("source"), block.get("title")
    if not isinstance(source, dict) or any(
        value is not None for name, value in block.items() if name not in _MEDIA
    ):
        return None
    base64: str | None = None
    url: str | None = None
    match source:
        case {"type": "base64", "media_type": str(media_type), "data": str(base64)}:
            pass
        case {"type": "text", "media_type": "text/plain" as media_type, "data": str(text)}:
            base64 = b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")
        case {"type": "url", "url": str(url)}:  # sent alone: the provider finds out what it is
            media_type = "image/*" if block["type"] == "image" else "application/pdf"
        case _:
            return None
    if block["type"] == "image":
        if title is not None:
            return None
        return Image(media_type=media_type, base64=base64, url=url)
    name = title if isinstance(title, str) else ""
    return Document(media_type=media_type, name=name, base64=base64, url=url)
