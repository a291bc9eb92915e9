"""Usage as traces and client libraries pass it on: LangChain, the AI SDK, Langfuse, OpenTelemetry.

They name the vendors' figures anew, and not all keep the vendors' meaning: whether the prompt's
figure includes what was read differs by version, so arithmetic in `usage_read` has the last word.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from stemcache.provider.usage_fields import Stated, by_ttl, count_of, inner

__all__ = ["is_attributes", "read_ai_sdk", "read_attributes", "read_langchain", "read_langfuse"]

_MOST_KEYS = 64


def read_langchain(values: Mapping[str, Any]) -> Stated:
    """LangChain's `usage_metadata`: the input includes all of its details."""
    found = Stated(includes=True)
    odd = found.odd
    details = inner(values, "input_token_details")
    found.given = count_of(values, "input_tokens", odd=odd)
    found.read = count_of(details, "cache_read", odd=odd)
    # Where lifetimes are told, the plain figure beside them is 0.
    found.by_ttl = {ttl: tokens for ttl, tokens in by_ttl(details, odd=odd).items() if tokens}
    found.written = count_of(details, "cache_creation", odd=odd)
    if found.by_ttl:
        found.written = max(found.written or 0, sum(found.by_ttl.values()))
    found.output = count_of(values, "output_tokens", odd=odd)
    found.total = count_of(values, "total_tokens", odd=odd)
    return found


def read_ai_sdk(values: Mapping[str, Any]) -> Stated:
    """The AI SDK: up to version 5 the vendor's figure, from 6 on the whole and its parts."""
    found = Stated()
    odd = found.odd
    whole = values.get("inputTokens")
    details: Mapping[str, Any]
    if isinstance(whole, Mapping):  # as version 6 asks it of providers
        details, keys = whole, ("cacheRead", "cacheWrite", "noCache")
        found.given = count_of(whole, "total", odd=odd)
        found.output = count_of(inner(values, "outputTokens"), "total", odd=odd)
    else:
        details = inner(values, "inputTokenDetails", "inputTokensDetails")
        keys = ("cacheReadTokens", "cacheWriteTokens", "noCacheTokens")
        found.given = count_of(values, "inputTokens", "promptTokens", odd=odd)
        found.output = count_of(values, "outputTokens", "completionTokens", odd=odd)
    found.includes = True if details else None
    found.read = count_of(details, keys[0], odd=odd)
    found.written = count_of(details, keys[1], odd=odd)
    found.plain = count_of(details, keys[2], odd=odd)
    if found.read is None:
        found.read = count_of(values, "cachedInputTokens", odd=odd)
    if found.written is None and None not in {found.given, found.plain, found.read}:
        rest = (found.given or 0) - (found.plain or 0) - (found.read or 0)
        found.written = rest if rest >= 0 else None
    found.total = count_of(values, "totalTokens", odd=odd)
    return found


_LANGFUSE_READ = (
    "cache_read_input_tokens",
    "input_cached_tokens",
    "input_cache_read",
    "cacheReadInputTokens",
)
_LANGFUSE_WRITTEN = (
    "cache_creation_input_tokens",
    "input_cache_creation",
    "cache_write_input_tokens",
    "cacheWriteInputTokens",
)
_LANGFUSE_TTLS = {"input_cache_creation_5m": "5m", "input_cache_creation_1h": "1h"}


def read_langfuse(values: Mapping[str, Any]) -> Stated:
    """Langfuse keeps shares apart: `input` is what no other share of the input has."""
    found = Stated(includes=False, total_sums=True)
    odd = found.odd
    found.given = count_of(values, "input", odd=odd)
    found.read = count_of(values, *_LANGFUSE_READ, odd=odd)
    found.written = count_of(values, *_LANGFUSE_WRITTEN, odd=odd)
    for key, ttl in _LANGFUSE_TTLS.items():
        tokens = count_of(values, key, odd=odd)
        if tokens is not None:
            found.by_ttl[ttl] = tokens
    if found.by_ttl:
        found.written = max(found.written or 0, sum(found.by_ttl.values()))
    known = {*_LANGFUSE_READ, *_LANGFUSE_WRITTEN, *_LANGFUSE_TTLS}
    for key in islice(values, _MOST_KEYS):
        if key.startswith("input_") and key not in known:
            found.extra += count_of(values, key, odd=[]) or 0
    found.output = count_of(values, "output", odd=odd)
    found.total = count_of(values, "total", odd=odd)
    return found


_GEN, _LLM = "gen_ai.usage.", "llm.token_count."


def read_attributes(values: Mapping[str, Any]) -> Stated:
    """Attributes of spans: OpenTelemetry's conventions, old and new, and OpenInference's."""
    found = Stated()
    odd = found.odd
    found.given = count_of(
        values, _GEN + "input_tokens", _GEN + "prompt_tokens", _LLM + "prompt", odd=odd
    )
    found.output = count_of(
        values, _GEN + "output_tokens", _GEN + "completion_tokens", _LLM + "completion", odd=odd
    )
    found.total = count_of(
        values, "llm.usage.total_tokens", _GEN + "total_tokens", _LLM + "total", odd=odd
    )
    stated = count_of(
        values, _GEN + "cache_read.input_tokens", _LLM + "prompt_details.cache_read", odd=odd
    )
    # Today's conventions say that the input includes it; what went before them did not.
    found.includes = None if stated is None else True
    found.read = stated
    if found.read is None:
        found.read = count_of(
            values, _GEN + "cache_read_input_tokens", _GEN + "input_tokens.cached", odd=odd
        )
    found.written = count_of(
        values,
        _GEN + "cache_creation.input_tokens",
        _GEN + "cache_creation_input_tokens",
        _LLM + "prompt_details.cache_write",
        odd=odd,
    )
    return found


def is_attributes(values: Mapping[str, Any]) -> bool:
    """Whether keys are those of spans' attributes."""
    return any(str(key).startswith((_GEN, _LLM, "llm.usage.")) for key in values)
