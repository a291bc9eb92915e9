"""A naive chat as a naive user of Anthropic's API sends it: the same content, no markers."""

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["as_messages"]


def as_messages(chat: Mapping[str, Any]) -> dict[str, Any]:
    """The body for `Anthropic().messages.create`; everything in the order in which it was."""
    system, *rest = chat["messages"]
    options = {
        name: value for name, value in chat.items() if name not in {"messages", "model", "tools"}
    }
    messages: list[dict[str, Any]] = []
    for message in rest:
        role, blocks = _turn(message)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    return {
        "model": chat["model"],
        **options,
        "tools": [_tool(tool["function"]) for tool in chat["tools"]],
        "system": system["content"],
        "messages": messages,
    }


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": function["name"],
        "description": function["description"],
        "input_schema": function["parameters"],
    }


def _turn(message: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    text = message.get("content") or ""
    if message["role"] == "tool":
        call = message["tool_call_id"]
        return "user", [{"type": "tool_result", "tool_use_id": call, "content": text}]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for call in message.get("tool_calls", ()):
        function = call["function"]
        arguments = json.loads(function["arguments"])
        block = {"type": "tool_use", "id": call["id"], "name": function["name"], "input": arguments}
        blocks.append(block)
    return message["role"], blocks
