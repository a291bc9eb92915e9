"""Any JSON records, where `--map` says by JSON pointers what stands where.

```
--map request=/payload/body,response=/payload/answer,time=/at,session=/chat/id
```
Fidelity: as for wrapped bodies. A request that is a text of JSON is taken for what was sent, one
that is an object for the same values spelt anew. A pointer also leads through texts of JSON.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stemcache.errors import UsageError, unknown_choice
from stemcache.trace.calls.answer import Answer, answer_of
from stemcache.trace.calls.body import is_body, made_call
from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.calls.fields import (
    json_of,
    known_time_s,
    name_of,
    number_of,
    status_of,
    text_of,
)
from stemcache.trace.calls.format import CallFormat, Record, Shared, Stateless
from stemcache.trace.calls.headers import kept_headers, scope_digest, scope_of_headers
from stemcache.trace.calls.pointer import follow, parsed_pointer, pointer
from stemcache.trace.problem import BadLineError

__all__ = ["MAPPED", "MAPPED_FIELDS", "parsed_mapping"]

MAPPED_FIELDS = (
    "answered",
    "cost",
    "ended",
    "headers",
    "host",
    "id",
    "model",
    "request",
    "response",
    "route",
    "scope",
    "session",
    "status",
    "tier",
    "time",
    "usage",
)


def parsed_mapping(mapping: Mapping[str, str], source: str = "--map") -> dict[str, tuple[str, ...]]:
    """Pointers by field. Raises UsageError for unknown fields and for what is no pointer."""
    for name in mapping:
        if name not in MAPPED_FIELDS:
            raise UsageError(unknown_choice("field", name, source, MAPPED_FIELDS))
    if not mapping.keys() & {"request", "usage", "response"}:
        raise UsageError(
            f"{source} says neither request, response nor usage, without which a record is no "
            "call; add request=/POINTER"
        )
    return {name: parsed_pointer(text, f"{name} from {source}") for name, text in mapping.items()}


def _read(record: Record, shared: Shared) -> Iterable[Call]:
    pointers = shared.pointers

    def at(name: str) -> Any:
        return follow(record.value, pointers[name]) if name in pointers else None

    spelt = at("request")
    body = json_of(spelt)
    usage = json_of(at("usage"))
    answer = answer_of(at("response"))
    if "request" in pointers and not is_body(body):
        reason = "nothing" if spelt is None else "no request body"
        raise BadLineError(f"{reason} at {pointer(pointers['request']) or 'the whole line'}")
    if body is None and answer is None and not isinstance(usage, dict):
        raise BadLineError("no request, response or usage where the mapping says")
    return (_call(record, shared, spelt=spelt, body=body, usage=usage, answer=answer, at=at),)


def _call(
    record: Record,
    shared: Shared,
    *,
    spelt: Any,
    body: Mapping[str, Any] | None,
    usage: Any,
    answer: Answer | None,
    at: Callable[[str], Any],
) -> Call:
    text = spelt if isinstance(spelt, str) else None
    headers = at("headers")
    owner = name_of(at("scope"))
    host = text_of(at("host"))
    return made_call(
        place=record.place(pointer(shared.pointers.get("request", ()))),
        body=body,
        fidelity=Fidelity.RESERIALISED if text is None else Fidelity.WIRE,
        size_bytes=record.size_bytes if text is None else len(text),
        raw=None if text is None else text.encode("utf-8", "surrogatepass"),
        answer=answer,
        usage=usage if isinstance(usage, dict) and usage else None,
        url=host if host is not None and "/" in host else None,
        host=host if host is not None and "/" not in host else None,
        model=text_of(at("model")),
        id=name_of(at("id")),
        status=status_of(at("status")),
        tier=text_of(at("tier")),
        session=name_of(at("session")),
        scope=scope_digest(owner) if owner else scope_of_headers(headers),
        route=text_of(at("route")),
        headers=kept_headers(headers),
        time_s=known_time_s(at("time")),
        answered_s=known_time_s(at("answered")),
        ended_s=known_time_s(at("ended")),
        billed_usd=number_of(at("cost")),
    )


MAPPED = CallFormat(
    name="mapped",
    title="any JSONL, by --map",
    fidelity=Fidelity.WIRE,
    sniff=lambda _value: False,
    reader=lambda shared: Stateless(_read, shared),
)
