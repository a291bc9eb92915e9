"""Bodies of the airline requests as LiteLLM and pydantic-ai send them. Runs where those are.

    python benchmarks/placement/peers.py MODE < sessions.json > bodies.jsonl

Their own clients make the bodies; a transport in the process keeps them and answers. Nothing is
sent. A line of output is `[session, messages, path, body]`.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any

import httpx

__all__ = ["MODES", "main"]

CLAUDE, GPT = "claude-sonnet-5-5", "gpt-6.1-sol"
_SYSTEM = {"location": "message", "role": "system"}
_LAST = {"location": "message", "index": -1}
MODES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "litellm-default": ("litellm", "anthropic", {"enable_prompt_caching": True}),
    "litellm-system": ("litellm", "anthropic", {"cache_control_injection_points": [_SYSTEM]}),
    "litellm-system-last": (
        "litellm",
        "anthropic",
        {"cache_control_injection_points": [_SYSTEM, _LAST]},
    ),
    "pydantic-auto": ("pydantic", "anthropic", {"anthropic_cache": True}),
    "pydantic-cache": ("pydantic", "anthropic", {"cache": True}),
    "pydantic-1h": ("pydantic", "anthropic", {"cache": "1h"}),
    "litellm-plain-openai": ("litellm", "openai", {}),
    "litellm-system-openai": ("litellm", "openai", {"cache_control_injection_points": [_SYSTEM]}),
    "litellm-system-last-openai": (
        "litellm",
        "openai",
        {"cache_control_injection_points": [_SYSTEM, _LAST]},
    ),
    "pydantic-cache-openai": ("pydantic", "openai", {"cache": True}),
    "pydantic-plain-openai": ("pydantic", "openai", {}),
}

_ANSWERS: dict[str, dict[str, Any]] = {
    "/v1/messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": CLAUDE,
        "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "/v1/responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": GPT,
        "output": [
            {
                "type": "message",
                "id": "msg_1",
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "ok", "annotations": []}],
            }
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    },
    "/v1/chat/completions": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": GPT,
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "ok"},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    },
}


class _Kept:
    """What takes a request in place of the network: keeps it and answers."""

    def __init__(self) -> None:
        self.path = ""
        self.body: Any = None

    def answer(self, request: Any) -> dict[str, Any]:
        self.path = request.url.path
        self.body = json.loads(request.content)
        return _ANSWERS[self.path]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=self.answer(request))


def _requests(given: dict[str, Any]) -> Iterator[tuple[int, int, list[dict[str, Any]]]]:
    for number, session in enumerate(given["sessions"]):
        for index, message in enumerate(session):
            if message["role"] == "assistant":
                yield number, index, session[:index]


def _litellm(api: str, settings: dict[str, Any], given: dict[str, Any]) -> Iterator[list[Any]]:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # as shipped, not fetched
    litellm: Any = import_module("litellm")

    kept = _Kept()
    # It keeps clients of its own for some APIs; this is below all of them.
    transport: Any = httpx.HTTPTransport
    transport.handle_request = lambda _, request: kept(request)
    model = f"anthropic/{CLAUDE}" if api == "anthropic" else f"openai/{GPT}"
    for number, index, messages in _requests(given):
        litellm.completion(
            model=model,
            messages=json.loads(json.dumps(messages)),
            tools=json.loads(json.dumps(given["tools"])),
            api_key="none",
            max_tokens=1024,
            **json.loads(json.dumps(settings)),
        )
        yield [number, index, kept.path, kept.body]


def _history(messages: list[dict[str, Any]]) -> list[Any]:
    words: Any = import_module("pydantic_ai.messages")
    history: list[Any] = []
    parts: list[Any] = []
    for message in messages:
        match message["role"]:
            case "system":
                instructions = message["content"]
            case "user":
                parts.append(words.UserPromptPart(message["content"]))
            case "tool":
                parts.append(
                    words.ToolReturnPart(
                        message["name"], message["content"], tool_call_id=message["tool_call_id"]
                    )
                )
            case _:
                history.append(words.ModelRequest(parts, instructions=instructions))
                parts, answer = [], []
                if message.get("content"):
                    answer.append(words.TextPart(message["content"]))
                for call in message.get("tool_calls") or ():
                    function = call["function"]
                    answer.append(
                        words.ToolCallPart(
                            function["name"], function["arguments"], tool_call_id=call["id"]
                        )
                    )
                history.append(words.ModelResponse(answer))
    history.append(words.ModelRequest(parts, instructions=instructions))
    return history


def _pydantic(api: str, settings: dict[str, Any], given: dict[str, Any]) -> Iterator[list[Any]]:
    ai, models = import_module("pydantic_ai"), import_module("pydantic_ai.models")
    messages_words: Any = import_module("pydantic_ai.messages")
    request: Any = import_module("pydantic_ai.direct").model_request
    kept = _Kept()
    model: Any
    if api == "anthropic":
        http2: Any = import_module("httpx2")  # what this client is built on
        transport = http2.MockTransport(
            lambda request: http2.Response(200, json=kept.answer(request))
        )
        client = import_module("anthropic").AsyncAnthropic(
            api_key="none", http_client=http2.AsyncClient(transport=transport)
        )
        provider = import_module("pydantic_ai.providers.anthropic").AnthropicProvider
        made_of = import_module("pydantic_ai.models.anthropic").AnthropicModel
        model = made_of(CLAUDE, provider=provider(anthropic_client=client))
    else:
        http = httpx.AsyncClient(transport=httpx.MockTransport(kept))
        client = import_module("openai").AsyncOpenAI(api_key="none", http_client=http)
        provider = import_module("pydantic_ai.providers.openai").OpenAIProvider
        made_of = import_module("pydantic_ai.models.openai").OpenAIChatModel
        model = made_of(GPT, provider=provider(openai_client=client))
    parameters = models.ModelRequestParameters(
        function_tools=[
            ai.ToolDefinition(
                name=tool["function"]["name"],
                description=tool["function"]["description"],
                parameters_json_schema=tool["function"]["parameters"],
            )
            for tool in given["tools"]
        ],
        instruction_parts=[
            messages_words.InstructionPart(content=given["sessions"][0][0]["content"])
        ],
    )

    async def all_of_them() -> list[list[Any]]:
        made = []
        for number, index, messages in _requests(given):
            await request(
                model,
                _history(messages),
                model_settings={"max_tokens": 1024, **settings},
                model_request_parameters=parameters,
            )
            made.append([number, index, kept.path, kept.body])
        return made

    yield from asyncio.run(all_of_them())


def main() -> None:
    """One mode."""
    mode = sys.argv[1]
    made_by, api, settings = MODES[mode]
    given = json.load(sys.stdin)
    package = "litellm" if made_by == "litellm" else "pydantic-ai-slim"
    print(json.dumps({"package": package, "version": version(package), "settings": settings}))
    make = _litellm if made_by == "litellm" else _pydantic
    for line in make(api, settings, given):
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
