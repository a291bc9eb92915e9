"""OpenAI's Chat Completions, and all who took it over, as parts. Pure.

```
assistant   reasoning_content, reasoning, …  Thinking    one, with those members of the message
            content "…" │ parts              Text …      the message's name beside the first
            refusal                          Native      as the part of content that it may be
            tool_calls   function            ToolCall    other members of the call beside it
                         custom              Native      a call, as it is
tool        content                          ToolResult  consecutive ones are one message
system, developer that lead                  nothing     the layout's business
```
A message's other members (annotations, parsed, …) are about the answer and never go back.
"""

from collections.abc import Mapping
from typing import Any

from stemcache.prompt.conversation.native import (
    Turn,
    beside,
    compact,
    jsonable,
    listed,
    mapped,
    native,
    string,
    unreadable,
    worth_keeping,
)
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
from stemcache.wire.api import Api

__all__ = ["THOUGHTS", "answer_parts", "data_url", "turns"]

THOUGHTS = ("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks")
"""Members of a message that hold what vendors' models thought."""

_API = Api.CHAT
_LEAD = ("id", "type", "custom", "text", "refusal")
_CALL = frozenset({"id", "type", "function", "index"})
_TEXT = frozenset({"type", "text"})
_MARKS = frozenset({"cache_control", "prompt_cache_breakpoint"})


def answer_parts(answer: Mapping[str, Any], where: str) -> tuple[Part, ...]:
    """The parts of a whole answer, or of its message. Linear. Raises UsageError."""
    if "choices" in answer:
        choices = listed(jsonable(answer["choices"], f"{where}.choices"), f"{where}.choices")
        if len(choices) != 1:
            raise unreadable(
                f"{where}.choices", f"has {len(choices)} choices", "give the message of one of them"
            )
        where = f"{where}.choices[0]"
        message = mapped(mapped(choices[0], where).get("message"), f"{where}.message")
        where = f"{where}.message"
    else:
        message = mapped(jsonable(answer, where), where)
        if message.get("role") != "assistant":
            raise unreadable(where, "has neither choices nor the role assistant")
    return _assistant(message, where)


def turns(messages: list[Any]) -> list[Turn]:
    """The messages of a body. Linear. Raises UsageError naming the place."""
    made: list[Turn] = []
    for i, given in enumerate(messages):
        where = f"messages[{i}]"
        message = mapped(jsonable(given, where), where)
        match message.get("role"):
            case "user":
                made.append(Turn("user", _named(message, _content(message, where), where), where))
            case "assistant":
                made.append(Turn("assistant", _assistant(message, where), where))
            case "tool":
                made.append(Turn("user", (_result(message, where),), where, joins=True))
            case "system" | "developer" if not made:
                continue
            case _:
                raise unreadable(
                    f"{where}.role",
                    "is none of user, assistant and tool",
                    "put instructions into a segment of the layout",
                )
    return made


def _assistant(message: dict[str, Any], where: str) -> tuple[Part, ...]:
    for name, fix in (("audio", "ask for text"), ("function_call", "use tools, not functions")):
        if message.get(name) is not None:
            raise unreadable(where, f"holds {name}, which no conversation keeps", fix)
    parts: list[Part] = []
    thoughts = {name: message[name] for name in THOUGHTS if message.get(name)}
    if thoughts:
        parts.append(Thinking(api=_API, json=compact(thoughts, where)))
    parts.extend(filter(worth_keeping, _named(message, _content(message, where), where)))
    if message.get("refusal"):
        refusal = {"type": "refusal", "refusal": string(message, "refusal", where)}
        parts.append(native(_API, refusal, where, _LEAD))
    calls = message.get("tool_calls")
    for i, call in enumerate(listed([] if calls is None else calls, f"{where}.tool_calls")):
        at = f"{where}.tool_calls[{i}]"
        parts.append(_call(mapped(call, at), at))
    return tuple(parts)


def _call(call: dict[str, Any], where: str) -> ToolCall | Native:
    function = call.get("function")
    if not isinstance(function, dict):
        return native(_API, call, where, _LEAD)
    arguments = function.get("arguments")
    if isinstance(arguments, dict):  # of servers that parse it themselves
        arguments = compact(arguments, where)
    return ToolCall(
        id=string(call, "id", where),
        name=string(function, "name", f"{where}.function"),
        arguments="" if arguments is None else string({"arguments": arguments}, "arguments", where),
        beside=beside(_API, call, _CALL, where),
    )


def _result(message: dict[str, Any], where: str) -> ToolResult:
    inside: list[Text | Image | Document] = []
    for part in _content(message, where):
        if isinstance(part, Text) and not part.text:
            continue
        if not isinstance(part, Text | Image | Document):
            raise unreadable(f"{where}.content", "holds a part that no result keeps", "send text")
        inside.append(part)
    return ToolResult(call_id=string(message, "tool_call_id", where), parts=tuple(inside))


def _named(message: dict[str, Any], parts: list[Part], where: str) -> tuple[Part, ...]:
    """With the speaker's name beside the first text."""
    name = beside(_API, {"name": message.get("name")}, frozenset(), where)
    if name is not None:
        for i, part in enumerate(parts):
            if isinstance(part, Text):
                parts[i] = Text(part.text, name)
                break
    return tuple(parts)


def _content(message: dict[str, Any], where: str) -> list[Part]:
    content = message.get("content")
    if content is None:
        return []
    if isinstance(content, str):
        return [Text(content)]
    parts: list[Part] = []
    for i, one in enumerate(listed(content, f"{where}.content")):
        at = f"{where}.content[{i}]"
        given = mapped(one, at)
        block = {name: value for name, value in given.items() if name not in _MARKS}
        parts.append(_part(block, at))
    return parts


def _part(block: dict[str, Any], where: str) -> Part:
    match string(block, "type", where):
        case "text" if beside(_API, block, _TEXT, where) is None:
            return Text(string(block, "text", where))
        case "image_url":
            match block:
                case {"type": _, "image_url": {"url": str(url), **rest}, **others} if (
                    not others and rest.get("detail") in (None, "auto") and len(rest) <= 1
                ):
                    media_type, base64 = data_url(url)
                    if base64 is not None:
                        return Image(media_type=media_type, base64=base64)
                    return Image(media_type="image/*", url=url)
        case "file":
            match block:
                case {"type": _, "file": {"file_data": str(data), "filename": str(name)}}:
                    media_type, base64 = data_url(data)
                    if base64 is not None:
                        return Document(media_type=media_type, name=name, base64=base64)
    return native(_API, block, where, _LEAD)


def data_url(url: str) -> tuple[str, str | None]:
    """Media type and base64 of `data:TYPE;base64,DATA`; ("", None) for any other address."""
    head, comma, data = url.partition(";base64,")
    if not comma or not head.startswith("data:") or ";" in head or "," in head:
        return "", None
    return head.removeprefix("data:"), data
