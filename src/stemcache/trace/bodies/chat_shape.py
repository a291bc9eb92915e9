"""Conversations of any provider as OpenAI's chat messages, which templates are written for.

| found | becomes |
|---|---|
| `system`, `instructions` | a first message of the role `system` |
| a list of parts | their texts, with nothing between; media as a mark |
| `tool_use`, `function_call` | `tool_calls` of the assistant's message |
| `tool_result`, `function_call_output` | a message of the role `tool` |
| `thinking`, `reasoning` | `reasoning_content` |
| a tool with `input_schema`, or flat | a tool of type `function` |

Fields that templates do not read are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from stemcache.trace.bodies.characters import media_mark, text_of
from stemcache.trace.bodies.prompt import Conversation
from stemcache.trace.problem import BadLineError

__all__ = ["openai_messages", "openai_tools"]

_ROLES = {"assistant", "developer", "system", "tool", "user"}
_KEPT = ("name", "reasoning_content", "tool_call_id", "tool_calls")


def openai_messages(conversation: Conversation) -> list[dict[str, Any]]:
    """A new list. Raises BadLineError where a message is none."""
    messages: list[dict[str, Any]] = []
    if conversation.system is not None:
        messages.append({"role": "system", "content": _text(conversation.system)})
    for i, message in enumerate(conversation.messages):
        if not isinstance(message, Mapping):
            raise BadLineError(f"messages[{i}] is no object")
        messages.extend(_message(message, f"messages[{i}]"))
    return messages


def _message(message: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    role, kind = message.get("role"), message.get("type")
    if role is None and kind == "function_call":
        call = _call(message.get("call_id"), message.get("name"), message.get("arguments"))
        yield {"role": "assistant", "content": "", "tool_calls": [call]}
    elif role is None and kind == "function_call_output":
        yield _result(message.get("call_id"), message.get("output"))
    elif role is None and kind is not None:
        words = _text(message.get("summary") or message.get("content"))
        yield {"role": "assistant", "content": "", "reasoning_content": words}
    elif role not in _ROLES:
        raise BadLineError(f"{where}.role is none that chat templates know")
    else:
        yield from _spoken(message, str(role))


def _spoken(message: Mapping[str, Any], role: str) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    calls: list[dict[str, Any]] = []
    texts: list[str] = []
    thoughts: list[str] = []
    for part in parts:
        if not isinstance(part, Mapping):
            texts.append(_part(part))
            continue
        kind = part.get("type")
        if kind == "tool_use":
            calls.append(_call(part.get("id"), part.get("name"), part.get("input")))
        elif kind == "tool_result":
            # Results come before what the user adds to them.
            yield _result(part.get("tool_use_id"), part.get("content"))
        elif kind == "thinking":
            thoughts.append(str(part.get("thinking") or ""))
        else:
            texts.append(_part(part))
    made: dict[str, Any] = {"role": role, "content": "".join(texts)}
    made |= {name: message[name] for name in _KEPT if message.get(name) is not None}
    if thoughts:
        made["reasoning_content"] = "".join(thoughts)
    if calls:
        made["tool_calls"] = calls
    if made["content"] or len(made) > 2 or not isinstance(content, list):
        yield made


def _text(content: object) -> str:
    return "".join(map(_part, content)) if isinstance(content, list) else _part(content)


def _part(part: object) -> str:
    if part is None:
        return ""
    text = text_of(part)
    if text is None:
        text = media_mark(part)
    return msgspec.json.encode(part).decode() if text is None else text


def _call(name: object, function: object, arguments: object) -> dict[str, Any]:
    return {
        "id": str(name or ""),
        "type": "function",
        "function": {"name": str(function or ""), "arguments": arguments},
    }


def _result(name: object, content: object) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": str(name or ""), "content": _text(content)}


def openai_tools(tools: Sequence[Any]) -> list[dict[str, Any]]:
    """A new list; a provider's own tool becomes a function that is named for its type."""
    return [_tool(tool) for tool in tools]


def _tool(tool: object) -> dict[str, Any]:
    if not isinstance(tool, Mapping):
        raise BadLineError("tools holds what is no object")
    if isinstance(tool.get("function"), Mapping):
        return {"type": "function", "function": tool["function"]}
    function = {"name": str(tool.get("name") or tool.get("type") or "")}
    if tool.get("description") is not None:
        function["description"] = tool["description"]
    parameters = tool.get("input_schema") or tool.get("parameters")
    return {
        "type": "function",
        "function": function if parameters is None else {**function, "parameters": parameters},
    }
