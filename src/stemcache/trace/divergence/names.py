"""By what name a tool goes, whichever API wrote it."""

from stemcache.trace.spans.span import Span

__all__ = ["tool_name"]


def tool_name(span: Span) -> str:
    """The tool's name; of one that has none, such as a provider's own tool, its whole text."""
    value = span.value
    for inner in ("function", "toolSpec"):
        if isinstance(value, dict) and isinstance(value.get(inner), dict):
            value = value[inner]
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else span.text
