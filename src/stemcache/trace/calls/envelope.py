"""Where in a record of a log the request body lies, and what stands near it.

```
{"messages": …}                                  the body itself, perhaps with a time beside it
{"body": {…}}   {"request": {…}}   {"params": {…}}       wrapped
{"request": {"body": '{…}', "url": …}, "response": {…}}  wrapped twice; either may be a text of JSON
```
What stands near is looked for from the outside in. In a flat record, fields that no request has are
taken out of the body: a time that differs from call to call is no parameter of a request.

A record of usage alone, or of an answer alone, is a call without a body.

A body that is the whole line, or a text of JSON, is as it was sent; one that is an object in a
record was spelt anew by whoever wrote the record, its keys as a rule in their order.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stemcache.trace.calls.answer import Answer, answer_of
from stemcache.trace.calls.body import is_body, made_call
from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.calls.fields import (
    first,
    json_of,
    known_time_s,
    mapping_of,
    name_of,
    number_of,
    status_of,
    text_of,
)
from stemcache.trace.calls.format import CallFormat, Record, Shared, Stateless
from stemcache.trace.calls.headers import (
    kept_headers,
    scope_digest,
    scope_of_headers,
    session_of_headers,
)
from stemcache.trace.calls.pointer import pointer
from stemcache.trace.problem import BadLineError

__all__ = ["BODIES", "body_call", "find_body"]

_REQUESTS = (
    "body",
    "request",
    "params",
    "payload",
    "request_body",
    "requestBody",
    "request_json",
    "request.body",
)
_RESPONSES = (
    "response",
    "response_body",
    "responseBody",
    "response_json",
    "response.body",
    "result",
)
_TIMES = (
    "timestamp",
    "time",
    "ts",
    "start_time",
    "startTime",
    "started_at",
    "startedAt",
    "request_time",
    "created_at",
    "createdAt",
    "@timestamp",
)
_ANSWERED = ("first_token_time", "completion_start_time", "completionStartTime", "answered")
_ENDED = ("end_time", "endTime", "ended_at", "endedAt", "finished_at", "ended")
_SESSIONS = ("session_id", "sessionId", "session", "conversation_id", "conversationId", "thread_id")
_OWNERS = (
    "tenant",
    "tenant_id",
    "organization",
    "organization_id",
    "org_id",
    "workspace",
    "workspace_id",
    "account",
    "account_id",
    "api_key_id",
    "api_key",
    "virtual_key",
)
_ROUTES = ("route", "feature", "generation_name", "operation_name", "app", "service")
_URLS = ("url", "uri", "endpoint", "path", "base_url")
_HOSTS = ("host", "provider")
_STATUSES = ("status_code", "statusCode", "http_status", "status")
_COSTS = ("cost_usd", "response_cost", "cost")

_FOREIGN = (
    frozenset(
        {
            *_RESPONSES,
            *_TIMES,
            *_ANSWERED,
            *_ENDED,
            *_SESSIONS,
            *_OWNERS,
            *_ROUTES,
            *_URLS,
            *_HOSTS,
            *_STATUSES,
            *_COSTS,
        }
    )
    | {
        "headers",
        "usage",
        "id",
        "request_id",
        "requestId",
        "latency",
        "latency_ms",
        "duration",
        "duration_ms",
        "error",
        "method",
        "log_id",
        "uuid",
        "level",
        "completion",
        "output",
    }
) - {"session", "params", "thread_id", "service"}
"""Fields that a flat record has beside the body and that no API takes.

OpenRouter takes `provider` and `route`, which is why they go only where a text names one."""


def find_body(record: Mapping[str, Any]) -> tuple[tuple[str, ...], list[Mapping[str, Any]]] | None:
    """Names on the way to the body, and the objects on it, the body last; None if there is none."""
    if is_body(record):
        return (), [record]
    for name in _REQUESTS:
        if name not in record:
            continue
        outer = json_of(record[name])
        if is_body(outer):
            return (name,), [record, outer]
        if not isinstance(outer, dict):
            continue
        for inner_name in _REQUESTS:
            inner = json_of(outer[inner_name]) if inner_name in outer else None
            if is_body(inner):
                return (name, inner_name), [record, outer, mapping_of(inner)]
    return None


def body_call(record: Record) -> Call:
    """The call that a record of the general kind holds. Raises BadLineError."""
    value = record.value
    if not isinstance(value, dict):
        raise BadLineError("the record is no object")
    found = find_body(value)
    if found is None:
        if not _has_usage(value):
            raise BadLineError("no request body: no messages, contents, prompt or input")
        return _near_call(record, (), [value], None, None)
    names, near = found
    body = near[-1]
    if not names:
        foreign = _foreign(body)
        if not foreign:
            # The common case, a log of nothing but bodies, costs no more than this.
            return made_call(
                place=record.place(),
                body=body,
                fidelity=Fidelity.WIRE,
                size_bytes=record.size_bytes,
            )
        body = {name: field for name, field in body.items() if name not in foreign}
    spelt = near[-2].get(names[-1]) if names else None
    return _near_call(record, names, near, body, spelt if isinstance(spelt, str) else None)


def _has_usage(value: Mapping[str, Any]) -> bool:
    """Whether a record without a body tells the usage of a call, by itself or in an answer."""
    for place in (value, json_of(first(value, _RESPONSES))):
        usage = first(mapping_of(place), ("usage", "usageMetadata"))
        if isinstance(usage, dict) and any("oken" in name for name in usage):
            return True
    return False


def _foreign(body: Mapping[str, Any]) -> set[str]:
    if _FOREIGN.isdisjoint(body):
        return set()
    found = body.keys() & _FOREIGN
    return {
        name for name in found if name not in {"provider", "route"} or isinstance(body[name], str)
    }


def _near_call(
    record: Record,
    names: tuple[str, ...],
    near: Sequence[Mapping[str, Any]],
    body: Mapping[str, Any] | None,
    spelt: str | None,
) -> Call:
    # What a flat record says beside its body, and not what the body says.
    around = list(near[:-1]) if names else [near[0]]
    answer, usage = _answer(around)
    if body is None and answer is None:
        answer = answer_of(near[0])
    for place in list(around):
        around.extend(
            inner for name in ("metadata", "meta") if isinstance(inner := place.get(name), dict)
        )
    headers = first_of(around, ("headers", "request_headers", "requestHeaders"))
    owner = name_of(first_of(around, _OWNERS))
    kept = kept_headers(headers)
    status = status_of(first_of(around, _STATUSES))
    return made_call(
        place=record.place(pointer(names)),
        body=body,
        fidelity=Fidelity.RESERIALISED if spelt is None else Fidelity.WIRE,
        size_bytes=record.size_bytes if spelt is None else len(spelt),
        raw=None if spelt is None else spelt.encode("utf-8", "surrogatepass"),
        answer=answer,
        usage=usage,
        url=first_of(around, _URLS),
        model=text_of(first_of(around, ("model", "model_id", "modelId"))),
        host=text_of(first_of(around, _HOSTS)),
        status=status,
        failed=answer is None and _refused(around),
        session=name_of(first_of(around, _SESSIONS)) or session_of_headers(kept),
        scope=scope_digest(owner) if owner else scope_of_headers(headers),
        route=text_of(first_of(around, _ROUTES)),
        headers=kept,
        time_s=known_time_s(first_of(around, _TIMES)),
        answered_s=known_time_s(first_of(around, _ANSWERED)),
        ended_s=known_time_s(first_of(around, _ENDED)),
        billed_usd=number_of(first_of(around, _COSTS)),
    )


def first_of(near: Iterable[Mapping[str, Any]], names: Sequence[str]) -> Any:
    """The first of the fields in the first of the objects that has one."""
    for place in near:
        value = first(place, names)
        if value is not None:
            return value
    return None


def _answer(
    around: Sequence[Mapping[str, Any]],
) -> tuple[Answer | None, Mapping[str, Any] | None]:
    """What came back, and the usage where it stands by itself."""
    response = first_of(around, _RESPONSES)
    answer = None if response is None else answer_of(response)
    usage = first_of(around, ("usage",))
    return answer, usage if isinstance(usage, dict) and usage else None


def _refused(around: Sequence[Mapping[str, Any]]) -> bool:
    return any(bool(place.get("error")) for place in around)


def _sniff(value: Any) -> bool:
    return isinstance(value, dict) and (find_body(value) is not None or _has_usage(value))


def _read(record: Record, _shared: Shared) -> Iterable[Call]:
    return (body_call(record),)


BODIES = CallFormat(
    name="bodies",
    title="JSONL of request bodies, bare or wrapped in a record",
    fidelity=Fidelity.WIRE,
    sniff=_sniff,
    reader=lambda shared: Stateless(_read, shared),
)
