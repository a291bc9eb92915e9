"""OpenAI's Chat Completions, and all who took it over.

```
tools      [{type: function, function: {name, description, parameters}}]
messages   system                the texts of the system section, in one message
           user                  text, image_url, file
           assistant             content, then tool_calls
           tool                  one for each result
```
A lone text is a string, which every server takes, and some take nothing else. So it stays one where
a turn segment stands behind it: that text goes on behind a blank line. In the next request, without
that turn, the message is of the same form, and equal as far as it was the user's. (A message of its
own would leave it equal to its end, but templates refuse two of one speaker in a row.) Where a
later request may have marks (`listed`), all content is a list of parts from the first request on,
so that a mark that moves on, or comes in late, changes nothing that it leaves behind.

Messages of one speaker stay apart: from gpt-5.6 on a message that grew is another one. Marks stand
on content parts; tools and calls can have none. That a result failed is not told: there is no
member for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, assert_never

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
from stemcache.prompt.render.calls import check_turns
from stemcache.prompt.render.marks import Marks
from stemcache.prompt.render.media import address, data_url, file_name
from stemcache.prompt.render.openai import breakpoint_of, with_cache_options
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
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api

__all__ = ["Marker", "messages_of", "render", "tool_definition"]

Marker = Literal["prompt_cache_breakpoint", "cache_control"]
"""How a mark is written: OpenAI's from gpt-5.6 on, or Anthropic's, which Qwen, MiniMax and
OpenRouter take in chat bodies."""

_TAKEN = ("messages", "model", "tools")
_CALL_TYPES = ("custom", "function")
_BLANK_LINE = "\n\n"


def render(
    laid: Laid,
    placement: Placement,
    *,
    model: str,
    options: Mapping[str, Any],
    marker: Marker = "prompt_cache_breakpoint",
    listed: bool = False,
) -> dict[str, Any]:
    """A body for `OpenAI().chat.completions.create(**body)`; `prompt_cache_key` is an option.

    `listed`: content is lists, as it is with marks; for all requests of a conversation the same.
    Linear in the prompt; changes nothing. Raises UsageError for what the API would refuse.
    """
    given = options_of(options, _TAKEN)
    if marker == "prompt_cache_breakpoint":
        given = with_cache_options(given, placement)
    system = system_texts(laid, Api.CHAT)
    turns = turns_of(laid, Api.CHAT)
    check_turns(merged(turns), Api.CHAT)
    tools = tools_of(laid, Api.CHAT)
    sent = [place for place, _ in (*tools, *system)]
    marks = Marks(laid, placement, [*sent, *(b.place for turn in turns for b in turn.blocks)])
    writer = _Writer(marks, marker, listed=listed or bool(placement.marks))
    body: dict[str, Any] = {"model": model, **given}
    if tools:
        body["tools"] = [tool_definition(tool) for _, tool in tools]
    body["messages"] = [*writer.system(system), *writer.messages(turns)]
    marks.done(Api.CHAT)
    return body


def messages_of(laid: Laid) -> list[dict[str, Any]]:
    """The messages of a body without marks, unchecked: also of a conversation that goes on."""
    nothing = Placement(
        marks=(), expected_usd=None, expected_read_tokens=0.0, expected_written_tokens=0.0
    )
    writer = _Writer(Marks(laid, nothing, ()), "prompt_cache_breakpoint", listed=False)
    return [
        *writer.system(system_texts(laid, Api.CHAT)),
        *writer.messages(turns_of(laid, Api.CHAT)),
    ]


def tool_definition(tool: Tool) -> dict[str, Any]:
    """A tool as chats and templates have it."""
    described = {"description": tool.description} if tool.description else {}
    function = {"name": tool.name, **described, "parameters": schema_of(tool, Api.CHAT)}
    return {"type": "function", "function": function}


class _Writer:
    """Writes messages, taking marks as it goes."""

    def __init__(self, marks: Marks, marker: Marker, *, listed: bool) -> None:
        self._marks = marks
        self._marker = marker
        self._listed = listed

    def system(self, texts: Sequence[tuple[int, str]]) -> Iterator[dict[str, Any]]:
        if texts:
            parts = [self._text(text, self._marks.take(place)) for place, text in texts]
            yield {"role": "system", "content": self._content(parts)}

    def messages(self, turns: Sequence[Turn]) -> Iterator[dict[str, Any]]:
        for turn in turns:
            if turn.speaker == "assistant":
                yield self._assistant(turn)
                continue
            parts: list[dict[str, Any]] = []
            stable = 0
            members: dict[str, Any] = {}
            for block in turn.blocks:
                if isinstance(block.part, ToolResult):
                    yield self._result(block.part, block)
                    continue
                if isinstance(block.part, Text):
                    beside = beside_of(block.part, block.piece, Api.CHAT)
                    _add_members(members, beside, block)
                parts.append(self._part(block))
                stable += block.piece.stability is not Stability.TURN
            if parts:
                yield {"role": "user", "content": self._content(parts, stable), **members}

    def _assistant(self, turn: Turn) -> dict[str, Any]:
        parts: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        members: dict[str, Any] = {}
        for block in turn.blocks:
            part, piece = block.part, block.piece
            if isinstance(part, ToolCall):
                function = {"name": part.name, "arguments": part.arguments}
                call = {"id": part.id, "type": "function", "function": function}
                calls.append(call | beside_of(part, piece, Api.CHAT))
                continue
            if isinstance(part, Thinking):
                _add_members(members, object_of(part.json, piece), block)
                continue
            if isinstance(part, Native):
                value = object_of(part.json, piece)
                if "type" not in value:
                    _add_members(members, value, block)
                elif value["type"] in _CALL_TYPES:
                    calls.append(value)
                else:
                    parts.append(value)
                continue
            if isinstance(part, Text):
                _add_members(members, beside_of(part, piece, Api.CHAT), block)
            parts.append(self._part(block))
        # Only beside calls may there be no content.
        content = self._content(parts) if parts else None if calls else ""
        message = {"role": "assistant", "content": content, **members}
        return message | {"tool_calls": calls} if calls else message

    def _result(self, result: ToolResult, block: Block) -> dict[str, Any]:
        texts: list[str] = []
        for part in inside_of(result):
            if not isinstance(part, Text):
                raise UsageError(
                    f"{where(block.piece)} holds a picture or a file, which results in a chat "
                    "cannot; send it in a user's message, or use the Responses API"
                )
            texts.append(part.text)
        mark = self._marks.take(block.place)
        if mark is not None:
            texts = texts or [""]
        last = len(texts) - 1
        parts = [self._text(text, mark if at == last else None) for at, text in enumerate(texts)]
        content = self._content(parts) if parts else ""
        return {"role": "tool", "tool_call_id": result.call_id, "content": content}

    def _part(self, block: Block) -> dict[str, Any]:
        part, at = block.part, where(block.piece)
        match part:
            case Text():
                return self._text(part.text, self._marks.take(block.place))
            case Image():
                url = address(part, at) or data_url(part, at)
                made: dict[str, Any] = {"type": "image_url", "image_url": {"url": url}}
                return made | self._mark(self._marks.take(block.place))
            case Document():
                file = {"filename": file_name(part), "file_data": data_url(part, at)}
                return {"type": "file", "file": file} | self._mark(self._marks.take(block.place))
            case Native():
                return object_of(part.json, block.piece)
            case ToolCall() | ToolResult() | Thinking():
                raise UsageError(f"{at} is a user's; only an assistant has it")
        assert_never(part)

    def _text(self, text: str, mark: Placed | None) -> dict[str, Any]:
        return {"type": "text", "text": text} | self._mark(mark)

    def _mark(self, mark: Placed | None) -> dict[str, Any]:
        if mark is None or self._marker == "prompt_cache_breakpoint":
            return breakpoint_of(mark)
        ttl = {} if mark.ttl is None else {"ttl": mark.ttl}
        return {"cache_control": {"type": "ephemeral", **ttl}}

    def _content(
        self, parts: list[dict[str, Any]], stable: int | None = None
    ) -> str | list[dict[str, Any]]:
        """`stable`: how many of the parts do not belong to the turn; None for all."""
        if self._listed or (len(parts) if stable is None else stable) > 1:
            return parts
        if any(part.keys() != {"type", "text"} for part in parts):
            return parts
        return _BLANK_LINE.join(part["text"] for part in parts)


def _add_members(members: dict[str, Any], more: dict[str, Any], block: Block) -> None:
    """Members of a message that several parts bring along; two that differ are an error."""
    for name, value in more.items():
        if name in {"role", "content", "tool_calls"} or members.get(name, value) != value:
            raise UsageError(
                f"{where(block.piece)} brings the member {name!r}, which the message has already; "
                "split the message in two"
            )
        members[name] = value
