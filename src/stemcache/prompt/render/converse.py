"""Bedrock's Converse.

```
toolConfig.tools   [{toolSpec}  {cachePoint}]
system             [{text}  {cachePoint}]
messages           [{role, content: [text image document │ reasoningContent toolUse │ toolResult
                                     cachePoint]}]
```
A mark is a block of its own behind the one that it marks. Bytes of pictures and files are `bytes`,
as boto3 wants them; it encodes them itself. Texts of white space alone are dropped, for the API
refuses them; in results it takes them. Roles alternate, from a user on. Names of documents become
what the API allows, and different from each other, counted in the order of the conversation.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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
from stemcache.prompt.render.blobs import with_bytes
from stemcache.prompt.render.calls import arguments_of
from stemcache.prompt.render.marks import Marks
from stemcache.prompt.render.media import address, bytes_of, ending
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

_TAKEN = ("messages", "modelId", "system")
_PICTURES = {f"image/{form}": form for form in ("gif", "jpeg", "png", "webp")}
_REFUSED = re.compile(r"[^A-Za-z0-9()\[\]-]+")
_LONGEST_NAME = 200


def render(
    laid: Laid, placement: Placement, *, model: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments for `bedrock.converse(**body)`; `toolConfig` may have all but its tools.

    Linear in the prompt; changes nothing. Raises UsageError for what the API would refuse.
    """
    given = options_of(options, _TAKEN)
    config = _config(given.pop("toolConfig", {}))
    tools, system, turns, marks = opened(laid, placement, Api.CONVERSE)
    body: dict[str, Any] = {"modelId": model, **given}
    if tools:
        specs = [(_tool(tool), marks.take(place)) for place, tool in tools]
        body["toolConfig"] = {**config, "tools": list(_with_points(specs))}
    elif config:
        raise UsageError("option 'toolConfig' is given without tools; leave it out")
    if system:
        texts = [({"text": text}, marks.take(place)) for place, text in system]
        body["system"] = list(_with_points(texts))
    writer = _Writer(marks)
    body["messages"] = [writer.message(turn) for turn in merged(turns)]
    marks.done(Api.CONVERSE)
    return body


def _config(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or "tools" in given:
        raise UsageError(
            "option 'toolConfig' is no object without tools; tools are written by the layout"
        )
    return given


def _tool(tool: Tool) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    schema = {"json": schema_of(tool, Api.CONVERSE)}
    return {"toolSpec": {"name": tool.name, **described, "inputSchema": schema}}


def _with_points(blocks: Sequence[tuple[dict[str, Any], Placed | None]]) -> Iterator[Any]:
    for block, mark in blocks:
        yield block
        if mark is not None:
            ttl = {} if mark.ttl is None else {"ttl": mark.ttl}
            yield {"cachePoint": {"type": "default", **ttl}}


class _Writer:
    """Writes messages, taking marks and giving names as it goes."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._names: set[str] = set()

    def message(self, turn: Turn) -> dict[str, Any]:
        blocks = []
        for block in turn.blocks:
            made = self._block(block)
            blocks.append((made, self._marks.take(block.place) if _can_mark(block) else None))
        parts = [block.part for block in turn.blocks]
        if any(isinstance(part, Document) for part in parts) and not any(
            isinstance(part, Text) for part in parts
        ):
            raise UsageError(
                f"message {turn.blocks[0].piece.message} has a document and no text, which the API "
                "refuses; say in a text of that message what the document is for"
            )
        return {"role": turn.speaker, "content": list(_with_points(blocks))}

    def _block(self, block: Block) -> dict[str, Any]:
        part, piece = block.part, block.piece
        match part:
            case Text():
                return {"text": part.text} | beside_of(part, piece, Api.CONVERSE)
            case Image() | Document():
                return self._content(part, where(piece))
            case ToolCall():
                call = {"toolUseId": part.id, "name": part.name, "input": arguments_of(part, piece)}
                return {"toolUse": call | beside_of(part, piece, Api.CONVERSE)}
            case ToolResult():
                return {"toolResult": self._result(part, where(piece))}
            case Thinking() | Native():
                return with_bytes(object_of(part.json, piece), where(piece))
        assert_never(part)

    def _result(self, result: ToolResult, at: str) -> dict[str, Any]:
        # A result of nothing is an empty text: some models behind the API refuse an empty list.
        content = [self._content(part, at) for part in inside_of(result)] or [{"text": ""}]
        failed = {"status": "error"} if result.failed else {}
        return {"toolUseId": result.call_id, "content": content, **failed}

    def _content(self, part: Text | Image | Document, at: str) -> dict[str, Any]:
        match part:
            case Text():
                return {"text": part.text}
            case Image():
                form = _PICTURES.get(part.media_type)
                if form is None:
                    raise UsageError(
                        f"{at} is {part.media_type!r}, which Converse does not take; "
                        f"convert it to one of {', '.join(sorted(_PICTURES))}"
                    )
                return {"image": {"format": form, "source": _source(part, at)}}
            case Document():
                form = ending(part)
                if form is None:
                    raise UsageError(
                        f"{at} is {part.media_type!r}, which Converse does not take; "
                        "send application/pdf, or its text"
                    )
                source = _source(part, at)
                return {"document": {"format": form, "name": self._name(part), "source": source}}
        assert_never(part)

    def _name(self, document: Document) -> str:
        stem = document.name.rpartition(".")[0] or document.name
        bare = _REFUSED.sub(" ", stem).strip()[:_LONGEST_NAME].strip() or "document"
        name, number = bare, 1
        while name in self._names:
            number += 1
            behind = f" {number}"
            name = bare[: _LONGEST_NAME - len(behind)].strip() + behind
        self._names.add(name)
        return name


def _can_mark(block: Block) -> bool:
    """Not behind a thought, nor a file that Bedrock takes the text of before the model sees it."""
    part = block.part
    if isinstance(part, Document):
        return part.media_type == "application/pdf"
    return not isinstance(part, Thinking | Native)


def _source(part: Image | Document, at: str) -> dict[str, Any]:
    url = address(part, at)
    if url is None:
        return {"bytes": bytes_of(part, at)}
    if not url.startswith("s3://"):
        raise UsageError(
            f"{at} is at an address outside of S3; give its bytes, or an s3:// address"
        )
    return {"s3Location": {"uri": url}}
