"""Langfuse: observations of type GENERATION, from its exports and from its API.

```
{"id", "traceId", "type": "GENERATION", "name", "startTime", "completionStartTime", "endTime",
 "model", "modelParameters", "input", "output", "usageDetails", "costDetails", "level", …}
```
Exports to files have the same fields with underscores, the API wraps a list in `data`, and a trace
holds its observations. Observations of other types are left out.

Fidelity: reconstructed. `input` is what the instrumentation took for the messages; system prompts,
tools and parameters are there as far as it logged them, and markers seldom.

Usage is given under Langfuse's names.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stemcache.trace.calls.body import is_body, made_call
from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.calls.fields import (
    first,
    items_of,
    json_of,
    known_time_s,
    mapping_of,
    name_of,
    number_of,
    text_of,
)
from stemcache.trace.calls.format import CallFormat, Record, Shared, Stateless
from stemcache.trace.calls.headers import scope_digest
from stemcache.trace.problem import BadLineError

__all__ = ["LANGFUSE"]

_TYPES = frozenset(
    {
        "GENERATION",
        "SPAN",
        "EVENT",
        "AGENT",
        "TOOL",
        "CHAIN",
        "RETRIEVER",
        "EVALUATOR",
        "EMBEDDING",
        "GUARDRAIL",
    }
)


def _sniff(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    inside = items_of(value.get("observations"))
    if inside and _is_observation(inside[0]):
        return True
    return _is_observation(value)


def _is_observation(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in _TYPES
        and first(value, ("traceId", "trace_id", "startTime", "start_time")) is not None
    )


def _read(record: Record, shared: Shared) -> Iterator[Call]:
    value = record.value
    if not isinstance(value, dict):
        raise BadLineError("the record is no observation")
    observations = value.get("observations")
    if isinstance(observations, list):
        session = name_of(first(value, ("sessionId", "session_id")))
        for number, inside in enumerate(observations):
            yield from _observed(record, inside, f"/observations/{number}", session, shared)
    else:
        yield from _observed(record, value, "", None, shared)


def _observed(
    record: Record, value: Any, way: str, session: str | None, shared: Shared
) -> Iterable[Call]:
    value = mapping_of(value)
    if value.get("type") != "GENERATION":
        shared.left_out["observations that are no generations"] += 1
        return ()
    body = _body(value)
    usage = _usage(value)
    output = json_of(value.get("output"))
    owner = name_of(first(value, ("projectId", "project_id")))
    failed = value.get("level") == "ERROR" and not output
    return (
        made_call(
            place=record.place(f"{way}/input" if body is not None else way),
            body=body,
            fidelity=Fidelity.RECONSTRUCTED,
            size_bytes=record.size_bytes,
            usage=usage,
            model=text_of(first(value, ("model", "provided_model_name", "internalModel"))),
            id=text_of(value.get("id")),
            failed=failed,
            session=name_of(first(value, ("sessionId", "session_id")))
            or session
            or name_of(first(value, ("traceId", "trace_id"))),
            scope=scope_digest(owner) if owner else "",
            route=text_of(value.get("name")),
            time_s=known_time_s(first(value, ("startTime", "start_time"))),
            answered_s=known_time_s(first(value, ("completionStartTime", "completion_start_time"))),
            ended_s=known_time_s(first(value, ("endTime", "end_time"))),
            billed_usd=_cost(value),
        ),
    )


def _body(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    asked = json_of(value.get("input"))
    parameters = mapping_of(json_of(first(value, ("modelParameters", "model_parameters"))))
    model = text_of(first(value, ("model", "provided_model_name")))
    head = {
        "model": model,
        **{name: field for name, field in parameters.items() if name != "model"},
    }
    if isinstance(asked, dict):
        body = {**head, **asked}
        if is_body(body):
            return body
        # One message by itself.
        return {**head, "messages": [asked]} if "role" in asked else None
    if isinstance(asked, list) and asked and isinstance(asked[0], dict):
        return {**head, "messages": asked}
    text = text_of(value.get("input"))
    return None if text is None else {**head, "prompt": text}


def _usage(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Counts under Langfuse's own names, which exclude each other."""
    for names in (("usageDetails", "usage_details"), ("usage",)):
        details = mapping_of(json_of(first(value, names)))
        counts = {name: count for name, count in details.items() if number_of(count) is not None}
        if counts:
            return counts
    return None


def _cost(value: Mapping[str, Any]) -> float | None:
    details = mapping_of(json_of(first(value, ("costDetails", "cost_details"))))
    return number_of(details.get("total")) or number_of(
        first(value, ("calculatedTotalCost", "totalCost", "total_cost"))
    )


LANGFUSE = CallFormat(
    name="langfuse",
    title="Langfuse's generations",
    fidelity=Fidelity.RECONSTRUCTED,
    sniff=_sniff,
    reader=lambda shared: Stateless(_read, shared),
)
