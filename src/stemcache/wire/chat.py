"""The body of `POST /v1/chat/completions`."""

from dataclasses import dataclass
from typing import Any

import msgspec

from stemcache.errors import RequestError
from stemcache.wire.body import Fields, convert, decode_object, settle, show
from stemcache.wire.generation import (
    HARMLESS,
    IMPLEMENTED,
    NEUTRAL,
    Generation,
    GenerationBody,
    generation,
)
from stemcache.wire.messages import (
    check_template_values,
    messages_for_template,
    tools_for_template,
)

__all__ = ["ChatRequest", "decode_chat"]

_FIELDS = Fields(
    implemented=IMPLEMENTED
    | {
        "chat_template_kwargs",
        "logprobs",
        "max_completion_tokens",
        "messages",
        "tool_choice",
        "tools",
        "top_logprobs",
    },
    # parallel_tool_calls bounds the calls in an answer; answers here are text, with no calls.
    # prompt_cache_key and prompt_cache_options are hints; the cache finds prefixes without them.
    harmless=HARMLESS
    | {
        "metadata",
        "parallel_tool_calls",
        "prompt_cache_key",
        "prompt_cache_options",
        "safety_identifier",
    },
    neutral={
        **NEUTRAL,
        "audio": (),
        "function_call": ("none",),
        "functions": ([],),
        "modalities": (["text"],),
        "moderation": (),
        "prediction": (),
        "prompt_cache_retention": ("in_memory", "in-memory"),
        "reasoning_effort": ("none",),
        "response_format": ({"type": "text"},),
        "service_tier": ("auto", "default"),
        "store": (False,),
        "verbosity": ("medium",),
        "web_search_options": (),
    },
)


class _Body(GenerationBody, frozen=True, kw_only=True):
    messages: Any
    max_completion_tokens: int | None = None
    logprobs: bool = False
    top_logprobs: int | None = None
    tools: Any = None
    tool_choice: Any = None
    chat_template_kwargs: dict[str, Any] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A conversation to continue."""

    generation: Generation
    messages: list[dict[str, Any]]
    """Reshaped for the template."""
    tools: list[dict[str, Any]]
    template_values: dict[str, Any]
    """`chat_template_kwargs`: more names for the template, such as `enable_thinking`."""


def decode_chat(raw: bytes) -> ChatRequest:
    """Read a body. Raises RequestError or UnsupportedError; never anything else."""
    body = convert(settle(decode_object(raw), _FIELDS), _Body)
    if body.top_logprobs is not None and not body.logprobs:
        raise RequestError(
            f"top_logprobs is {show(body.top_logprobs)} without logprobs; set logprobs to true",
            param="top_logprobs",
        )
    check_template_values(body.chat_template_kwargs)
    if None not in (body.max_tokens, body.max_completion_tokens) and (
        body.max_tokens != body.max_completion_tokens
    ):
        raise RequestError(
            f"max_tokens is {show(body.max_tokens)} and max_completion_tokens is "
            f"{show(body.max_completion_tokens)}; send one of them",
            param="max_completion_tokens",
        )
    field, max_tokens = (
        ("max_tokens", body.max_tokens)
        if body.max_completion_tokens is None
        else ("max_completion_tokens", body.max_completion_tokens)
    )
    logprobs = (body.top_logprobs or 0) if body.logprobs else None
    return ChatRequest(
        generation=generation(
            body, max_tokens=max_tokens, logprobs=logprobs, max_tokens_field=field
        ),
        messages=messages_for_template(body.messages),
        tools=tools_for_template(body.tools, body.tool_choice),
        template_values=body.chat_template_kwargs,
    )
