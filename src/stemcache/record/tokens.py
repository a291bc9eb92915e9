"""Prompt tokens of one answer, for the summary at the end: all of them, and those from the cache.

Anthropic and Bedrock report the parts of a prompt side by side, the others its whole and one part
of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["PromptTokens", "prompt_tokens"]

_WHOLE = ("prompt_tokens", "promptTokenCount")
_CACHED = (
    ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"),
)
_FLAT_CACHED = ("cachedContentTokenCount", "prompt_cache_hit_tokens", "cached_tokens")
_MOST = 2**40


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """Of a prompt, as reported."""

    prompt: int
    cached: int


def prompt_tokens(usage: Mapping[str, Any] | None) -> PromptTokens | None:
    """Both figures, or None where one of them was not reported."""
    if usage is None:
        return None
    for plain, read, written in (
        ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
        ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
    ):
        parts = [_count(usage.get(name)) for name in (plain, read, written)]
        if parts[0] is not None and parts[1] is not None:
            return PromptTokens(parts[0] + parts[1] + (parts[2] or 0), parts[1])
    whole = next((c for c in (_count(usage.get(name)) for name in _WHOLE) if c is not None), None)
    if whole is None:
        whole = _count(usage.get("input_tokens"))
    nested = (usage.get(outer, {}) for outer, _ in _CACHED)
    found = [
        _count(details.get(inner))
        for details, (_, inner) in zip(nested, _CACHED, strict=True)
        if isinstance(details, Mapping)
    ]
    found += [_count(usage.get(name)) for name in _FLAT_CACHED]
    cached = next((each for each in found if each is not None), None)
    if whole is None or cached is None:
        return None
    return PromptTokens(whole, cached)


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST else None
