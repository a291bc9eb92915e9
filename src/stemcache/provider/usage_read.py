"""From the usage that a log reports, in whichever shape, to one `Usage`.

```
reported ──shape──► figures as stated ──arithmetic──► prompt = plain + read + written
```
Two readings of a prompt's figure are about: it includes what was read and written (OpenAI, Gemini),
or leaves both out (Anthropic, Converse). Gateways report one vendor's figures under another's keys,
so where the sums hold under one reading only, that reading is taken; where they allow both, the
shape's own documentation decides, and where that is silent too it is said in `Usage.odd`.

A figure of reads that is absent is unknown, never zero, but for two cases: Anthropic's null beside
the other cache field, and Gemini's API, which leaves figures of zero out.
"""

from collections.abc import Mapping
from typing import Any

from stemcache.provider.rule import Rule
from stemcache.provider.usage import Usage
from stemcache.provider.usage_fields import Stated
from stemcache.provider.usage_shapes import stated_by
from stemcache.wire.api import Api

__all__ = ["read_usage"]

_WRAPPERS = ("usage", "usageMetadata", "usage_metadata", "usageDetails", "usage_details")
_NO_WRITES = frozenset(
    {
        "azure",
        "cerebras",
        "deepseek",
        "fireworks",
        "gemini",
        "groq",
        "mistral",
        "openai",
        "sglang",
        "together",
        "vllm",
        "xai",
        "zhipu",
    }
)
"""Providers whose answers name written tokens wherever there are any that cost."""
_EXCLUDES = frozenset({"anthropic", "bedrock", "vertex"})
"""Providers whose own figure leaves reads and writes out, so that a copy of it may too."""
_MOST_ODD = 8


def read_usage(
    reported: Mapping[str, Any],
    *,
    api: Api | None,
    provider: str | None,
    rule: Rule | None = None,
) -> Usage:
    """Tokens of one call. Never raises: what cannot be read is None, and said in `odd`.

    `rule` tells whether an absent figure of writes can mean any: where all its writes cost no more
    than input, it is 0.
    """
    excludes = provider in _EXCLUDES
    values = _unwrapped(reported, api, excludes=excludes)
    stated = stated_by(values, api=api, excludes=excludes)
    if stated is None:
        odd = ("the usage has no known field",) if values else ()
        return Usage(prompt_tokens=None, read_tokens=None, odd=odd)
    if stated.written is None and _without_writes(stated, provider, rule):
        stated.written = 0
    prompt = _prompt(stated, excludes=excludes)
    written = sum(stated.by_ttl.values())
    if stated.by_ttl and stated.written is not None and written != stated.written:
        stated.odd.append("written tokens by lifetime do not add up to their sum")
    return Usage(
        prompt_tokens=prompt,
        read_tokens=stated.read,
        written_tokens=stated.written,
        written_by_ttl=tuple((ttl, tokens) for ttl, tokens in stated.by_ttl.items() if tokens),
        output_tokens=stated.output,
        odd=tuple(dict.fromkeys(stated.odd))[:_MOST_ODD],
    )


def _unwrapped(reported: object, api: Api | None, *, excludes: bool) -> Mapping[str, Any]:
    """The object itself, where a log kept what it stands in."""
    values = reported
    for _ in range(2):
        if not isinstance(values, Mapping):
            return {}
        inner = next(
            (values[key] for key in _WRAPPERS if isinstance(values.get(key), Mapping)), None
        )
        if inner is None or stated_by(values, api=api, excludes=excludes) is not None:
            return values
        values = inner
    return values if isinstance(values, Mapping) else {}


def _without_writes(stated: Stated, provider: str | None, rule: Rule | None) -> bool:
    if rule is not None:
        return all(factor == 1.0 for factor in rule.write_factor.values())
    return provider in _NO_WRITES and stated.read is not None


def _prompt(stated: Stated, *, excludes: bool) -> int | None:
    """All prompt tokens, by the reading that the figures allow."""
    given = stated.given
    read, written = stated.read, stated.written
    if given is None:
        if stated.plain is None or read is None or written is None:
            return None
        return stated.plain + read + written + stated.extra
    if stated.includes is False and (read is None or written is None):
        return None  # what is left out is not known
    cached = (read or 0) + (written or 0)
    if not cached:
        return given + stated.extra
    if _leaves_out(stated, given, cached, excludes=excludes):
        return given + cached + stated.extra
    return given + (0 if stated.total_sums else stated.extra)


def _leaves_out(stated: Stated, given: int, cached: int, *, excludes: bool) -> bool:
    """Whether the prompt's figure leaves out what was read and written."""
    if given < cached:
        if stated.includes:
            stated.odd.append(
                "more was read and written than the prompt has; its figure was taken to leave "
                "them out"
            )
        return True
    if stated.plain is not None:
        if stated.plain + cached == given:
            return False
        if stated.plain == given:
            return True
        stated.odd.append("the parts of the prompt do not add up to its figure")
    output, total = stated.output, stated.total
    if output is not None and total is not None:
        if total == given + cached + stated.extra + output:
            if stated.includes:
                stated.odd.append("the total counts reads and writes beside the prompt")
            return True
        if stated.total_sums and total == given + output:
            return False
    if stated.includes is not None:
        return not stated.includes
    if excludes:
        stated.odd.append(
            "the prompt's figure may include reads and writes or leave them out; it was taken to "
            "include them"
        )
    return False
