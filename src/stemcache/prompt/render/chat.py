r"""OpenAI's Chat Completions, and all who took it over.

```
tools      [{type: function, function: {name, description, parameters}}]
messages   system                the texts of the system section, in one message
           user                  text, image_url, file
           assistant             content, then tool_calls
           tool                  one for each result
```
What stays in the history has one form, whatever a turn or a later request adds:

```
                         lone text    several texts            with a picture or a file
marks may come (listed)  parts        parts                    parts
server of strings        "text"       "text\n\ntext"           parts: there is no other form
any other                "text"       parts                    parts
```
A string stays one where a turn segment stands behind it: its text goes on behind a blank line. (A
message of its own would leave it equal to its end, but templates refuse two of one speaker in a
row.) A turn's picture cannot: where the server takes a second message of a user's, the turn is one;
where it may not, the message is parts for this request, and `turn_alters` tells of it. With marks
to come all is parts from the first request on, so that a mark that moves on, or comes in late,
changes nothing that it leaves behind.

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
from stemcache.prompt.render.chat_server import ANY_SERVER, ChatServer
from stemcache.prompt.render.marks import Marks
from stemcache.prompt.render.media import address, data_url, file_name
from stemcache.prompt.render.openai import breakpoint_of, with_cache_options
from stemcache.prompt.render.opened import opened
from stemcache.prompt.render.options import options_of
from stemcache.prompt.render.tools import schema_of
from stemcache.prompt.render.turns import (
    Block,
    Turn,
    beside_of,
    inside_of,
    object_of,
    system_texts,
    turns_of,
    where,
)
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api

__all__ = ["Marker", "messages_of", "render", "tool_definition", "turn_alters"]

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
    server: ChatServer = ANY_SERVER,
) -> dict[str, Any]:
    """A body for `OpenAI().chat.completions.create(**body)`; `prompt_cache_key` is an option.

    `listed`: content is lists, as it is with marks; for all requests of a conversation the same, as
    is `server`, which says what that server takes. Linear in the prompt; changes nothing. Raises
    UsageError for what the API would refuse.
    """
    given = options_of(options, _TAKEN)
    if marker == "prompt_cache_breakpoint":
        given = with_cache_options(given, placement)
    tools, system, turns, marks = opened(laid, placement, Api.CHAT, server.names)
    writer = _Writer(marks, marker, server, listed=listed or bool(placement.marks))
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
    marks = Marks(laid, nothing, ())
    writer = _Writer(marks, "prompt_cache_breakpoint", ANY_SERVER, listed=False)
    return [
        *writer.system(system_texts(laid, Api.CHAT)),
        *writer.messages(turns_of(laid, Api.CHAT)),
    ]


def turn_alters(laid: Laid, server: ChatServer = ANY_SERVER) -> str | None:
    """Why a message will not read in the next request as it does in this one; None if it will.

    For requests without marks to come. Linear in the prompt.
    """
    last = laid.pieces[-1] if laid.pieces else None
    if last is None or last.stability is not Stability.TURN or server.repeats:
        return None
    joined = [one for one in laid.pieces if one.message == last.message]
    media = next((one for one in joined if isinstance(one.part, Image | Document)), None)
    kept = [one.part for one in joined if one.stability is not Stability.TURN]
    said = [part for part in kept if not isinstance(part, ToolResult)]
    is_string = len(said) == 1 or (said and server.strings)
    if media is None or not is_string or not all(isinstance(part, Text) for part in said):
        return None
    return (
        f"message {last.message} is a list, for {where(media)}, and a string in the next request, "
        "which may read no further than there; send the picture or file as a part of the user's "
        "message, where it stays"
    )


def tool_definition(tool: Tool) -> dict[str, Any]:
    """A tool as chats and templates have it."""
    described = {"description": tool.description} if tool.description else {}
    function = {"name": tool.name, **described, "parameters": schema_of(tool, Api.CHAT)}
    return {"type": "function", "function": function}


class _Writer:
    """Writes messages, taking marks as it goes."""

    def __init__(self, marks: Marks, marker: Marker, server: ChatServer, *, listed: bool) -> None:
        self._marks = marks
        self._marker = marker
        self._server = server
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
            kept: list[dict[str, Any]] = []
            added: list[dict[str, Any]] = []  # by turn segments, which stand last
            members: dict[str, Any] = {}
            for block in turn.blocks:
                if isinstance(block.part, ToolResult):
                    yield self._result(block.part, block)
                    continue
                if isinstance(block.part, Text):
                    beside = beside_of(block.part, block.piece, Api.CHAT)
                    _add_members(members, beside, block)
                is_turn = block.piece.stability is Stability.TURN
                (added if is_turn else kept).append(self._part(block))
            yield from self._user(kept, added, members)

    def _user(
        self, kept: list[dict[str, Any]], added: list[dict[str, Any]], members: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        content: str | list[dict[str, Any]] = [*kept, *added]
        if not content:
            return
        if self._is_one_string(kept) or not (kept or self._listed):
            if _are_texts(added):
                content = _joined([*kept, *added])
            elif kept and self._server.repeats:
                yield {"role": "user", "content": _joined(kept), **members}
                content, members = added, {}
        yield {"role": "user", "content": content, **members}

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

    def _content(self, parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
        return _joined(parts) if self._is_one_string(parts) else parts

    def _is_one_string(self, parts: list[dict[str, Any]]) -> bool:
        few = self._server.strings or len(parts) == 1
        return not self._listed and few and _are_texts(parts)


def _are_texts(parts: list[dict[str, Any]]) -> bool:
    return all(part.keys() == {"type", "text"} for part in parts)


def _joined(parts: list[dict[str, Any]]) -> str:
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
