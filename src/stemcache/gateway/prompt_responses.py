"""OpenAI Responses bodies as the chat bodies that vLLM makes of them.

| item | becomes |
|---|---|
| `instructions` | a message of the role `system` |
| a string | a message of the role `user` |
| a message | a message; of an assistant's parts, the first |
| `function_call` | a call of the assistant's message before it, else of one of its own |
| `function_call_output` | a message of the role `tool` |
| `reasoning` | `reasoning` of the assistant's message before it, else of one of its own |

What the server remembers (`previous_response_id`, `conversation`) is not known here.
"""

from collections.abc import Mapping
from typing import Any

from stemcache.gateway.prompt_chat import UnreadableError

__all__ = ["RESPONSES_FIELDS", "chat_of_responses"]

RESPONSES_FIELDS = (
    "chat_template_kwargs",
    "conversation",
    "input",
    "instructions",
    "previous_response_id",
    "prompt",
    "reasoning",
    "tools",
)
"""What is read of a body."""


def chat_of_responses(body: Mapping[str, Any]) -> dict[str, Any]:
    """The `RESPONSES_FIELDS` of a body, decoded, as a chat body's. Raises UnreadableError."""
    for name in ("previous_response_id", "conversation", "prompt"):
        if body.get(name) is not None:
            raise UnreadableError("a part of the prompt is kept by the replica")
    talk: list[dict[str, Any]] = []
    instructions = body.get("instructions")
    if instructions:
        talk.append({"role": "system", "content": instructions})
    given = body.get("input")
    if isinstance(given, str):
        talk.append({"role": "user", "content": given})
    elif isinstance(given, list):
        for item in given:
            _take(item, talk)
        if _unfinished(given):
            raise UnreadableError("the answer goes on where an earlier one ended")
    else:
        raise UnreadableError("input is neither text nor a list")
    chat: dict[str, Any] = {"messages": talk}
    if body.get("chat_template_kwargs") is not None:
        chat["chat_template_kwargs"] = body["chat_template_kwargs"]
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.get("effort") is not None:
        chat["reasoning_effort"] = reasoning["effort"]
    tools = body.get("tools")
    if tools:
        chat["tools"] = _tools(tools)
    return chat


def _take(item: Any, talk: list[dict[str, Any]]) -> None:
    """Append what an item becomes, or add it to the assistant's message that is last."""
    if not isinstance(item, dict):
        raise UnreadableError("an item of the input is no object")
    kind = item.get("type", "message")
    last = talk[-1] if talk and talk[-1]["role"] == "assistant" else None
    if kind == "message":
        role = item.get("role")
        if role != "assistant":
            talk.append({"role": role, "content": item.get("content")})
            return
        _join(last, talk, "content", _first_text(item.get("content")))
    elif kind == "reasoning":
        _join(last, talk, "reasoning", _thought(item))
    elif kind == "function_call":
        if item.get("namespace"):
            raise UnreadableError("a tool call has a namespace")
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"id": item.get("call_id"), "function": function, "type": "function"}
        if last is None:
            talk.append({"role": "assistant", "tool_calls": [call]})
        else:
            last.setdefault("tool_calls", []).append(call)
    elif kind == "function_call_output":
        talk.append(
            {"role": "tool", "content": item.get("output"), "tool_call_id": item.get("call_id")}
        )
    else:
        raise UnreadableError("an item of the input is neither a message nor of a tool")


def _join(last: dict[str, Any] | None, talk: list[dict[str, Any]], name: str, text: str) -> None:
    if last is not None and last.get(name) is None:
        last[name] = text
    else:
        talk.append({"role": "assistant", name: text})


def _first_text(content: Any) -> str:
    if isinstance(content, list) and content and isinstance(content[0], dict):
        content = content[0].get("text")
    if not isinstance(content, str):
        raise UnreadableError("an answer in the input has no text")
    return content


def _thought(item: Mapping[str, Any]) -> str:
    if item.get("encrypted_content"):
        raise UnreadableError("reasoning in the input is encrypted")
    for name in ("content", "summary"):
        parts = item.get(name)
        if isinstance(parts, list) and parts:
            return _first_text(parts)
    return ""


def _unfinished(given: list[Any]) -> bool:
    last = given[-1] if given else None
    return isinstance(last, dict) and last.get("status") in ("in_progress", "incomplete")


def _tools(tools: Any) -> list[dict[str, Any]]:
    if not isinstance(tools, list):
        raise UnreadableError("tools is no list")
    shaped = []
    for tool in tools:
        if not isinstance(tool, dict) or tool.get("type") != "function":
            raise UnreadableError("a tool is no function")
        names = ("name", "description", "parameters", "strict")
        shaped.append({"type": "function", "function": {name: tool.get(name) for name in names}})
    return shaped
