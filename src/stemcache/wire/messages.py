"""Chat messages and tools: from OpenAI's shapes to what chat templates read.

What changes on the way: a list of text parts becomes one string, joined with nothing between;
`developer` becomes `system`, the role that templates know; a tool call's arguments, a string in
the API, become the object that it spells, as templates expect; nulls go. Order of keys stays, so
equal messages render to equal text.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from stemcache.errors import RequestError, UnsupportedError, unknown_choice
from stemcache.wire.body import Fields, cut, settle, show

__all__ = ["check_template_values", "messages_for_template", "tools_for_template"]

_SET_HERE = frozenset({"add_generation_prompt", "documents", "messages", "tools"})
"""Names that a template gets from the server, whatever `chat_template_kwargs` holds."""

_ROLES = ("assistant", "developer", "system", "tool", "user")

_MESSAGE = Fields(
    implemented=frozenset(
        {"content", "name", "reasoning", "reasoning_content", "role", "tool_call_id", "tool_calls"}
    ),
    # What the official client's answer objects carry when they are sent back as history.
    neutral={"annotations": ([],), "audio": (), "function_call": (), "refusal": ()},
)


def messages_for_template(messages: object) -> list[dict[str, Any]]:
    """Check and reshape the `messages` of a body. Raises RequestError naming the place."""
    if not isinstance(messages, list) or not messages:
        raise RequestError(
            f"messages is {show(messages)}; send a list with at least one message",
            param="messages",
        )
    return [_message(message, f"messages[{i}]") for i, message in enumerate(messages)]


def _message(message: object, where: str) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise RequestError(
            f"{where} is {show(message)}; send an object with role and content", param=where
        )
    try:
        kept = settle(message, _MESSAGE)
    except RequestError as error:
        raise type(error)(f"{where}: {error}", param=f"{where}.{error.param}") from None
    role = kept.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise RequestError(
            unknown_choice("role", cut(str(role)), f"{where}.role", _ROLES), param=f"{where}.role"
        )
    kept["role"] = "system" if role == "developer" else role
    for name in ("name", "reasoning", "reasoning_content", "tool_call_id"):
        if not isinstance(kept.get(name, ""), str):
            raise RequestError(
                f"{where}.{name} is {show(kept[name])}; send a string", param=f"{where}.{name}"
            )
    if "tool_calls" in kept:
        if role != "assistant":
            raise RequestError(
                f"{where}.tool_calls stands in a message of role {role}; only an assistant calls",
                param=f"{where}.tool_calls",
            )
        kept["tool_calls"] = _tool_calls(kept["tool_calls"], f"{where}.tool_calls")
    if "content" not in kept and not kept.get("tool_calls"):
        raise RequestError(
            f"{where}.content is missing; send a string or a list of text parts",
            param=f"{where}.content",
        )
    kept["content"] = _content(kept.get("content", ""), f"{where}.content")
    return kept


def _content(content: object, where: str) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise RequestError(
            f"{where} is {show(content)}; send a string or a list of text parts", param=where
        )
    texts = []
    for i, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind is not None and kind != "text":
            raise UnsupportedError(
                f"{where}[{i}] is a part of type {show(kind)}, which this server does not support; "
                "send text parts only",
                param=f"{where}[{i}]",
            )
        text = part.get("text") if isinstance(part, dict) else None
        if kind is None or not isinstance(text, str):
            raise RequestError(
                f'{where}[{i}] is {show(part)}; send {{"type": "text", "text": "..."}}',
                param=f"{where}[{i}]",
            )
        texts.append(text)
    return "".join(texts)


def _tool_calls(calls: object, where: str) -> list[dict[str, Any]]:
    if not isinstance(calls, list):
        raise RequestError(f"{where} is {show(calls)}; send a list of calls", param=where)
    return [_tool_call(call, f"{where}[{i}]") for i, call in enumerate(calls)]


def _tool_call(call: object, where: str) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise RequestError(
            f"{where} is {show(call)}; send a call of type function with a name", param=where
        )
    assert isinstance(call, dict), "it has a function"
    return {**call, "function": {**function, "arguments": _arguments(function.get("arguments"))}}


def _arguments(arguments: object) -> object:
    # Models write broken JSON at times, and clients send it back as history: such a string stays
    # a string for the template to show, rather than making the conversation impossible to go on.
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        return msgspec.json.decode(arguments) if arguments.strip() else {}
    except (msgspec.DecodeError, RecursionError):
        return arguments


def tools_for_template(tools: object, tool_choice: object) -> list[dict[str, Any]]:
    """Check `tools` and `tool_choice`. Raises RequestError, UnsupportedError for a forced call.

    With `none` the tools still go into the prompt, so that the prefix does not change with it.
    """
    if tool_choice not in (None, "none", "auto"):
        raise UnsupportedError(
            f"tool_choice is {show(tool_choice)}, which this server does not support; "
            "use 'auto' or 'none'",
            param="tool_choice",
        )
    if tools is None:
        return []
    if not isinstance(tools, list):
        raise RequestError(f"tools is {show(tools)}; send a list of tools", param="tools")
    for i, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, Mapping) else None
        kind = tool.get("type") if isinstance(tool, Mapping) else None
        if isinstance(kind, str) and kind != "function":
            raise UnsupportedError(
                f"tools[{i}] is of type {show(kind)}, which this server does not support; "
                "send tools of type function",
                param=f"tools[{i}].type",
            )
        if kind is None or not isinstance(function, Mapping) or not function.get("name"):
            raise RequestError(
                f"tools[{i}] is {show(tool)}; send a tool of type function with a name",
                param=f"tools[{i}]",
            )
    return tools


def check_template_values(values: Mapping[str, object]) -> None:
    """Raise RequestError where `chat_template_kwargs` sets what would be set over it."""
    taken = sorted(_SET_HERE & values.keys())
    if taken:
        raise RequestError(
            f"chat_template_kwargs sets {taken[0]}, which the server sets; leave it out",
            param="chat_template_kwargs",
        )
