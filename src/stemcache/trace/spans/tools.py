"""Definitions of tools as spans, one each."""

from typing import Any

from stemcache.trace.spans.draft import Draft, finished, structure
from stemcache.trace.spans.marker import marker_of
from stemcache.trace.spans.span import Span, SpanKind
from stemcache.wire.section import Section

__all__ = ["tool_spans"]


def tool_spans(tools: list[Any], pointer: str) -> list[Span]:
    """The list at `pointer` as spans of the section TOOLS; what is no tool is OTHER.

    A marker may stand on the tool, or inside of its `function`.
    """
    drafts: list[Draft] = []
    for i, tool in enumerate(tools):
        here = f"{pointer}/{i}"
        if not isinstance(tool, dict):
            drafts.append(structure(here, "", SpanKind.OTHER, tool))
            continue
        marker = marker_of(tool, here)
        inner = tool.get("function")
        if marker is None and isinstance(inner, dict):
            marker = marker_of(inner, f"{here}/function")
        drafts.append(structure(here, "", SpanKind.TOOL, tool, marker))
    return list(finished(Section.TOOLS, -1, drafts))
