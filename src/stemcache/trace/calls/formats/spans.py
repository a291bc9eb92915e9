"""Spans of OpenTelemetry in their JSON forms, as plain mappings of attributes.

```
{"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}                           OTLP, where
    span = {"attributes": [{"key": …, "value": {"stringValue": …}}], "startTimeUnixNano": …, …}
{"name", "start_time", "end_time", "attributes": {…}, "events": […]}      an SDK's console, Phoenix
```
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stemcache.trace.calls.fields import first, items_of, known_time_s, mapping_of, nested, text_of
from stemcache.trace.calls.pointer import pointer

__all__ = ["Span", "spans_of"]

_MAX_NESTED = 20


@dataclass(frozen=True, slots=True)
class Span:
    """One span. Attributes of its events count as its own where it has none of that name."""

    way: str
    """JSON pointer to the span in its record."""
    name: str | None
    attributes: Mapping[str, Any]
    started_s: float | None
    ended_s: float | None
    trace: str | None
    failed: bool


def spans_of(value: Any) -> Iterator[Span]:
    """All spans of a record, in order; none where it is of another form."""
    if not isinstance(value, dict):
        return
    for i, resource in enumerate(items_of(value.get("resourceSpans"))):
        found = first(mapping_of(resource), ("scopeSpans", "instrumentationLibrarySpans"))
        name = (
            "scopeSpans" if "scopeSpans" in mapping_of(resource) else "instrumentationLibrarySpans"
        )
        for j, scope in enumerate(items_of(found)):
            for k, span in enumerate(items_of(nested(scope, "spans"))):
                if isinstance(span, dict):
                    yield _span(span, pointer(("resourceSpans", i, name, j, "spans", k)))
    if "resourceSpans" not in value and "attributes" in value:
        yield _span(value, "")


def _span(span: Mapping[str, Any], way: str) -> Span:
    attributes: dict[str, Any] = {}
    for event in items_of(span.get("events")):
        attributes.update(_attributes(nested(event, "attributes")))
    attributes.update(_attributes(span.get("attributes")))
    status = span.get("status")
    code = first(mapping_of(status), ("code", "status_code")) or span.get("status_code")
    return Span(
        way=way,
        name=text_of(span.get("name")),
        attributes=attributes,
        started_s=known_time_s(first(span, ("startTimeUnixNano", "start_time", "startTime"))),
        ended_s=known_time_s(first(span, ("endTimeUnixNano", "end_time", "endTime"))),
        trace=text_of(first(span, ("traceId", "trace_id")))
        or text_of(nested(span, "context", "trace_id")),
        failed=code == 2 or text_of(code) in {"ERROR", "STATUS_CODE_ERROR"},
    )


def _attributes(found: Any) -> dict[str, Any]:
    if isinstance(found, dict):
        return _flat(found)
    return {
        key: _value(pair.get("value"), 0)
        for pair in items_of(found)
        if isinstance(pair, dict) and (key := text_of(pair.get("key"))) is not None
    }


def _flat(found: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes by their dotted names, also where a store made objects of them."""
    flat: dict[str, Any] = {}
    stack: list[tuple[str, Any, int]] = [(name, field, 0) for name, field in found.items()]
    while stack:
        name, field, depth = stack.pop()
        opens = name in {"gen_ai", "llm", "input", "output"} or depth > 0
        if isinstance(field, dict) and opens and depth < _MAX_NESTED:
            stack += [(f"{name}.{key}", inner, depth + 1) for key, inner in field.items()]
        else:
            flat[name] = field
    return flat


def _value(value: Any, depth: int) -> Any:
    """The plain value of OTLP's `AnyValue`."""
    if not isinstance(value, dict) or depth > _MAX_NESTED:
        return None
    for kind in ("stringValue", "boolValue", "doubleValue"):
        if kind in value:
            return value[kind]
    if "intValue" in value:
        number = value["intValue"]
        if isinstance(number, str) and number.lstrip("-").isdigit() and len(number) < 20:
            return int(number)
        return number
    if "arrayValue" in value:
        inner = items_of(nested(value["arrayValue"], "values"))
        return [_value(item, depth + 1) for item in inner]
    if "kvlistValue" in value:
        pairs = items_of(nested(value["kvlistValue"], "values"))
        return {
            key: _value(pair.get("value"), depth + 1)
            for pair in pairs
            if isinstance(pair, dict) and (key := text_of(pair.get("key"))) is not None
        }
    return None
