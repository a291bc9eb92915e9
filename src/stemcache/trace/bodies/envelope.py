"""Where in a line of a log the request body lies, and what stands near it.

```
{"messages": …}                                   the body itself
{"body": {…}}   {"request": {…}}   {"params": {…}}        wrapped; a batch line is of this kind
{"request": {"body": '{…}'}}                      wrapped twice; either may be a string of JSON
```

What stands near is looked for from the outside in: a time, a session, a tenant, and the usage that
came back. A body's `user` names a tenant. Its `cache_salt` does not, being a secret: it enters the
block ids, so that prompts under different salts share nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from stemcache.trace.problem import BadLineError, decode_problem
from stemcache.trace.times import log_time_s

__all__ = ["Logged", "find_body", "is_body", "why_no_body"]

_PLACES = ((), ("body",), ("request",), ("request", "body"), ("params",))

_TIMES = ("timestamp", "time", "ts", "start_time", "startTime", "request_time", "created_at")
_SESSIONS = ("session_id", "session", "conversation_id", "thread_id")
_TENANTS = ("tenant", "tenant_id", "organization", "org_id", "user", "user_id", "safety_identifier")
_OUTPUTS = ("completion_tokens", "output_tokens")

_MAX_OUTPUT_TOKENS = 2**48


@dataclass(frozen=True, slots=True)
class Logged:
    """A request body and what its line says about it."""

    body: Mapping[str, Any]
    time_s: float | None
    session: str | None
    tenant: str | None
    output_tokens: int | None


def is_body(value: object) -> bool:
    """Whether it looks like the body of a chat, completion, response or message request."""
    if not isinstance(value, Mapping):
        return False
    return (
        isinstance(value.get("messages"), list)
        or isinstance(value.get("prompt"), str | list)
        or (isinstance(value.get("input"), str | list) and "model" in value)
    )


def find_body(record: Mapping[str, Any]) -> Logged | None:
    """The body in a record, None if there is none. Raises BadLineError for what stands near."""
    for place in _PLACES:
        near = list(_walk(record, place))
        if len(near) == len(place) + 1 and is_body(near[-1]):
            return _logged(near)
    return None


def why_no_body(record: Mapping[str, Any]) -> str:
    """What a record without a body lacks, or has of another type. Raises BadLineError."""
    for place in _PLACES:
        near = list(_walk(record, place))
        if len(near) < len(place) + 1:
            continue
        for name, kinds, wanted in (
            ("messages", list, "is no list"),
            ("prompt", str | list, "is neither a text nor a list"),
            ("input", str | list, "is neither a text nor a list"),
        ):
            if name in near[-1] and not isinstance(near[-1][name], kinds):
                return f"{'.'.join([*place, name])} {wanted}"
        if "input" in near[-1]:
            return f"{'.'.join([*place, 'input'])} stands without a model"
    return "no messages, prompt or input"


def _walk(record: object, place: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    for name in (*place, None):
        if isinstance(record, str):
            record = _decoded(record)
        if not isinstance(record, Mapping):
            return
        yield record
        record = None if name is None else record.get(name)


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadLineError(f"the body is a string: {decode_problem(error, text)}") from None


def _logged(near: list[Mapping[str, Any]]) -> Logged:
    body = near[-1]
    metadata = body.get("metadata")
    inner = [metadata] if isinstance(metadata, Mapping) else []
    found = _first(near, _TIMES)
    return Logged(
        body=body,
        time_s=None if found is None else log_time_s(found[1], found[0]),
        session=_name([*near, *inner], _SESSIONS),
        tenant=_name([*near, *inner], _TENANTS),
        output_tokens=_output_tokens(near),
    )


def _first(near: list[Mapping[str, Any]], names: tuple[str, ...]) -> tuple[str, Any] | None:
    for place in near:
        for name in names:
            if place.get(name) is not None:
                return name, place[name]
    return None


def _name(near: list[Mapping[str, Any]], names: tuple[str, ...]) -> str | None:
    found = _first(near, names)
    if found is None:
        return None
    name, value = found
    if isinstance(value, Mapping):
        value = value.get("id")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise BadLineError(f"{name} is neither a text nor an integer")
    return str(value)


def _output_tokens(near: list[Mapping[str, Any]]) -> int | None:
    places = list(near)
    response = near[0].get("response")
    if isinstance(response, Mapping):
        places.append(response)
        if isinstance(response.get("body"), Mapping):
            places.append(response["body"])
    for place in places:
        usage = place.get("usage")
        found = _first([usage], _OUTPUTS) if isinstance(usage, Mapping) else None
        if found is not None:
            name, value = found
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if type(value) is not int or not 0 <= value <= _MAX_OUTPUT_TOKENS:
                raise BadLineError(f"usage.{name} is no number of tokens")
            return value
    return None
