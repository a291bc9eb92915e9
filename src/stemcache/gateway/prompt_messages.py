"""Anthropic Messages bodies as the chat bodies that vLLM makes of them.

| block | becomes |
|---|---|
| `system`, text blocks | one message, joined with nothing between |
| `text` | content; one block is a string, several are parts |
| `tool_use` | `tool_calls`, the input as JSON |
| `tool_result` of a user | a message of the role `tool` before the user's other blocks |
| `thinking` | `reasoning`, joined |
| `redacted_thinking`, `tool_reference` | nothing |

Images, documents and changes of tools on the way are not read here.
"""

import json
from collections.abc import Mapping
from typing import Any

from stemcache.gateway.prompt_chat import BILLING_LINE, UnreadableError
from stemcache.text.memo import TemplateStyle

__all__ = ["MESSAGES_FIELDS", "chat_of_messages"]

MESSAGES_FIELDS = (
    "chat_template_kwargs",
    "messages",
    "output_config",
    "system",
    "thinking",
    "tools",
)
"""What is read of a body."""

_SILENT = frozenset({"redacted_thinking", "tool_reference"})


def chat_of_messages(body: Mapping[str, Any], style: TemplateStyle) -> dict[str, Any]:
    """The `MESSAGES_FIELDS` of a body, decoded, as a chat body's. Raises UnreadableError."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise UnreadableError("messages is no list")
    talk: list[dict[str, Any]] = []
    given = body.get("system")
    system = [given] if isinstance(given, str) and given else _system_texts(given)
    later: list[dict[str, Any]] = []
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant", "system"):
            raise UnreadableError("a message has none of the roles that there are")
        if role != "system":
            later += _converted(role, message.get("content"))
            continue
        text = "".join(_system_texts(message.get("content")))
        if text and style.late_system:
            later.append({"role": "system", "content": text})
        elif text:
            system.append(text)
    if system:
        talk.append({"role": "system", "content": "".join(system)})
    chat: dict[str, Any] = {"messages": talk + later}
    if body.get("chat_template_kwargs") is not None:
        chat["chat_template_kwargs"] = body["chat_template_kwargs"]
    effort = _effort(body, style)
    if effort is not None:
        chat["reasoning_effort"] = effort
    if body.get("tools") is not None:
        chat["tools"] = _tools(body["tools"])
    return chat


def _system_texts(content: Any) -> list[str]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    texts = [_string(block, "text") for block in _blocks(content) if block["type"] == "text"]
    return [text for text in texts if text and not text.startswith(BILLING_LINE)]


def _converted(role: str, content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[str] = []
    results: list[dict[str, Any]] = []
    for block in _blocks(content):
        kind = block["type"]
        if kind == "text":
            if _string(block, "text"):
                parts.append({"type": "text", "text": block["text"]})
        elif kind == "thinking":
            thoughts.append(_string(block, "thinking"))
        elif kind == "tool_use":
            calls.append(_call(block))
        elif kind == "tool_result" and role == "user":
            results.append(_result(block))
        elif kind not in _SILENT:
            raise UnreadableError("a message has blocks that are not text or tools")
    message: dict[str, Any] = {"role": role}
    if thoughts:
        message["reasoning"] = "".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    if parts:
        message["content"] = parts[0]["text"] if len(parts) == 1 else parts
    if role == "user" and not parts:
        return results
    return [*results, message]


def _blocks(content: Any) -> list[dict[str, Any]]:
    if not isinstance(content, list):
        raise UnreadableError("a message's content is neither text nor blocks")
    for block in content:
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise UnreadableError("a block of a message has no type")
    return content


def _string(block: Mapping[str, Any], name: str) -> str:
    text = block.get(name)
    if not isinstance(text, str):
        raise UnreadableError("a block of a message has no text")
    return text


def _call(block: Mapping[str, Any]) -> dict[str, Any]:
    name = block.get("name")
    given = block.get("input")
    return {
        "id": block.get("id") or "",
        "type": "function",
        "function": {"name": name or "", "arguments": json.dumps(given or {})},
    }


def _result(block: Mapping[str, Any]) -> dict[str, Any]:
    content = block.get("content")
    if content is None:
        content = ""
    elif not isinstance(content, str):
        texts = []
        for part in _blocks(content):
            if part["type"] != "text":
                raise UnreadableError("a tool's result has parts that are not text")
            texts.append(_string(part, "text"))
        content = "\n".join(texts)
    return {"role": "tool", "tool_call_id": block.get("tool_use_id") or "", "content": content}


def _effort(body: Mapping[str, Any], style: TemplateStyle) -> Any:
    if not style.effort:
        return None
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "disabled":
        # Which effort stands for none is for the engine's renderer to find out.
        raise UnreadableError("thinking is disabled, which engines write in different ways")
    config = body.get("output_config")
    return config.get("effort") if isinstance(config, dict) else None


def _tools(tools: Any) -> list[dict[str, Any]]:
    if not isinstance(tools, list):
        raise UnreadableError("tools is no list")
    shaped = []
    for tool in tools:
        schema = tool.get("input_schema") if isinstance(tool, dict) else None
        if not isinstance(schema, dict):
            raise UnreadableError("a tool has no input_schema")
        function = {
            "name": tool.get("name"),
            "description": tool.get("description"),
            "parameters": schema if "type" in schema else {**schema, "type": "object"},
            "strict": tool.get("strict"),
            "defer_loading": tool.get("defer_loading"),
        }
        shaped.append({"type": "function", "function": function})
    return shaped
