"""Chat bodies as a template reads them, reshaped as vLLM does.

| in the body | for the template |
|---|---|
| a list of text parts | one string, joined by newlines |
| the same, where the template loops over parts | parts; a string is one part |
| `developer`, where the template does not know it | `system`, all of them in one at the beginning |
| `tool_calls[].function.arguments`, a string | the object that it spells, else an empty one |
| a tool | `type`, `function` with `name`, `description`, `parameters`, in this order |
| `reasoning` | also as `reasoning_content` |

Anything that is not text (images, audio) makes a prompt that is not tokenized here. What another
engine reshapes otherwise is found out by its reports and costs a worse prediction, nothing else.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stemcache.text.memo import TemplateStyle

__all__ = ["BILLING_LINE", "CHAT_FIELDS", "Conversation", "UnreadableError", "conversation_of"]

CHAT_FIELDS = (
    "add_generation_prompt",
    "add_special_tokens",
    "chat_template",
    "chat_template_kwargs",
    "continue_final_message",
    "documents",
    "messages",
    "reasoning_effort",
    "tools",
)
"""What is read of a body."""

_TEXT_KINDS = frozenset({"input_text", "output_text", "refusal", "text", "thinking"})
_MOST = 8192
"""Of messages, and of calls and parts in one: more are made to take long."""
_SET_BY_FIELDS = ("add_generation_prompt", "continue_final_message")
BILLING_LINE = "x-anthropic-billing-header"
"""Begins a line that one client puts before its system prompt, different at every request."""


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


def conversation_of(body: Mapping[str, Any], style: TemplateStyle) -> Conversation:
    """The `CHAT_FIELDS` of a body, decoded, reshaped for a template. Raises UnreadableError."""
    if body.get("chat_template") is not None:
        raise UnreadableError("the request brings its own chat template")
    if body.get("documents") is not None:
        raise UnreadableError("the request brings documents")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise UnreadableError("messages is no list with messages")
    if len(messages) > _MOST:
        raise UnreadableError("there are more messages than are read")
    shaped = [_message(message, style) for message in messages]
    if not style.developer and any(message["role"] == "developer" for message in shaped):
        shaped = _one_system(shaped)
    continues = body.get("continue_final_message") is True
    return Conversation(
        messages=shaped,
        tools=_tools(body.get("tools")),
        values=_values(body),
        add_generation_prompt=body.get("add_generation_prompt") is not False and not continues,
        continue_final_message=continues,
        add_special_tokens=body.get("add_special_tokens") is True,
    )


def _without_billing(text: str) -> str:
    """A system prompt without the line that changes at every request."""
    return text.partition("\n")[2] if text.startswith(BILLING_LINE) else text


def _values(body: Mapping[str, Any]) -> dict[str, Any]:
    given = body.get("chat_template_kwargs")
    if given is not None and not isinstance(given, dict):
        raise UnreadableError("chat_template_kwargs is no object")
    values = {name: value for name, value in (given or {}).items() if name not in _SET_BY_FIELDS}
    effort = body.get("reasoning_effort")
    if effort is not None:
        values["reasoning_effort"] = effort
        values.setdefault("enable_thinking", effort != "none")
    return values


def _message(message: Any, style: TemplateStyle) -> dict[str, Any]:
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(role, str):
        raise UnreadableError("a message has no role")
    content = message.get("content")
    if (
        not isinstance(content, str)
        or style.parts
        or (role == "system" and BILLING_LINE in content)
    ):
        content = _content(content, style, bills=role == "system")
    shaped: dict[str, Any] = {"role": role, "content": content}
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
        if isinstance(content, list):
            shaped["content"] = "\n".join(part["text"] for part in content)
    elif role == "developer" and style.developer:
        shaped["tools"] = message.get("tools")
    if isinstance(message.get("name"), str):
        shaped["name"] = message["name"]
    return shaped


def _content(content: Any, style: TemplateStyle, *, bills: bool) -> Any:
    if content is None:
        content = []
    elif isinstance(content, str):
        content = [content]
    elif not isinstance(content, list):
        raise UnreadableError("a message's content is neither text nor parts")
    if len(content) > _MOST:
        raise UnreadableError("a message has more parts than are read")
    texts = [_text(part) for part in content]
    if bills:
        texts = [rest for text in texts if (rest := _without_billing(text)) or text == rest]
    if style.parts:
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


def _one_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With `developer` as `system`, and these joined if any is not the first and only one."""
    messages = [
        {**message, "role": "system"} if message["role"] == "developer" else message
        for message in messages
    ]
    leading = [message for message in messages if message["role"] == "system"]
    if len(leading) == 1 and messages[0]["role"] == "system":
        return messages
    texts = []
    for message in leading:
        content = message["content"]
        if isinstance(content, list):
            content = "\n".join(part["text"] for part in content)
        if content:
            texts.append(content)
    others = [message for message in messages if message["role"] != "system"]
    return [{"role": "system", "content": "\n\n".join(texts)}, *others]


def _calls(calls: Any) -> list[dict[str, Any]]:
    if not isinstance(calls, list) or len(calls) > _MOST:
        raise UnreadableError("tool_calls is no list, or longer than is read")
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
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            try:
                # Engines read NaN and the like.
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                return {}
    return arguments if isinstance(arguments, dict) else {}


def _tools(tools: Any) -> list[dict[str, Any]]:
    if tools is None:
        return []
    if not isinstance(tools, list) or len(tools) > _MOST:
        raise UnreadableError("tools is no list, or longer than is read")
    return [_tool(tool) for tool in tools]


def _tool(tool: Any) -> dict[str, Any]:
    function = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(function, dict):
        raise UnreadableError("a tool is no function")
    shaped = {name: function.get(name) for name in ("name", "description", "parameters")}
    defers = tool.get("defer_loading")
    further = {
        "strict": function.get("strict"),
        "defer_loading": function.get("defer_loading", defers),
    }
    shaped.update({name: value for name, value in further.items() if value is not None})
    outer = {"type": "function", "function": shaped}
    return outer if defers is None else {**outer, "defer_loading": defers}
