"""Chat bodies as a template reads them, reshaped as vLLM does.

| in the body | for the template |
|---|---|
| a list of text parts | one string, joined by newlines |
| the same, where the template loops over parts | parts; a string is one part |
| `tool_calls[].function.arguments`, a string | the object that it spells, else an empty one |
| a tool | `type`, `function` with `name`, `description`, `parameters` first and always |
| `reasoning` | also as `reasoning_content` |

Anything that is not text (images, audio) makes a prompt that is not tokenized here. What another
engine reshapes otherwise is found out by its reports and costs a worse prediction, nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

__all__ = ["Conversation", "UnreadableError", "conversation_of"]

_TEXT_KINDS = frozenset({"text", "input_text", "output_text", "refusal", "thinking"})


class UnreadableError(ValueError):
    """The prompt cannot be tokenized here; the message says why, without any of its text."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a template is given."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    values: dict[str, Any] = field(default_factory=dict)
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    add_special_tokens: bool = False


def conversation_of(body: Mapping[str, Any], *, parts: bool) -> Conversation:
    """A chat body reshaped. `parts`: whether the template loops over a message's content.

    Raises UnreadableError.
    """
    if body.get("chat_template") is not None:
        raise UnreadableError("the request brings its own chat template")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise UnreadableError("messages is no list with messages")
    values = body.get("chat_template_kwargs")
    if values is not None and not isinstance(values, dict):
        raise UnreadableError("chat_template_kwargs is no object")
    values = dict(values or {})
    if body.get("documents") is not None:
        values["documents"] = body["documents"]
    if body.get("reasoning_effort") is not None:
        values.setdefault("reasoning_effort", body["reasoning_effort"])
    generation = values.pop("add_generation_prompt", body.get("add_generation_prompt", True))
    goes_on = values.pop("continue_final_message", body.get("continue_final_message", False))
    return Conversation(
        messages=[_message(message, parts=parts) for message in messages],
        tools=_tools(body.get("tools")),
        values=values,
        add_generation_prompt=generation is not False and not goes_on,
        continue_final_message=goes_on is True,
        add_special_tokens=body.get("add_special_tokens") is True,
    )


def _message(message: Any, *, parts: bool) -> dict[str, Any]:
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(role, str):
        raise UnreadableError("a message has no role")
    shaped: dict[str, Any] = {"role": role, "content": _content(message.get("content"), parts)}
    if role == "assistant":
        calls = message.get("tool_calls")
        if calls:
            shaped["tool_calls"] = _calls(calls)
        reasoning = message.get("reasoning")
        if reasoning is not None:
            shaped["reasoning"] = shaped["reasoning_content"] = reasoning
    elif role == "tool":
        if "tool_call_id" in message:
            shaped["tool_call_id"] = message["tool_call_id"]
        if isinstance(shaped["content"], list):
            shaped["content"] = "\n".join(part["text"] for part in shaped["content"])
    if isinstance(message.get("name"), str):
        shaped["name"] = message["name"]
    return shaped


def _content(content: Any, parts: bool) -> Any:  # noqa: FBT001  # passed on
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if parts else content
    if content is None:
        return [] if parts else ""
    if not isinstance(content, list):
        raise UnreadableError("a message's content is neither text nor parts")
    texts = [_text(part) for part in content]
    if parts:
        return [{"type": "text", "text": text} for text in texts]
    return "\n".join(text for text in texts if text)


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in _TEXT_KINDS:
        raise UnreadableError("a message has parts that are not text")
    text = part.get("text" if kind.endswith("text") else kind)
    if not isinstance(text, str):
        raise UnreadableError("a part of a message has no text")
    return text


def _calls(calls: Any) -> list[dict[str, Any]]:
    if not isinstance(calls, list):
        raise UnreadableError("tool_calls is no list")
    shaped = []
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            raise UnreadableError("a tool call has no function")
        arguments = _arguments(function.get("arguments"))
        shaped.append({**call, "function": {**function, "arguments": arguments}})
    return shaped


def _arguments(arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except (msgspec.DecodeError, RecursionError):
            return {}
    return arguments if isinstance(arguments, dict) else {}


def _tools(tools: Any) -> list[dict[str, Any]]:
    if tools is None:
        return []
    if not isinstance(tools, list):
        raise UnreadableError("tools is no list")
    return [_tool(tool) for tool in tools]


def _tool(tool: Any) -> dict[str, Any]:
    function = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(function, dict):
        raise UnreadableError("a tool is no function")
    first = {name: function.get(name) for name in ("name", "description", "parameters")}
    return {"type": "function", "function": {**first, **function}, **_rest(tool)}


def _rest(tool: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in tool.items() if name not in ("type", "function")}
