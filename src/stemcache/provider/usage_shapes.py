"""Which shape a usage object has, told by its keys, and by the API where keys do not tell.

```
promptTokenCount ► Gemini       prompt_tokens ► chat          inputTokens ► Converse or AI SDK
gen_ai.usage.…   ► attributes   input_tokens  ► Messages or Responses       input ► Langfuse
```
"""

from collections.abc import Mapping
from typing import Any

from stemcache.provider.usage_fields import Stated, has_any
from stemcache.provider.usage_traces import (
    is_attributes,
    read_ai_sdk,
    read_attributes,
    read_langchain,
    read_langfuse,
)
from stemcache.provider.usage_vendors import (
    read_chat,
    read_converse,
    read_gemini,
    read_messages,
)
from stemcache.wire.api import Api

__all__ = ["stated_by"]

_MOST_KEYS = 500
"""A usage object has a dozen keys; one of many more is none."""
_ANTHROPIC = ("cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation")


def stated_by(
    values: Mapping[str, Any], *, api: Api | None, excludes: bool = False
) -> Stated | None:
    """Read the object by its shape; None where no key is known.

    `excludes` says that the provider's own figures are Anthropic's or Bedrock's, which decides for
    an object with `input_tokens` and nothing of a cache.
    """
    if len(values) > _MOST_KEYS:
        return None
    if is_attributes(values):
        return read_attributes(values)
    if isinstance(values.get("input_token_details"), Mapping):
        return read_langchain(values)
    if has_any(values, "promptTokenCount", "prompt_token_count", "total_input_tokens"):
        return read_gemini(values)
    if has_any(values, "inputTokens", "outputTokens", "inputTokenCount"):
        return read_converse(values) if _is_converse(values, api) else read_ai_sdk(values)
    if _is_messages(values, excludes=excludes or api is Api.MESSAGES):
        return read_messages(values)
    if has_any(values, *_CHAT):
        return read_chat(values)
    if has_any(values, "input", "output"):
        return read_langfuse(values)
    if has_any(values, "promptTokens", "completionTokens", "cachedInputTokens"):
        return read_ai_sdk(values)
    if any(key in values for key in _ANTHROPIC):
        return read_messages(values)
    return None


_CHAT = (
    "prompt_tokens",
    "input_tokens",
    "completion_tokens",
    "output_tokens",
    "prompt_cache_hit_tokens",
    "native_tokens_prompt",
    "x_groq",
)


def _is_converse(values: Mapping[str, Any], api: Api | None) -> bool:
    if isinstance(values.get("inputTokens"), Mapping):
        return False
    own = ("cacheReadInputTokens", "cacheWriteInputTokens", "inputTokenCount")
    theirs = ("cachedInputTokens", "inputTokenDetails", "reasoningTokens")
    return any(key in values for key in own) or (
        api is Api.CONVERSE and not has_any(values, *theirs)
    )


def _is_messages(values: Mapping[str, Any], *, excludes: bool) -> bool:
    if has_any(values, "prompt_tokens", "input_tokens_details", "prompt_cache_hit_tokens"):
        return False
    if not has_any(values, "input_tokens", "iterations"):
        return False
    return excludes or any(key in values for key in (*_ANTHROPIC, "iterations"))
