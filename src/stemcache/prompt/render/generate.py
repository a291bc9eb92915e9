"""Gemini's generateContent, and the CachedContent that it may begin with.

```
implicit    render(…)      {model, systemInstruction, tools, contents, …}        no marks
explicit    create(…)      {model, systemInstruction, tools, contents, ttl}      up to the one mark
            render(…)      {model, cachedContent, contents, …}                   what is behind it
```
The API refuses instructions and tools beside a cached content, so the mark stands behind all of
them, and behind a whole message. Roles alternate, from a user on. Bodies are the REST API's, for
`{model}:generateContent` and for `cachedContents`; `generate_client` makes arguments for the
official client of them. Names of documents are not told: there is no member for them.
"""

import re
from collections.abc import Iterable, Mapping
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
from stemcache.prompt.render.calls import arguments_of, check_turns, names_of
from stemcache.prompt.render.media import address, source
from stemcache.prompt.render.options import options_of
from stemcache.prompt.render.tools import schema_of
from stemcache.prompt.render.turns import (
    Block,
    Turn,
    beside_of,
    inside_of,
    merged,
    object_of,
    system_texts,
    tools_of,
    turns_of,
    where,
)
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["create", "render"]

_TAKEN = ("contents", "model", "systemInstruction", "tools")
_OBJECT_OPTIONS = frozenset({"displayName", "expireTime", "kmsKeyName", "toolConfig", "ttl"})
_TTL = re.compile(r"([1-9][0-9]*)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def render(
    laid: Laid, placement: Placement, *, model: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """A body of generateContent. With a mark, option `cachedContent` names what `create` made.

    Linear in the prompt; changes nothing. Raises UsageError for what the API would refuse.
    """
    given = options_of(options, _TAKEN)
    turns = _turns(laid)
    names = names_of(turns)
    mark = _mark(laid, placement)
    if (mark is None) != ("cachedContent" not in given):
        raise UsageError(
            "a mark and the option 'cachedContent' go together; make the object with "
            "render.generate.create() and name it there, or send the whole prompt with most=0"
        )
    body: dict[str, Any] = {"model": _resource(model), **given}
    if mark is None:
        return body | _instructions(laid) | {"contents": _contents(turns, names)}
    if "toolConfig" in given:
        raise UsageError("option 'toolConfig' is a part of the cached content; give it to create()")
    rest = _cut(turns, first=mark.boundary)
    if not rest:
        raise UsageError(
            f"a mark at boundary {mark.boundary} leaves no message to send behind the cached "
            "content; place it earlier, or add a turn segment"
        )
    return body | {"contents": _contents(rest, names)}


def create(
    laid: Laid, placement: Placement, *, model: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """A body that makes the cached content: all before the one mark. It lives as the mark says.

    Options are those of the object: displayName, toolConfig, ttl (over the mark's), expireTime.
    """
    given = options_of(options, _TAKEN)
    for name in given:
        if name not in _OBJECT_OPTIONS:
            raise UsageError(
                f"option {name!r} is none of a cached content; give it to render() "
                f"({', '.join(sorted(_OBJECT_OPTIONS))} are)"
            )
    mark = _mark(laid, placement)
    if mark is None:
        raise UsageError("a cached content ends at a mark and none is placed; place one")
    if mark.ttl is not None and "expireTime" not in given:
        given.setdefault("ttl", _duration(mark.ttl))
    turns = _turns(laid)
    body = {"model": _resource(model), **given, **_instructions(laid)}
    kept = _cut(turns, stop=mark.boundary)
    return body | {"contents": _contents(kept, names_of(turns))} if kept else body


def _turns(laid: Laid) -> tuple[Turn, ...]:
    turns = turns_of(laid, Api.GENERATE)
    check_turns(merged(turns), Api.GENERATE)
    return turns


def _mark(laid: Laid, placement: Placement) -> Placed | None:
    """The one mark. Raises UsageError for several, and for one where no object can end."""
    if not placement.marks:
        return None
    if len(placement.marks) > 1:
        raise UsageError(
            f"{len(placement.marks)} marks are placed; a request reads one cached content, "
            "so place one"
        )
    mark = placement.marks[0]
    if not 0 < mark.boundary <= len(laid.pieces):
        raise UsageError(
            f"a mark at boundary {mark.boundary} stands outside of {len(laid.pieces)} pieces; "
            "boundaries go from 1 to the number of pieces"
        )
    behind = laid.pieces[mark.boundary :]
    for piece in behind:
        if piece.section is not Section.MESSAGES:
            raise UsageError(
                f"a mark at boundary {mark.boundary} leaves {where(piece)} behind it, which the "
                "API takes in the cached content only; place the mark behind it"
            )
    last = laid.pieces[mark.boundary - 1]
    if behind and last.section is Section.MESSAGES and last.message == behind[0].message:
        raise UsageError(
            f"a mark stands behind {where(last)}, within a message; "
            "a cached content ends with a whole one"
        )
    return mark


def _cut(turns: Iterable[Turn], *, first: int = 0, stop: int | None = None) -> tuple[Turn, ...]:
    """The turns whose blocks stand from piece `first` on and before piece `stop`."""
    kept = []
    for turn in turns:
        blocks = tuple(
            block
            for block in turn.blocks
            if block.place >= first and (stop is None or block.place < stop)
        )
        if blocks:
            kept.append(Turn(turn.speaker, blocks))
    return tuple(kept)


def _resource(model: str) -> str:
    return model if "/" in model else f"models/{model}"


def _duration(ttl: str) -> str:
    """`1h` as the API writes it, `3600s`. Raises UsageError."""
    found = _TTL.fullmatch(ttl)
    if found is None:
        raise UsageError(f"a mark has the lifetime {ttl!r}; give a number and s, m, h or d")
    return f"{int(found[1]) * _SECONDS[found[2]]}s"


def _instructions(laid: Laid) -> dict[str, Any]:
    made: dict[str, Any] = {}
    system = system_texts(laid, Api.GENERATE)
    if system:
        made["systemInstruction"] = {"parts": [{"text": text} for _, text in system]}
    tools = tools_of(laid, Api.GENERATE)
    if tools:
        made["tools"] = [{"functionDeclarations": [_tool(tool) for _, tool in tools]}]
    return made


def _tool(tool: Tool) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {
        "name": tool.name,
        **described,
        "parametersJsonSchema": schema_of(tool, Api.GENERATE),
    }


def _contents(turns: Iterable[Turn], names: Mapping[int, str]) -> list[dict[str, Any]]:
    return [
        {
            "role": "user" if turn.speaker == "user" else "model",
            "parts": [_part(block, names) for block in turn.blocks],
        }
        for turn in merged(turns)
    ]


def _part(block: Block, names: Mapping[int, str]) -> dict[str, Any]:
    part, piece = block.part, block.piece
    match part:
        case Text():
            return {"text": part.text} | beside_of(part, piece, Api.GENERATE)
        case Image() | Document():
            return _media(part, where(piece))
        case ToolCall():
            name = {"id": part.id} if part.id else {}
            call = {**name, "name": part.name, "args": arguments_of(part, piece)}
            return {"functionCall": call} | beside_of(part, piece, Api.GENERATE)
        case ToolResult():
            return {"functionResponse": _response(part, block, names[block.place])}
        case Thinking() | Native():
            return object_of(part.json, piece)
    assert_never(part)


def _response(result: ToolResult, block: Block, name: str) -> dict[str, Any]:
    """One text is the result, several are a list of them; media are parts beside it."""
    inside = inside_of(result)
    texts = [part.text for part in inside if isinstance(part, Text)]
    media = [part for part in inside if not isinstance(part, Text)]
    said: str | list[str] = texts if len(texts) > 1 else "".join(texts)
    given = {"id": result.call_id} if result.call_id else {}
    made: dict[str, Any] = {
        **given,
        "name": name,
        "response": {"error" if result.failed else "result": said},
    }
    if media:
        made["parts"] = [_media(part, where(block.piece)) for part in media]
    return made


def _media(part: Image | Document, at: str) -> dict[str, Any]:
    url = address(part, at)
    if url is None:
        return {"inlineData": {"mimeType": part.media_type, "data": source(part, at)}}
    kind = {} if "*" in part.media_type else {"mimeType": part.media_type}
    return {"fileData": {**kind, "fileUri": url}}
