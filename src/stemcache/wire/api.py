"""Which API a request body was written for, told by the body and, where known, the path."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

__all__ = ["Api", "api_of", "api_of_path"]


class Api(StrEnum):
    """The shapes of requests, answers and usage that are told apart."""

    CHAT = "chat"
    """OpenAI Chat Completions, and all who took it over: vLLM, SGLang, DeepSeek, Qwen, xAI, …"""
    RESPONSES = "responses"
    """OpenAI Responses."""
    COMPLETIONS = "completions"
    """OpenAI's older completions: one text, or token ids."""
    MESSAGES = "messages"
    """Anthropic Messages; also what Bedrock's InvokeModel and Vertex carry for Claude."""
    CONVERSE = "converse"
    """Bedrock Converse."""
    GENERATE = "generate"
    """Gemini generateContent."""


_PATHS = (
    ("/chat/completions", Api.CHAT),
    ("/completions", Api.COMPLETIONS),
    ("/responses", Api.RESPONSES),
    ("/messages", Api.MESSAGES),
    ("/converse", Api.CONVERSE),
    ("/converse-stream", Api.CONVERSE),
    (":generateContent", Api.GENERATE),
    (":streamGenerateContent", Api.GENERATE),
    (":rawPredict", Api.MESSAGES),
    (":streamRawPredict", Api.MESSAGES),
    ("/invoke", Api.MESSAGES),
    ("/invoke-with-response-stream", Api.MESSAGES),
)
_ANTHROPIC_BLOCKS = frozenset(
    {"thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use", "document"}
)


def api_of(body: Mapping[str, Any], path: str | None = None) -> Api | None:
    """The API, or None where nothing tells. The body wins over a path that says otherwise.

    Chat and Messages bodies look alike where neither tools nor marked blocks are in them; then
    `system` beside the messages, `max_tokens` together with a list of blocks, or a model of the
    family named claude decides, and else it is Chat.
    """
    by_path = api_of_path(path)
    messages = body.get("messages")
    if isinstance(body.get("contents"), list):
        return Api.GENERATE
    if isinstance(messages, list):
        if by_path in {Api.CHAT, Api.MESSAGES, Api.CONVERSE}:
            return by_path
        return _of_messages(body, messages)
    if "input" in body and isinstance(body["input"], str | list):
        return Api.RESPONSES
    if isinstance(body.get("prompt"), str | list):
        return Api.COMPLETIONS
    return None


def api_of_path(path: str | None) -> Api | None:
    """The API whose requests for an answer are sent to such a path; None where nothing tells."""
    if path is None:
        return None
    bare = path.partition("?")[0].rstrip("/")
    for end, api in _PATHS:
        if bare.endswith(end):
            return api
    return None


def _of_messages(body: Mapping[str, Any], messages: list[Any]) -> Api:
    if "anthropic_version" in body or "cache_control" in body or "thinking" in body:
        return Api.MESSAGES
    if "inferenceConfig" in body or "toolConfig" in body or "modelId" in body:
        return Api.CONVERSE
    system = body.get("system")
    if isinstance(system, list):
        typed = any(isinstance(block, Mapping) and "type" in block for block in system)
        return Api.MESSAGES if typed or not system else Api.CONVERSE
    if isinstance(system, str):
        return Api.MESSAGES
    tools = body.get("tools")
    first = tools[0] if isinstance(tools, list) and tools else None
    if isinstance(first, Mapping):
        if "input_schema" in first:
            return Api.MESSAGES
        if "function" in first:
            return Api.CHAT
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        # Tuples: a log may have anything for a role, also what no set can be asked for.
        if message.get("role") in ("system", "tool", "developer") or "tool_calls" in message:
            return Api.CHAT
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, Mapping):
                continue
            kind = block.get("type")
            if (isinstance(kind, str) and kind in _ANTHROPIC_BLOCKS) or "cache_control" in block:
                return Api.MESSAGES
            if "type" not in block:
                return Api.CONVERSE
            if kind in ("image_url", "input_audio"):
                return Api.CHAT
    model = body.get("model")
    named = isinstance(model, str) and "claude" in model.lower()
    return Api.MESSAGES if named else Api.CHAT
