"""Anthropic's Messages, also as Bedrock's InvokeModel and Vertex carry them.

```
tools      [{name, description, input_schema, cache_control}]
system     [{type: text, text, cache_control}]
messages   [{role, content: [text image document │ thinking tool_use │ tool_result]}]
```
Content is always a list, so that a mark that moves on changes nothing that it leaves behind. Texts
of white space alone are dropped, for the API refuses them. Roles alternate, from a user on.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from stemcache.errors import UsageError
from stemcache.prompt.marks.placement import Placed, Placement
from stemcache.prompt.part import (
    Document,
    Image,
    Native,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from stemcache.prompt.piece import Laid
from stemcache.prompt.render.calls import arguments_of
from stemcache.prompt.render.marks import Marks
from stemcache.prompt.render.media import address, source, text_of
from stemcache.prompt.render.opened import opened
from stemcache.prompt.render.options import options_of
from stemcache.prompt.render.tools import schema_of
from stemcache.prompt.render.turns import (
    Block,
    Turn,
    beside_of,
    inside_of,
    merged,
    object_of,
    where,
)
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api

__all__ = ["render"]

_TAKEN = ("messages", "model", "system", "tools")
_PICTURES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})


def render(
    laid: Laid, placement: Placement, *, model: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """A body for `Anthropic().messages.create(**body)`, `max_tokens` among its options.

    Linear in the prompt; changes nothing. Raises UsageError for what the API would refuse.
    """
    given = options_of(options, _TAKEN)
    if "max_tokens" not in given:
        raise UsageError("options have no max_tokens, which Messages needs; give options it")
    tools, system, turns, marks = opened(laid, placement, Api.MESSAGES)
    body: dict[str, Any] = {"model": model, **given}
    if tools:
        body["tools"] = [_marked(_tool(tool), marks.take(place)) for place, tool in tools]
    if system:
        body["system"] = [
            _marked({"type": "text", "text": text}, marks.take(place)) for place, text in system
        ]
    body["messages"] = [_message(turn, marks) for turn in merged(turns)]
    marks.done(Api.MESSAGES)
    return body


def _tool(tool: Tool) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": schema_of(tool, Api.MESSAGES)}


def _message(turn: Turn, marks: Marks) -> dict[str, Any]:
    content = []
    for block in turn.blocks:
        # The API takes no mark on a thought; what is native stays as it was written.
        bare = isinstance(block.part, Thinking | Native)
        content.append(_marked(_block(block), None if bare else marks.take(block.place)))
    return {"role": turn.speaker, "content": content}


def _block(block: Block) -> dict[str, Any]:
    part, piece = block.part, block.piece
    match part:
        case Text():
            return {"type": "text", "text": part.text} | beside_of(part, piece, Api.MESSAGES)
        case Image():
            return _image(part, where(piece))
        case Document():
            return _document(part, where(piece))
        case ToolCall():
            call = {"type": "tool_use", "id": part.id, "name": part.name}
            return (
                call | {"input": arguments_of(part, piece)} | beside_of(part, piece, Api.MESSAGES)
            )
        case ToolResult():
            return _result(part, where(piece))
        case Thinking() | Native():
            return object_of(part.json, piece)
    assert_never(part)


def _result(result: ToolResult, at: str) -> dict[str, Any]:
    """Blanks among other content are dropped. One text that is left is a string, also a blank."""
    made: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    inside = inside_of(result)
    if len(inside) > 1:
        inside = tuple(one for one in inside if not isinstance(one, Text) or one.text.strip())
    if len(inside) == 1 and isinstance(inside[0], Text):
        made["content"] = inside[0].text
    elif inside:
        made["content"] = [_content(part, at) for part in inside]
    if result.failed:
        made["is_error"] = True
    return made


def _content(part: Text | Image | Document, at: str) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            return _image(part, at)
        case Document():
            return _document(part, at)
    assert_never(part)


def _image(image: Image, at: str) -> dict[str, Any]:
    url = address(image, at)
    if url is not None:
        return {"type": "image", "source": {"type": "url", "url": url}}
    if image.media_type not in _PICTURES:
        raise UsageError(
            f"{at} is {image.media_type!r}, which Messages does not take; "
            f"convert it to one of {', '.join(sorted(_PICTURES))}"
        )
    data = source(image, at)
    inside = {"type": "base64", "media_type": image.media_type, "data": data}
    return {"type": "image", "source": inside}


def _document(document: Document, at: str) -> dict[str, Any]:
    title = {"title": document.name} if document.name else {}
    return {"type": "document", "source": _file(document, at), **title}


def _file(document: Document, at: str) -> dict[str, str]:
    kind, url = document.media_type, address(document, at)
    if kind == "application/pdf":
        if url is not None:
            return {"type": "url", "url": url}
        return {"type": "base64", "media_type": kind, "data": source(document, at)}
    if kind == "text/plain":
        return {"type": "text", "media_type": kind, "data": text_of(document, at)}
    raise UsageError(
        f"{at} is {kind!r}, which Messages does not take; "
        "send application/pdf, or its text as text/plain"
    )


def _marked(block: dict[str, Any], mark: Placed | None) -> dict[str, Any]:
    if mark is None:
        return block
    ttl = {} if mark.ttl is None else {"ttl": mark.ttl}
    return {**block, "cache_control": {"type": "ephemeral", **ttl}}
