"""A server's own counters of prompt and cached tokens, out of its /metrics. Pure.

| server | prompt tokens | of them cached |
|---|---|---|
| stemcache | `stemcache_prompt_tokens_total` | `stemcache_cached_tokens_total` |
| vLLM | `vllm:prefix_cache_queries_total` | `vllm:prefix_cache_hits_total`, and `external_…` |
| SGLang | `sglang:prompt_tokens_total` | `sglang:cached_tokens_total` |

Series of several engines or ranks are added up.
"""

import math
import re
from dataclasses import dataclass

__all__ = ["Counters", "read_counters"]


@dataclass(frozen=True, slots=True)
class Counters:
    """Tokens since the server started, by its own count."""

    server: str
    prompt_tokens: float
    cached_tokens: float

    def since(self, before: "Counters") -> "Counters | None":
        """What was added; None where a counter went back, which a restart makes it do."""
        prompt = self.prompt_tokens - before.prompt_tokens
        cached = self.cached_tokens - before.cached_tokens
        if self.server != before.server or prompt < 0 or cached < 0:
            return None
        return Counters(self.server, prompt, cached)


@dataclass(frozen=True, slots=True)
class _Names:
    server: str
    prompt: str
    cached: tuple[str, ...]


_KNOWN = (
    _Names("stemcache", "stemcache_prompt_tokens_total", ("stemcache_cached_tokens_total",)),
    _Names(
        "vLLM",
        "vllm:prefix_cache_queries_total",
        ("vllm:prefix_cache_hits_total", "vllm:external_prefix_cache_hits_total"),
    ),
    _Names("SGLang", "sglang:prompt_tokens_total", ("sglang:cached_tokens_total",)),
)
_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)")
_ALL_SOURCES = 'cache_source="total"'
"""SGLang has a series for each source, and may have one that is their sum."""


def read_counters(page: str) -> Counters | None:
    """The counters of the first server of the table that the page has; None if it has none."""
    wanted = {name for known in _KNOWN for name in (known.prompt, *known.cached)}
    sums: dict[str, float] = {}
    totals: dict[str, float] = {}
    for line in page.splitlines():
        if not line.startswith(("stemcache_", "vllm:", "sglang:")):
            continue
        found = _SAMPLE.match(line)
        if found is None or found["name"] not in wanted:
            continue
        try:
            value = float(found["value"])
        except ValueError:
            continue
        if not math.isfinite(value):
            continue
        into = totals if _ALL_SOURCES in (found["labels"] or "") else sums
        into[found["name"]] = into.get(found["name"], 0.0) + value
    sums |= totals
    for known in _KNOWN:
        if known.prompt in sums and known.cached[0] in sums:
            cached = sum(sums.get(name, 0.0) for name in known.cached)
            return Counters(known.server, sums[known.prompt], cached)
    return None
