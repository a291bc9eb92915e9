"""Usage as providers answer it: Anthropic, OpenAI and all who took it over, Converse, Gemini."""

import re
from collections.abc import Mapping
from typing import Any

from stemcache.provider.usage_fields import Stated, by_ttl, count_of, has_any, inner, plus

__all__ = ["read_chat", "read_converse", "read_gemini", "read_messages"]

_MOST_ROUNDS = 1000
_TTL_NAME = re.compile(r"\d{1,4}[smhd]")


def read_messages(values: Mapping[str, Any]) -> Stated:
    """Anthropic: `input_tokens` is what was neither read nor written.

    Rounds of `iterations` that the figures beside them leave out, such as compactions, are added.
    """
    rounds = values.get("iterations")
    if isinstance(rounds, list) and any(_is_hidden(one) for one in rounds[:_MOST_ROUNDS]):
        return _rounds(rounds[:_MOST_ROUNDS])
    found = Stated(includes=False)
    odd = found.odd
    found.given = count_of(values, "input_tokens", odd=odd)
    found.read = count_of(values, "cache_read_input_tokens", odd=odd)
    found.written = count_of(values, "cache_creation_input_tokens", odd=odd)
    found.by_ttl = by_ttl(inner(values, "cache_creation"), odd=odd)
    if found.written is None and found.by_ttl:
        found.written = sum(found.by_ttl.values())
    # The API states both; its types allow null for a field of no use beside one with a figure.
    if found.read is None and found.written is not None and _is_null(values, "cache_read"):
        found.read = 0
    if found.written is None and found.read is not None and _is_null(values, "cache_creation"):
        found.written = 0
    found.output = count_of(values, "output_tokens", odd=odd)
    found.total = count_of(values, "total_tokens", odd=odd)
    return found


def _is_null(values: Mapping[str, Any], which: str) -> bool:
    key = f"{which}_input_tokens"
    return key in values and values[key] is None


def _is_hidden(one: object) -> bool:
    return isinstance(one, Mapping) and one.get("type") == "compaction"


def _rounds(rounds: list[Any]) -> Stated:
    total = Stated(includes=False, given=0, read=0, written=0, output=0)
    for one in rounds:
        if not isinstance(one, Mapping):
            total.odd.append("an entry of iterations is no object")
            continue
        part = read_messages({key: value for key, value in one.items() if key != "iterations"})
        total.odd.extend(part.odd)
        total.given = plus(total.given, part.given)
        total.read = plus(total.read, part.read)
        total.written = plus(total.written, part.written)
        total.output = plus(total.output, part.output)
        for ttl, tokens in part.by_ttl.items():
            total.by_ttl[ttl] = total.by_ttl.get(ttl, 0) + tokens
    return total


def read_chat(values: Mapping[str, Any]) -> Stated:
    """OpenAI's Chat and Responses, DeepSeek, Qwen, xAI, Groq, Moonshot, OpenRouter, LiteLLM."""
    found = Stated(includes=True)
    odd = found.odd
    found.given = count_of(values, "prompt_tokens", "input_tokens", "native_tokens_prompt", odd=odd)
    found.output = count_of(
        values, "completion_tokens", "output_tokens", "native_tokens_completion", odd=odd
    )
    found.total = count_of(values, "total_tokens", odd=odd)
    details = inner(values, "prompt_tokens_details", "input_tokens_details")
    found.read = count_of(details, "cached_tokens", odd=odd)
    _deepseek(values, found)
    if found.read is None:
        found.read = count_of(
            values, "cached_tokens", "num_cached_tokens", "native_tokens_cached", odd=odd
        )
    if found.read is None:
        found.read = _groq(values, odd)
    found.written = count_of(
        details,
        "cache_write_tokens",
        "cache_creation_tokens",
        "cache_creation_input_tokens",
        odd=odd,
    )
    shares = inner(
        details, "cache_write_tokens_details", "cache_creation", "cache_creation_token_details"
    )
    found.by_ttl = by_ttl(shares, odd=odd)
    if found.written is None and found.by_ttl:
        found.written = sum(found.by_ttl.values())
    _beside(values, found, cached_told=details.get("cached_tokens") is not None)
    _reasoning(values, found)
    return found


def _deepseek(values: Mapping[str, Any], found: Stated) -> None:
    hit = count_of(values, "prompt_cache_hit_tokens", odd=found.odd)
    missed = count_of(values, "prompt_cache_miss_tokens", odd=found.odd)
    if hit is None:
        return
    if found.read is not None and found.read != hit:
        found.odd.append("prompt_cache_hit_tokens and cached_tokens differ")
    found.read = hit
    if found.given is None:
        found.given = plus(hit, missed)
    elif missed is not None and hit + missed != found.given:
        found.odd.append("prompt_cache_hit_tokens and prompt_cache_miss_tokens do not add up")


def _groq(values: Mapping[str, Any], odd: list[str]) -> int | None:
    usage = inner(inner(values, "x_groq"), "usage") or values
    parts = [count_of(usage, key, odd=odd) for key in ("dram_cached_tokens", "sram_cached_tokens")]
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _beside(values: Mapping[str, Any], found: Stated, *, cached_told: bool) -> None:
    """Take Anthropic's keys beside OpenAI's, as gateways give them: the same tokens, not more."""
    odd = found.odd
    read = count_of(values, "cache_read_input_tokens", odd=odd)
    written = count_of(values, "cache_creation_input_tokens", odd=odd)
    if read is None and written is None:
        return
    if read is not None:
        if found.read and read and found.read != read:
            odd.append("cached_tokens and cache_read_input_tokens differ")
        found.read = max(read, found.read or 0)
    if written is not None:
        if found.written and written and found.written != written:
            odd.append("two figures for written tokens differ")
        found.written = max(written, found.written or 0)
    found.by_ttl = by_ttl(inner(values, "cache_creation"), odd=odd) or found.by_ttl
    if has_any(values, "prompt_tokens") and has_any(values, "input_tokens"):
        plain = count_of(values, "input_tokens", odd=odd)
        if plain != found.given:
            found.plain = plain
    if not cached_told:
        found.includes = None  # nothing of OpenAI's form but the name of the prompt's figure


def _reasoning(values: Mapping[str, Any], found: Stated) -> None:
    """Add reasoning to the output where the total shows that it was counted apart (xAI)."""
    details = inner(values, "completion_tokens_details", "output_tokens_details")
    thought = count_of(details, "reasoning_tokens", odd=found.odd)
    if (
        thought
        and found.given is not None
        and found.output is not None
        and found.total == found.given + found.output + thought
    ):
        found.output += thought


def read_converse(values: Mapping[str, Any]) -> Stated:
    """Bedrock: `inputTokens` leaves out what was read and written."""
    found = Stated(includes=False)
    odd = found.odd
    found.given = count_of(values, "inputTokens", "inputTokenCount", odd=odd)
    found.output = count_of(values, "outputTokens", "outputTokenCount", odd=odd)
    found.total = count_of(values, "totalTokens", odd=odd)
    found.read = count_of(values, "cacheReadInputTokens", "cacheReadInputTokenCount", odd=odd)
    found.written = count_of(values, "cacheWriteInputTokens", "cacheWriteInputTokenCount", odd=odd)
    details = values.get("cacheDetails")
    for one in details[:16] if isinstance(details, list) else ():
        ttl = one.get("ttl") if isinstance(one, Mapping) else None
        if isinstance(ttl, str) and _TTL_NAME.fullmatch(ttl):
            tokens = count_of(one, "inputTokens", odd=odd)
            found.by_ttl[ttl] = found.by_ttl.get(ttl, 0) + (tokens or 0)
    return found


def read_gemini(values: Mapping[str, Any]) -> Stated:
    """Gemini: the prompt's figure includes cached content, and leaves out the results of tools.

    The API leaves figures of zero out, so cached content that is not stated is none.
    """
    found = Stated(includes=True, written=0)
    odd = found.odd
    found.given = count_of(
        values, "promptTokenCount", "prompt_token_count", "total_input_tokens", odd=odd
    )
    tools = ("toolUsePromptTokenCount", "tool_use_prompt_token_count", "total_tool_use_tokens")
    found.extra = count_of(values, *tools, odd=odd) or 0
    cached = ("cachedContentTokenCount", "cached_content_token_count", "total_cached_tokens")
    found.read = count_of(values, *cached, odd=odd)
    if found.read is None and not has_any(values, *cached) and found.given is not None:
        found.read = 0
    answer = (
        "candidatesTokenCount",
        "candidates_token_count",
        "responseTokenCount",
        "total_output_tokens",
    )
    thought = ("thoughtsTokenCount", "thoughts_token_count", "total_thought_tokens")
    parts = [count_of(values, *keys, odd=odd) for keys in (answer, thought)]
    known = [part for part in parts if part is not None]
    found.output = sum(known) if known else None
    found.total = count_of(values, "totalTokenCount", "total_token_count", "total_tokens", odd=odd)
    return found
