"""OpenAI's Responses.

```
tools      [{type: function, name, description, parameters, strict: false}]
input      message developer     the texts of the system section: instructions can have no mark
           message user          input_text, input_image, input_file
           message assistant     one for each text, with the id and phase that it came with
           reasoning, function_call, function_call_output, …      one item each, in their order
```
Content of users is always a list of parts. Where a later request may have marks (`listed`) outputs
are too, from the first request on, so that a mark that moves on, or comes in late, changes nothing
that it leaves behind. Marks stand on parts of users' and developers' messages and on results. That
a result failed is not told: there is no member for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

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
from stemcache.prompt.render.marks import Marks
from stemcache.prompt.render.media import address, data_url, file_name
from stemcache.prompt.render.openai import breakpoint_of, with_cache_options
from stemcache.prompt.render.opened import opened
from stemcache.prompt.render.options import options_of
from stemcache.prompt.render.tools import schema_of
from stemcache.prompt.render.turns import (
    Block,
    SystemText,
    Turn,
    beside_of,
    inside_of,
    object_of,
    where,
)
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api

__all__ = ["render"]

_TAKEN = ("input", "instructions", "model", "tools")
_PARTS = frozenset({"input_audio", "input_file", "input_image", "input_text"})


def render(
    laid: Laid,
    placement: Placement,
    *,
    model: str,
    options: Mapping[str, Any],
    listed: bool = False,
) -> dict[str, Any]:
    """A body for `OpenAI().responses.create(**body)`; `prompt_cache_key` is an option.

    `listed`: outputs are lists, as with marks; for all requests of a conversation the same.
    Linear in the prompt; changes nothing. Raises UsageError for what the API would refuse.
    """
    given = with_cache_options(options_of(options, _TAKEN), placement)
    tools, system, turns, marks = opened(laid, placement, Api.RESPONSES)
    body: dict[str, Any] = {"model": model, **given}
    if tools:
        body["tools"] = [_tool(tool) for _, tool in tools]
    body["input"] = [
        *_developer(system, marks),
        *_joined(_items(turns, marks, listed=listed or bool(placement.marks))),
    ]
    marks.done(Api.RESPONSES)
    return body


def _tool(tool: Tool) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    schema = schema_of(tool, Api.RESPONSES)
    # Left out, `strict` is true here, and the API would rewrite the schema.
    return {
        "type": "function",
        "name": tool.name,
        **described,
        "parameters": schema,
        "strict": False,
    }


def _developer(texts: Sequence[SystemText], marks: Marks) -> Iterator[dict[str, Any]]:
    if texts:
        content = [_text(text, marks.take(place)) for place, text in texts]
        yield {"type": "message", "role": "developer", "content": content}


def _items(turns: Sequence[Turn], marks: Marks, *, listed: bool) -> Iterator[dict[str, Any]]:
    for turn in turns:
        content: list[dict[str, Any]] = []
        for block in turn.blocks:
            made = _part(block, marks) if turn.speaker == "user" else None
            if made is not None:
                content.append(made)
                continue
            if content:
                yield {"type": "message", "role": "user", "content": content}
                content = []
            yield _item(block, marks, listed=listed)
        if content:
            yield {"type": "message", "role": "user", "content": content}


def _joined(items: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Texts that came in one item of the API's go back in one: an item's id occurs once."""
    last: dict[str, Any] | None = None
    for item in items:
        if last is not None and _is_same_answer(last, item):
            last = {**last, "content": last["content"] + item["content"]}
            continue
        if last is not None:
            yield last
        last = item
    if last is not None:
        yield last


def _is_same_answer(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if one.get("role") != "assistant" or "id" not in one or one.get("type") != "message":
        return False
    return {**one, "content": None} == {**other, "content": None}


def _part(block: Block, marks: Marks) -> dict[str, Any] | None:
    """Part of a user's message, or None for what is an item of its own."""
    part, piece = block.part, block.piece
    if isinstance(part, Text | Image | Document):
        return _content(part, where(piece), marks.take(block.place))
    if isinstance(part, Native):
        value = object_of(part.json, piece)
        kind = value.get("type")
        return value if isinstance(kind, str) and kind in _PARTS else None
    return None


def _item(block: Block, marks: Marks, *, listed: bool) -> dict[str, Any]:
    part, piece = block.part, block.piece
    match part:
        case Text():
            return _answer(part.text, beside_of(part, piece, Api.RESPONSES))
        case ToolCall():
            call = {"type": "function_call", "call_id": part.id, "name": part.name}
            beside = beside_of(part, piece, Api.RESPONSES)
            return call | {"arguments": part.arguments} | beside
        case ToolResult():
            return _result(part, block, marks, listed=listed)
        case Thinking() | Native():
            return object_of(part.json, piece)
        case Image() | Document():
            content = [_content(part, where(piece), None)]
            return {"type": "message", "role": "assistant", "content": content}
    assert_never(part)


def _answer(text: str, beside: dict[str, Any]) -> dict[str, Any]:
    """With the id that it came with it is the API's own item, else a message that says as much."""
    if "id" not in beside:
        return {"type": "message", "role": "assistant", "content": text, **beside}
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, **beside}


def _result(result: ToolResult, block: Block, marks: Marks, *, listed: bool) -> dict[str, Any]:
    at, mark = where(block.piece), marks.take(block.place)
    inside = inside_of(result)
    if mark is not None:
        inside = inside or (Text(""),)
    output: str | list[dict[str, Any]] = ""
    if len(inside) == 1 and isinstance(inside[0], Text) and not listed:
        output = inside[0].text
    elif inside:
        last = len(inside) - 1
        output = [_content(part, at, mark if i == last else None) for i, part in enumerate(inside)]
    return {"type": "function_call_output", "call_id": result.call_id, "output": output}


def _content(part: Text | Image | Document, at: str, mark: Placed | None) -> dict[str, Any]:
    match part:
        case Text():
            return _text(part.text, mark)
        case Image():
            url = address(part, at) or data_url(part, at)
            made = {"type": "input_image", "detail": "auto", "image_url": url}
        case Document():
            made = {"type": "input_file", **_file(part, at)}
        case _:
            assert_never(part)
    return made | breakpoint_of(mark)


def _file(document: Document, at: str) -> dict[str, str]:
    url = address(document, at)
    if url is not None:
        return {"file_url": url}
    return {"filename": file_name(document), "file_data": data_url(document, at)}


def _text(text: str, mark: Placed | None) -> dict[str, Any]:
    return {"type": "input_text", "text": text} | breakpoint_of(mark)
