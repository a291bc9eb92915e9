"""A provider's caching rule as data: what `rules/*.toml` says, read and checked.

```
rules/anthropic.toml ──► Rule(name, kind, order, minimum, ttl, look_back, keys …)  each with sources
```
Which numbers sources contest is kept: a `Range` has a low and a high end and both sources. Code
that must take one takes `likely`, and says that it is one of several.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from stemcache.wire.section import Section

__all__ = ["Key", "Kind", "Range", "Rule", "SourceNote", "Ttl"]

Kind = Literal["markers", "breakpoints", "units", "persisted-units", "objects", "usage-only"]
"""`markers`: written at the caller's markers, read by looking back from them (Anthropic, Bedrock,
Vertex, Qwen explicit, MiniMax explicit). `breakpoints`: written at message endings and explicit
breakpoints, read exactly there (OpenAI from 5.6). `units`: longest common prefix in units (OpenAI
before 5.6, Azure, xAI, vLLM, SGLang, Qwen implicit, MiniMax automatic). `persisted-units`: whole
stored units only (DeepSeek). `objects`: explicit cache objects (Gemini explicit; implicit is
`units` without a guarantee). `usage-only`: no rule that could be tested."""


@dataclass(frozen=True, slots=True)
class SourceNote:
    """Where a figure is from."""

    text: str
    seen: str
    """ISO date on which it was seen there."""


@dataclass(frozen=True, slots=True)
class Range:
    """A figure that sources may contest."""

    low: int
    high: int
    likely: int
    sources: tuple[SourceNote, ...]

    @property
    def contested(self) -> bool:
        """Whether sources differ."""
        return self.low != self.high


@dataclass(frozen=True, slots=True)
class Ttl:
    """How long what was written can be read."""

    name: str
    """As the caller writes it: `5m`, `1h`, `30m`, `24h`; `` where it cannot be chosen."""
    low_s: float
    """Below this gap it is there."""
    high_s: float
    """Above this gap it is gone. Equal to `low_s` where the provider states one figure."""


@dataclass(frozen=True, slots=True)
class Key:
    """A parameter whose value is part of the cache's key from some section on."""

    pointers: tuple[str, ...]
    """JSON pointers at which the parameter may stand, e.g. `/tool_choice`."""
    name: str
    """What findings call it: `tool_choice`, `thinking`, `effort`, `model`, …"""
    section: Section
    """Everything from this section on is lost when it changes, in the rule's order."""
    equal_to_absent: tuple[object, ...] = ()
    """Values that mean the same as leaving the parameter out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a cache of one provider and family of models does."""

    name: str
    """`anthropic`, `openai-5.6`, `openai-pre-5.6`, `azure-openai-5.6`, `bedrock`, `vllm`, …"""
    provider: str
    """Under which prices are looked up: `anthropic`, `openai`, `bedrock`, `gemini`, …"""
    kind: Kind
    order: tuple[Section, ...]
    minimum_tokens: Range
    """Shorter prefixes are not kept. 0 where there is no minimum."""
    unit_tokens: int = 1
    """Reads are counted in multiples of it, rounded down."""
    ttls: tuple[Ttl, ...] = ()
    """The first is the default. Empty: not stated."""
    refreshed_by_reads: bool = True
    ttl_order: bool = False
    """Whether a longer TTL must stand before a shorter one."""
    most_markers: int | None = None
    look_back: int | None = None
    """Positions that a marker is compared with, itself among them."""
    runs_collapse: bool = False
    """Whether a run of tool_use or of tool_result blocks is one position."""
    readable_after: Literal["answer-begins", "answer-ends"] = "answer-begins"
    keeps_answer: bool = False
    """Whether the answer's own tokens are kept behind the prompt."""
    guaranteed: bool = True
    """False for best-effort caches, where a miss proves nothing."""
    keys: tuple[Key, ...] = ()
    isolation: str = ""
    """Who shares: `workspace`, `organisation`, `account`, `project`, `server`. For reports."""
    routing_fields: tuple[str, ...] = ()
    """Headers (`header:x-grok-conv-id`) and body pointers (`/prompt_cache_key`) that choose the
    server: another value is another cache."""
    write_factor: Mapping[str, float]
    """Price of a written token as a multiple of the input price, by TTL name; 1.0 where writes are
    free of surcharge, because the tokens are billed as input."""
    read_factor: float
    """Price of a read token as a multiple of the input price, where no price list says better."""
    notes: tuple[str, ...] = ()
    """Contested or surprising facts in a sentence each, for reports."""
    sources: tuple[SourceNote, ...] = ()
    explicit: str | None = None
    """Name of the rule that applies instead where the request has markers (Qwen, MiniMax)."""
