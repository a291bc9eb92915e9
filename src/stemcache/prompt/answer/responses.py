"""OpenAI's Responses as parts. Pure.

```
message      output_text            Text        id, status and phase of the item beside it
             with annotations, …    Native      the whole item
function_call                       ToolCall    id, status, caller … of the item beside it
function_call_output                ToolResult  where its output is plain
reasoning                           Thinking
all else                            Native      from tools where named *_output, else the model's
system, developer that lead         nothing     the layout's business
```
"""

from collections.abc import Mapping
from typing import Any

from stemcache.prompt.answer.chat import data_url
from stemcache.prompt.conversation.native import (
    Turn,
    beside,
    jsonable,
    listed,
    mapped,
    native,
    string,
    thought,
    unreadable,
    worth_keeping,
)
from stemcache.prompt.message import Speaker
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

_API = Api.RESPONSES
_LEAD = ("type", "id", "call_id", "name", "role", "summary", "content", "encrypted_content")
_MESSAGE = frozenset({"type", "role", "content"})
_CALL = frozenset({"type", "call_id", "name", "arguments"})
_OUTPUT = frozenset({"type", "call_id", "output", "id", "status"})
_MARK = "prompt_cache_breakpoint"
_BARE = frozenset({"type", "text", "annotations", "logprobs", "parsed"})


def answer_parts(answer: Mapping[str, Any], where: str) -> tuple[Part, ...]:
    """The parts of a whole answer. Linear. Raises UsageError naming the place."""
    at = f"{where}.output"
    parts: list[Part] = []
    for i, item in enumerate(listed(jsonable(answer.get("output"), at), at)):
        _, found = _item(mapped(item, f"{at}[{i}]"), f"{at}[{i}]")
        parts.extend(filter(worth_keeping, found))
    return tuple(parts)


def turns(messages: list[Any]) -> list[Turn]:
    """The items of a body's input. Linear. Raises UsageError naming the place."""
    made: list[Turn] = []
    for i, given in enumerate(messages):
        where = f"input[{i}]"
        item = mapped(jsonable(given, where), where)
        if item.get("role") in ("system", "developer") and not made:
            continue
        speaker, parts = _item(item, where)
        if speaker == "assistant":
            parts = tuple(filter(worth_keeping, parts))
        joins = speaker == "assistant" or item.get("role") is None
        made.append(Turn(speaker, parts, where, joins=joins))
    return made


def _item(item: dict[str, Any], where: str) -> tuple[Speaker, tuple[Part, ...]]:
    item = {name: value for name, value in item.items() if name != _MARK}
    kind = item.get("type", "message" if "role" in item else None)
    match kind:
        case "message":
            return _message(item, where)
        case "function_call":
            call = ToolCall(
                id=string(item, "call_id", where),
                name=string(item, "name", where),
                arguments=string(item, "arguments", where),
                beside=beside(_API, item, _CALL, where),
            )
            return "assistant", (call,)
        case "function_call_output":
            return "user", (_output(item, where),)
        case "reasoning":
            return "assistant", (thought(_API, item, where, _LEAD),)
        case "item_reference":
            raise unreadable(where, "names an item that the server keeps", "send the item itself")
        case str():
            of_tool = kind.endswith("_output") or kind == "mcp_approval_response"
            return "user" if of_tool else "assistant", (native(_API, item, where, _LEAD),)
    raise unreadable(f"{where}.type", "is missing")


def _message(item: dict[str, Any], where: str) -> tuple[Speaker, tuple[Part, ...]]:
    role, content = item.get("role"), item.get("content")
    if role == "assistant":
        around = beside(_API, item, _MESSAGE, where)
        if isinstance(content, str):
            return "assistant", (Text(content, around),)
        texts = [_bare_text(part) for part in listed(content, f"{where}.content")]
        plain = tuple(Text(text, around) for text in texts if text is not None)
        if len(plain) == len(texts):
            return "assistant", plain
        return "assistant", (native(_API, _without_parsed(item), where, _LEAD),)
    if role != "user":
        raise unreadable(
            f"{where}.role", "is neither user nor assistant", "put instructions into a segment"
        )
    if isinstance(content, str):
        return "user", (Text(content),)
    return "user", tuple(
        _content(mapped(part, f"{where}.content[{i}]"), f"{where}.content[{i}]")
        for i, part in enumerate(listed(content, f"{where}.content"))
    )


def _bare_text(part: Any) -> str | None:
    """The text of a part that is nothing else; log probabilities are about the answer."""
    if (
        isinstance(part, dict)
        and part.get("type") == "output_text"
        and isinstance(part.get("text"), str)
        and not part.get("annotations")
        and part.keys() <= _BARE | {_MARK}
    ):
        return str(part["text"])
    return None


def _without_parsed(item: dict[str, Any]) -> dict[str, Any]:
    content = [
        {name: value for name, value in part.items() if name not in {"parsed", _MARK}}
        if isinstance(part, dict)
        else part
        for part in item["content"]
    ]
    return {**item, "content": content}


def _output(item: dict[str, Any], where: str) -> ToolResult | Native:
    output = item.get("output")
    if isinstance(output, str):
        output = [{"type": "input_text", "text": output}] if output else []
    blocks = listed(output, f"{where}.output")
    inside: list[Text | Image | Document] = []
    for i, one in enumerate(blocks):
        part = _content(mapped(one, f"{where}.output[{i}]"), f"{where}.output[{i}]")
        if isinstance(part, Text | Image | Document):
            inside.append(part)
    if len(inside) < len(blocks) or beside(_API, item, _OUTPUT, where) is not None:
        return native(_API, item, where, _LEAD)
    return ToolResult(call_id=string(item, "call_id", where), parts=tuple(inside))


def _content(block: dict[str, Any], where: str) -> Part:
    block = {name: value for name, value in block.items() if name != _MARK and value is not None}
    match block:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return Text(text)
        case {"type": "input_image", "image_url": str(url), **rest} if rest.get("detail") in (
            None,
            "auto",
        ) and rest.keys() <= {"detail"}:
            media_type, base64 = data_url(url)
            if base64 is not None:
                return Image(media_type=media_type, base64=base64)
            return Image(media_type="image/*", url=url)
        case {"type": "input_file", "file_data": str(data), "filename": str(name), **rest} if (
            not rest
        ):
            media_type, base64 = data_url(data)
            if base64 is not None:
                return Document(media_type=media_type, name=name, base64=base64)
        case {"type": "input_file", "file_url": str(url), **rest} if not rest:
            return Document(media_type="application/pdf", url=url)
    return native(_API, block, where, _LEAD)
