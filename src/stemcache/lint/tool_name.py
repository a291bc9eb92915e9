"""What a tool is called, in each API's way of defining one."""

from collections.abc import Iterable

from stemcache.trace.spans.span import Span

__all__ = ["tool_name", "tool_names"]

_WRAPPERS = ("function", "toolSpec", "custom")


def tool_name(span: Span) -> str:
    """Its name, or its type where it has none, or the pointer where it has neither."""
    value = span.value
    for wrapper in _WRAPPERS:
        if isinstance(value, dict) and isinstance(value.get(wrapper), dict):
            value = value[wrapper]
            break
    if isinstance(value, dict):
        for key in ("name", "server_label", "type"):
            name = value.get(key)
            if isinstance(name, str) and name:
                return name
        declared = value.get("functionDeclarations")
        if isinstance(declared, list):
            names = [str(one.get("name")) for one in declared if isinstance(one, dict)]
            return "\0".join(sorted(names))
    return span.pointer


def tool_names(spans: Iterable[Span]) -> frozenset[str]:
    """The names of all."""
    return frozenset(map(tool_name, spans))
