"""A stable prefix taken apart into portions, and what is pinned of it: digests, never a text.

```
Layout ─┐              portion   tool:search   rules            handbook
body   ─┼─► portions ─►          digest        digest           digest        ─► one digest of all
text   ─┘                                      ▲ rungs ▲ ▲ ▲
```
A portion is one block or tool. Its *rungs* are short digests of the beginnings of its text, a
sixteenth apart: with them and the text of today alone it can be told between which two of them the
text began to differ. Names and versions are in no digest: no provider sees them.

Cost: everything is linear in the text; of a portion about 300 characters are kept.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.count import Count, count_bytes
from stemcache.trace.divergence.names import tool_name
from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import ORDER, prompt_of
from stemcache.trace.spans.span import Span, SpanKind
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = [
    "RUNGS",
    "Pinned",
    "PinnedPortion",
    "Portion",
    "digest_of",
    "estimated_tokens",
    "in_order",
    "pinned",
    "portions_of_body",
    "portions_of_text",
    "rung",
    "safe_name",
    "version_of",
    "whole_digest",
]

RUNGS = 16
"""Parts of a text between whose ends there is a rung each: one less than this."""
_LEAST_CHARS = 512
"""A shorter text has none: it is its own place."""
_SAFE = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """One block or tool of a stable prefix, as it is now."""

    name: str
    """`rules`, `tool:search`, `system/0`; further parts of a segment are `rules/1`, …"""
    section: Section
    kind: SpanKind
    text: str
    """What is sent: a text as it is, a structure as JSON."""
    tokens: int
    role: str = ""
    label: str = ""
    version: str | None = None
    """Of the segment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedPortion:
    """What is kept of a portion."""

    name: str
    section: Section
    tokens: int
    chars: int
    digest: str
    """32 hexadecimal digits, of its kind, role and text."""
    version: str | None = None
    rungs: tuple[str, ...] = ()
    """Eight hexadecimal digits each; none for short texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """What is kept of a prefix."""

    name: str
    digest: str
    """`sha256:` and 64 hexadecimal digits, over those of the portions in their order."""
    tokens: int
    portions: tuple[PinnedPortion, ...]
    version: str | None = None
    """Given by the project, or else made of those of its segments."""


def portions_of_body(
    body: Mapping[str, Any], api: Api, *, count: Count | None = None
) -> tuple[Portion, ...]:
    """Tools, system prompt and messages of a request body, its keys in the order that they have.

    Markers, white space of JSON and parameters are no part of it. Raises UsageError for what is no
    request of that API.
    """
    counted = count or estimated_tokens
    try:
        spans = prompt_of(body, api).spans
    except BadBodyError as error:
        raise UsageError(f"the body is no request for {api}: {error}; {error.fix}") from None
    return tuple(
        Portion(
            name=_span_name(span),
            section=span.section,
            kind=span.kind,
            text=span.text,
            tokens=counted(span.text),
            role=span.role,
            label=span.label,
        )
        for span in spans
    )


def portions_of_text(text: str, *, count: Count | None = None) -> tuple[Portion, ...]:
    """A system prompt that is one text."""
    tokens = (count or estimated_tokens)(text)
    return (
        Portion(name="text", section=Section.SYSTEM, kind=SpanKind.TEXT, text=text, tokens=tokens),
    )


def version_of(portions: Iterable[Portion]) -> str | None:
    """The versions of the segments as one, `rules=3 handbook=2026-11`; None where none has any."""
    told = {one.name.partition("/")[0]: one.version for one in portions if one.version is not None}
    return " ".join(f"{name}={version}" for name, version in told.items()) or None


def in_order(portions: Sequence[Portion], order: Sequence[Section]) -> tuple[Portion, ...]:
    """The portions as a provider with that order of sections reads them."""
    rank = {section: i for i, section in enumerate(dict.fromkeys((*order, *Section)))}
    return tuple(sorted(portions, key=lambda one: rank[one.section]))


def pinned(name: str, portions: Sequence[Portion], *, version: str | None = None) -> Pinned:
    """What is kept of a prefix: pure, equal for equal portions. Raises UsageError for an empty one.

    Without a version, that of the segments.
    """
    if not portions:
        raise UsageError(
            f"the prefix {name!r} has nothing stable in it; give its layout static or reference "
            "segments or tools, or leave it out"
        )
    if not any(one.text for one in portions):
        raise UsageError(f"the prefix {name!r} is an empty text; write one, or leave it out")
    ordered = in_order(portions, ORDER)
    kept = tuple(
        PinnedPortion(
            name=one.name,
            section=one.section,
            tokens=one.tokens,
            chars=len(one.text),
            digest=digest_of(one),
            version=one.version,
            rungs=_rungs(one.text),
        )
        for one in ordered
    )
    return Pinned(
        name=name,
        digest=whole_digest(kept),
        tokens=sum(one.tokens for one in kept),
        portions=kept,
        version=version_of(ordered) if version is None else version,
    )


def digest_of(one: Portion) -> str:
    """Of what is sent of a portion: 32 hexadecimal digits. Linear."""
    made = sha256()
    for field in (one.section, one.kind, one.role, one.label, one.text):
        data = _bytes(field)
        made.update(b"%d:" % len(data))  # so that no two rows of fields are one row of bytes
        made.update(data)
    return made.hexdigest()[:32]


def whole_digest(portions: Iterable[PinnedPortion]) -> str:
    """Of all portions in their order, by their digests, so that a lock can be checked by itself."""
    return f"sha256:{sha256(''.join(one.digest for one in portions).encode()).hexdigest()}"


def estimated_tokens(text: str) -> int:
    """A quarter of a token a byte, at least one: about right for English in every tokenizer."""
    return max(1, count_bytes(text))


def rung(text: str, chars: int) -> str:
    """The digest of the beginning of a text. Linear."""
    return sha256(_bytes(text[:chars])).hexdigest()[:8]


def safe_name(name: str) -> str:
    """A tool's name, which may be anything, as one that can stand in a file; else its digest."""
    if _SAFE.fullmatch(name):
        return name
    return sha256(_bytes(name)).hexdigest()[:12]


def _rungs(text: str) -> tuple[str, ...]:
    """In one pass."""
    if len(text) < _LEAST_CHARS:
        return ()
    running = sha256()
    found: list[str] = []
    for number in range(1, RUNGS):
        low, high = (number - 1) * len(text) // RUNGS, number * len(text) // RUNGS
        running.update(_bytes(text[low:high]))
        found.append(running.copy().hexdigest()[:8])
    return tuple(found)


def _bytes(text: str) -> bytes:
    # A body may hold half a surrogate pair, which json.dumps sends as an escape.
    return text.encode("utf-8", "surrogatepass")


def _span_name(span: Span) -> str:
    if span.section is Section.TOOLS:
        return f"tool:{safe_name(tool_name(span))}"
    return span.pointer.lstrip("/")
