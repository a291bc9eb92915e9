"""What is written in a usage object, before it is decided what it means.

```
{"prompt_tokens": 24100, "prompt_tokens_details": {"cached_tokens": 20000}}
        └─► Stated(shape="chat", given=24100, read=20000, …, includes=True)
```
One function a shape. A shape says by its documentation whether the figure for the prompt includes
what was read and written; whether it does in this log is decided by arithmetic in `usage_read`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Stated", "number", "stated_by"]

_LARGEST = 10**10
"""No call has more tokens; a larger figure is none."""
_TTLS = {
    "ephemeral_5m_input_tokens": "5m",
    "ephemeral_1h_input_tokens": "1h",
    "ttl_30m_tokens": "30m",
    "ttl_12h_tokens": "12h",
}


@dataclass(slots=True, kw_only=True)
class Stated:
    """Figures of one object. Changed only while it is read."""

    given: int | None = None
    """The figure for the prompt."""
    includes: bool | None = None
    """Whether `given` includes read and written tokens, as the shape is documented; None: it
    depends on who wrote it."""
    plain: int | None = None
    """Stated apart: tokens neither read nor written."""
    extra: int = 0
    """Prompt tokens that `given` never includes."""
    read: int | None = None
    written: int | None = None
    says_writes: bool = False
    """Whether a figure for writes belongs to the shape, so that its absence means nothing said."""
    by_ttl: dict[str, int] = field(default_factory=dict)
    output: int | None = None
    total: int | None = None
    odd: list[str] = field(default_factory=list)


def number(values: Mapping[str, Any], *keys: str, odd: list[str]) -> int | None:
    """The first of the keys that holds a count; what is there and is none is said in `odd`."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, Mapping):  # OTLP's JSON
            value = value.get("intValue", value.get("doubleValue", value.get("stringValue")))
        if value is None:
            continue
        count = _count(value)
        if count is not None:
            return count
        odd.append(f"{key} is no count of tokens")
    return None


def stated_by(values: Mapping[str, Any], *, converse: bool) -> Stated | None:
    """Read the object by the first shape that its keys belong to; None where they belong to none.

    `converse` tells Bedrock's camel case from the AI SDK's where the keys do not.
    """
    for belongs, read in _SHAPES:
        if belongs(values):
            return read(values)
    if _any(values, "inputTokens", "outputTokens"):
        return _converse(values) if converse or _is_converse(values) else _ai_sdk(values)
    return None


def _count(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value <= _LARGEST else None
    if isinstance(value, float):
        return int(value) if 0 <= value <= _LARGEST and value.is_integer() else None
    if isinstance(value, str) and len(value) <= 11 and value.isascii() and value.isdigit():
        return int(value)
    return None


def _any(values: Mapping[str, Any], *keys: str) -> bool:
    return any(values.get(key) is not None for key in keys)


def _inner(values: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    for key in keys:
        value = values.get(key)
        if isinstance(value, Mapping):
            return value
    return {}


def _ttls(values: Mapping[str, Any], odd: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, ttl in _TTLS.items():
        tokens = number(values, key, odd=odd)
        if tokens is not None:
            found[ttl] = tokens
    return found


def _read_key(values: Mapping[str, Any], odd: list[str]) -> int | None:
    """A figure for reads under one of Anthropic's keys; null beside the other key means none."""
    read = number(values, "cache_read_input_tokens", odd=odd)
    if read is None and "cache_read_input_tokens" in values:
        return 0 if _any(values, "cache_creation_input_tokens", "cache_creation") else None
    return read


# ── Anthropic Messages ──────────────────────────────────────────────────────────────────────────


def _messages(values: Mapping[str, Any]) -> Stated:
    rounds = values.get("iterations")
    if isinstance(rounds, list) and _hides_rounds(rounds):
        return _rounds(rounds)
    return _one_message(values)


def _one_message(values: Mapping[str, Any]) -> Stated:
    found = Stated(includes=False, says_writes=True)
    odd = found.odd
    found.given = number(values, "input_tokens", odd=odd)
    found.read = _read_key(values, odd)
    found.written = number(values, "cache_creation_input_tokens", odd=odd)
    found.by_ttl = _ttls(_inner(values, "cache_creation"), odd)
    if found.written is None and found.by_ttl:
        found.written = sum(found.by_ttl.values())
    if found.written is None and "cache_creation_input_tokens" in values and found.read is not None:
        found.written = 0
    found.output = number(values, "output_tokens", odd=odd)
    found.total = number(values, "total_tokens", odd=odd)
    return found


def _hides_rounds(rounds: list[Any]) -> bool:
    """Whether there are rounds that the figures beside the list leave out, such as compactions."""
    return any(isinstance(one, Mapping) and one.get("type") == "compaction" for one in rounds)


def _rounds(rounds: list[Any]) -> Stated:
    total = Stated(includes=False, says_writes=True, given=0, read=0, written=0, output=0)
    for one in rounds[:1000]:
        if not isinstance(one, Mapping):
            total.odd.append("an entry of iterations is no object")
            continue
        part = _one_message(one)
        total.odd.extend(part.odd)
        total.given = _plus(total.given, part.given)
        total.read = _plus(total.read, part.read)
        total.written = _plus(total.written, part.written)
        total.output = _plus(total.output, part.output)
        for ttl, tokens in part.by_ttl.items():
            total.by_ttl[ttl] = total.by_ttl.get(ttl, 0) + tokens
    return total


def _plus(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


# ── OpenAI's two, and all who took them over ────────────────────────────────────────────────────


def _chat(values: Mapping[str, Any]) -> Stated:
    found = Stated(includes=True)
    odd = found.odd
    found.given = number(values, "prompt_tokens", "input_tokens", "native_tokens_prompt", odd=odd)
    details = _inner(values, "prompt_tokens_details", "input_tokens_details", "input_token_details")
    found.output = number(
        values, "completion_tokens", "output_tokens", "native_tokens_completion", odd=odd
    )
    found.total = number(values, "total_tokens", odd=odd)
    found.read = number(details, "cached_tokens", odd=odd)
    hit = number(values, "prompt_cache_hit_tokens", odd=odd)
    missed = number(values, "prompt_cache_miss_tokens", odd=odd)
    if hit is not None:
        if found.read is not None and found.read != hit:
            odd.append("prompt_cache_hit_tokens and cached_tokens differ")
        found.read = hit
        if found.given is not None and missed is not None and hit + missed != found.given:
            odd.append("prompt_cache_hit_tokens and prompt_cache_miss_tokens do not add up")
    if found.read is None:
        found.read = number(values, "cached_tokens", "num_cached_tokens", "native_tokens_cached",
                            odd=odd)  # fmt: skip
    if found.read is None:
        found.read = _groq(values, odd)
    found.written = number(
        details,
        "cache_write_tokens",
        "cache_creation_tokens",
        "cache_creation_input_tokens",
        "created_cache_tokens",
        odd=odd,
    )
    found.by_ttl = _ttls(
        _inner(details, "cache_write_tokens_details", "cache_creation",
               "cache_creation_token_details"), odd
    )  # fmt: skip
    if found.written is None and found.by_ttl:
        found.written = sum(found.by_ttl.values())
    _beside(values, found)
    _reasoning(values, found)
    return found


def _groq(values: Mapping[str, Any], odd: list[str]) -> int | None:
    usage = _inner(_inner(values, "x_groq"), "usage") or values
    parts = [number(usage, key, odd=odd) for key in ("dram_cached_tokens", "sram_cached_tokens")]
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _beside(values: Mapping[str, Any], found: Stated) -> None:
    """Take Anthropic's keys beside OpenAI's, as gateways give them, and settle what includes."""
    odd = found.odd
    read = number(values, "cache_read_input_tokens", odd=odd)
    written = number(values, "cache_creation_input_tokens", odd=odd)
    if read is None and written is None:
        return
    found.says_writes = True
    if read is not None:
        if found.read and read and found.read != read:
            odd.append("cached_tokens and cache_read_input_tokens differ")
        found.read = max(read, found.read or 0)
    if written is not None:
        if found.written and written and found.written != written:
            odd.append("two figures for written tokens differ")
        found.written = max(written, found.written or 0)
    by_ttl = _ttls(_inner(values, "cache_creation"), odd)
    found.by_ttl = by_ttl or found.by_ttl
    if "prompt_tokens" in values and _any(values, "input_tokens"):
        plain = number(values, "input_tokens", odd=odd)
        if plain is not None and plain != found.given:
            found.plain = plain
    if _inner(values, "prompt_tokens_details").get("cached_tokens") is None:
        found.includes = None  # no word of OpenAI's form but the name of the prompt's figure


def _reasoning(values: Mapping[str, Any], found: Stated) -> None:
    """Add reasoning to the output where the total shows that it was counted apart (xAI)."""
    details = _inner(values, "completion_tokens_details", "output_tokens_details")
    thought = number(details, "reasoning_tokens", odd=found.odd)
    if thought and found.given is not None and found.output is not None:
        apart = found.given + found.output + thought
        if found.total == apart and apart != found.given + found.output:
            found.output += thought


# ── Bedrock Converse, Gemini ────────────────────────────────────────────────────────────────────


def _is_converse(values: Mapping[str, Any]) -> bool:
    return any(
        key in values
        for key in ("cacheReadInputTokens", "cacheWriteInputTokens", "cacheReadInputTokenCount")
    )


def _converse(values: Mapping[str, Any]) -> Stated:
    found = Stated(includes=False, says_writes=True)
    odd = found.odd
    found.given = number(values, "inputTokens", "inputTokenCount", odd=odd)
    found.output = number(values, "outputTokens", "outputTokenCount", odd=odd)
    found.total = number(values, "totalTokens", odd=odd)
    found.read = number(values, "cacheReadInputTokens", "cacheReadInputTokenCount", odd=odd)
    found.written = number(values, "cacheWriteInputTokens", "cacheWriteInputTokenCount", odd=odd)
    details = values.get("cacheDetails")
    for one in details[:16] if isinstance(details, list) else ():
        if isinstance(one, Mapping) and isinstance(one.get("ttl"), str):
            tokens = number(one, "inputTokens", odd=odd)
            if tokens is not None:
                ttl = one["ttl"][:16]
                found.by_ttl[ttl] = found.by_ttl.get(ttl, 0) + tokens
    return found


def _gemini(values: Mapping[str, Any]) -> Stated:
    found = Stated(includes=True)
    odd = found.odd
    found.given = number(
        values, "promptTokenCount", "prompt_token_count", "total_input_tokens", odd=odd
    )
    found.extra = (
        number(
            values,
            "toolUsePromptTokenCount",
            "tool_use_prompt_token_count",
            "total_tool_use_tokens",
            odd=odd,
        )
        or 0
    )
    cached = ("cachedContentTokenCount", "cached_content_token_count", "total_cached_tokens")
    found.read = number(values, *cached, odd=odd)
    if found.read is None and not odd and found.given is not None:
        found.read = 0  # figures of zero are left out by this API
    found.written = 0
    parts = [
        number(values, *keys, odd=odd)
        for keys in (
            ("candidatesTokenCount", "candidates_token_count", "responseTokenCount",
             "total_output_tokens"),
            ("thoughtsTokenCount", "thoughts_token_count", "total_thought_tokens"),
        )
    ]  # fmt: skip
    known = [part for part in parts if part is not None]
    found.output = sum(known) if known else None
    found.total = number(values, "totalTokenCount", "total_token_count", "total_tokens", odd=odd)
    return found


# ── What traces and client libraries make of them ───────────────────────────────────────────────


def _langchain(values: Mapping[str, Any]) -> Stated:
    found = Stated(includes=True)
    odd = found.odd
    details = _inner(values, "input_token_details")
    found.given = number(values, "input_tokens", odd=odd)
    found.read = number(details, "cache_read", odd=odd)
    found.by_ttl = {ttl: tokens for ttl, tokens in _ttls(details, odd).items() if tokens}
    found.written = number(details, "cache_creation", odd=odd)
    if found.by_ttl:
        found.written = max(found.written or 0, sum(found.by_ttl.values()))
    found.output = number(values, "output_tokens", odd=odd)
    found.total = number(values, "total_tokens", odd=odd)
    return found


def _ai_sdk(values: Mapping[str, Any]) -> Stated:
    found = Stated(includes=None)
    odd = found.odd
    whole = values.get("inputTokens")
    if isinstance(whole, Mapping):  # what version 6 asks of providers
        details, keys = whole, ("cacheRead", "cacheWrite", "noCache")
        found.given = number(whole, "total", odd=odd)
        found.includes = True
        out = _inner(values, "outputTokens")
        found.output = number(out, "total", odd=odd)
    else:
        details = _inner(values, "inputTokenDetails", "inputTokensDetails")
        keys = ("cacheReadTokens", "cacheWriteTokens", "noCacheTokens")
        found.given = number(values, "inputTokens", "promptTokens", odd=odd)
        found.includes = True if details else None
        found.output = number(values, "outputTokens", "completionTokens", odd=odd)
    found.read = number(details, keys[0], odd=odd)
    found.written = number(details, keys[1], odd=odd)
    found.plain = number(details, keys[2], odd=odd)
    if found.read is None:
        found.read = number(values, "cachedInputTokens", odd=odd)
    found.says_writes = found.written is not None
    found.total = number(values, "totalTokens", odd=odd)
    return found


def _langfuse(values: Mapping[str, Any]) -> Stated:
    """Langfuse keeps shares apart: everything that begins with `input` or `cache` is prompt."""
    found = Stated(includes=None)
    odd = found.odd
    found.given = number(values, "input", odd=odd)
    found.read = number(
        values,
        "cache_read_input_tokens",
        "input_cached_tokens",
        "input_cache_read",
        "cacheReadInputTokens",
        odd=odd,
    )
    found.written = number(
        values, "cache_creation_input_tokens", "input_cache_creation", "cache_write_input_tokens",
        "cacheWriteInputTokens", odd=odd,
    )  # fmt: skip
    for key, ttl in (("input_cache_creation_5m", "5m"), ("input_cache_creation_1h", "1h")):
        tokens = number(values, key, odd=odd)
        if tokens is not None:
            found.by_ttl[ttl] = tokens
    if found.by_ttl:
        found.written = max(found.written or 0, sum(found.by_ttl.values()))
    found.includes = False
    found.output = number(values, "output", odd=odd)
    found.total = number(values, "total", odd=odd)
    return found


def _attributes(values: Mapping[str, Any]) -> Stated:
    found = Stated(includes=None)
    odd = found.odd
    gen, phoenix = "gen_ai.usage.", "llm.token_count."
    found.given = number(
        values, gen + "input_tokens", gen + "prompt_tokens", phoenix + "prompt", odd=odd
    )
    found.output = number(
        values, gen + "output_tokens", gen + "completion_tokens", phoenix + "completion", odd=odd
    )
    found.total = number(
        values, "llm.usage.total_tokens", gen + "total_tokens", phoenix + "total", odd=odd
    )
    found.read = number(
        values,
        gen + "cache_read.input_tokens",
        gen + "cache_read_input_tokens",
        gen + "input_tokens.cached",
        phoenix + "prompt_details.cache_read",
        odd=odd,
    )
    found.written = number(
        values,
        gen + "cache_creation.input_tokens",
        gen + "cache_creation_input_tokens",
        phoenix + "prompt_details.cache_write",
        odd=odd,
    )
    found.says_writes = found.written is not None
    return found


def _is_attributes(values: Mapping[str, Any]) -> bool:
    return any(
        str(key).startswith(("gen_ai.usage.", "llm.token_count.", "llm.usage.")) for key in values
    )


def _is_messages(values: Mapping[str, Any]) -> bool:
    if _any(values, "prompt_tokens", "input_tokens_details", "input_token_details"):
        return False
    if _any(values, "input_tokens", "iterations"):
        return True
    cached = ("cache_read_input_tokens", "cache_creation_input_tokens")
    return any(key in values for key in cached) and not _any(values, "input", "output")


_SHAPES = (
    (_is_attributes, _attributes),
    (lambda v: isinstance(v.get("input_token_details"), Mapping), _langchain),
    (lambda v: _any(v, "promptTokenCount", "prompt_token_count", "total_input_tokens"), _gemini),
    (lambda v: _any(v, "inputTokenCount"), _converse),
    (_is_messages, _messages),
    (
        lambda v: _any(v, "prompt_tokens", "input_tokens", "completion_tokens", "x_groq",
                       "prompt_cache_hit_tokens", "native_tokens_prompt"),
        _chat,
    ),
    (lambda v: _any(v, "input", "output"), _langfuse),
    (lambda v: _any(v, "promptTokens", "completionTokens"), _ai_sdk),
)  # fmt: skip
