"""A prompt with its digests as the shape that a provider's cache sees."""

from typing import Any

import numpy as np

from stemcache.lint.keys import KeyValue, section_start
from stemcache.lint.scale import Scale
from stemcache.provider.shape import Mark, Position, Run, Shape
from stemcache.trace.spans.sketch import Sketch, chains
from stemcache.trace.spans.span import Prompt, SpanKind

__all__ = ["shape_of"]

_RUNS: dict[SpanKind, Run] = {
    SpanKind.TOOL_USE: "tool_use",
    SpanKind.TOOL_RESULT: "tool_result",
}


def shape_of(
    prompt: Prompt,
    sketch: Sketch,
    *,
    keys: tuple[KeyValue, ...],
    scale: Scale,
    output_tokens: int | None,
    ttl: str | None = None,
) -> Shape:
    """O(spans + units). Parameters that key the cache are mixed in where they begin to count.

    `ttl` is the lifetime that usage tells of where the log does not show the markers.
    """
    salts = [(section_start(prompt, value.key), value.salt) for value in keys]
    span_chain, unit_chain = chains(sketch, salts)
    ends = np.cumsum(sketch.span_bytes)
    positions = tuple(
        Position(
            chain=chain,
            end_tokens=scale.tokens(end),
            section=span.section,
            role=span.role,
            ends_message=span.ends_message,
            mark=None if span.marker is None else Mark(span.marker.ttl),
            run=_RUNS.get(span.kind),
            message=span.message,
        )
        for span, chain, end in zip(prompt.spans, span_chain.tolist(), ends.tolist(), strict=True)
    )
    unit_ends = np.cumsum(sketch.unit_bytes, dtype=np.int64)
    return Shape(
        positions=positions,
        fine_chain=unit_chain,
        fine_tokens=_tokens_at(scale, unit_ends),
        api=prompt.api,
        automatic=_whole_mark(prompt, ttl),
        implicit=_text(prompt.parameters.get("/prompt_cache_options/mode")) != "explicit",
        object_name=_text(
            prompt.parameters.get("/cachedContent") or prompt.parameters.get("/cached_content")
        ),
        output_tokens=output_tokens,
    )


def _whole_mark(prompt: Prompt, ttl: str | None) -> Mark | None:
    if prompt.automatic is not None:
        return Mark(prompt.automatic.ttl)
    return None if ttl is None else Mark(ttl)


def _tokens_at(scale: Scale, ends: Any) -> Any:
    points = [0, scale.total_bytes]
    values = [scale.hidden_tokens, scale.total_tokens]
    if scale.knot_bytes:
        points.insert(1, scale.knot_bytes)
        values.insert(1, scale.knot_tokens)
    return np.interp(ends, points, values).astype(np.int64)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
