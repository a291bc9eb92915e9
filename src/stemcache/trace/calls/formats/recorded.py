"""What `stemcache record` writes: one call a line, the body as the text that was sent.

Fidelity: wire. `request` is the exact text of the body, or `request_base64` its bytes where they
are no UTF-8, and `raw` gives it back unchanged. Where a credential was cut out of the body it is no
longer what was sent: reserialised. A body that was not kept, or was too large, leaves usage alone.

A call that broke after its answer began (`answered` is set) has written its cache, so it counts as
no failure. Headers pass the allow-list here once more, since a file may have been edited.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from stemcache.trace.calls.answer import Answer, answer_of
from stemcache.trace.calls.body import is_body, made_call
from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.calls.fields import (
    decoded,
    items_of,
    known_time_s,
    mapping_of,
    status_of,
    text_of,
)
from stemcache.trace.calls.format import CallFormat, Record, Shared, Stateless
from stemcache.trace.calls.headers import kept_headers, session_of_headers
from stemcache.trace.problem import BadLineError

__all__ = ["RECORDED"]

_VERSION = 1


def _sniff(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "stemcache" in value
        and ("request" in value or "request_base64" in value)
    )


def _read(record: Record, shared: Shared) -> Iterable[Call]:
    value = mapping_of(record.value)
    if value.get("stemcache") != _VERSION:
        raise BadLineError(
            "the record is of another version of stemcache", fix="read it with that version"
        )
    inner = "/request" if "request" in value else "/request_base64"
    raw = _raw(value)
    body = decoded(raw, "the request") if raw else None
    if raw is not None and not is_body(body):
        shared.left_out["requests without a prompt"] += 1
        return ()
    headers = kept_headers(value.get("headers"))
    return (
        made_call(
            place=record.place(inner),
            body=body,
            fidelity=Fidelity.RESERIALISED if value.get("redacted") else Fidelity.WIRE,
            size_bytes=len(raw or b""),
            raw=raw,
            answer=_answer(value),
            url=value.get("url"),
            status=status_of(value.get("status")),
            failed=bool(value.get("failed")) and value.get("answered") is None,
            session=session_of_headers(headers),
            scope=text_of(value.get("scope")) or "",
            headers=headers,
            time_s=known_time_s(value.get("time")),
            answered_s=known_time_s(value.get("answered")),
            ended_s=known_time_s(value.get("ended")),
        ),
    )


def _raw(value: Mapping[str, Any]) -> bytes | None:
    """The bytes, None where they were not kept."""
    text = value.get("request")
    if text is None and "request_base64" not in value:
        return None
    if isinstance(text, str):
        try:
            return text.encode()
        except UnicodeEncodeError:
            raise BadLineError("the request holds half of a surrogate pair") from None
    coded = value.get("request_base64")
    if not isinstance(coded, str):
        raise BadLineError("the request is neither a text nor base64")
    try:
        return b64decode(coded, validate=True)
    except (binascii.Error, ValueError):
        raise BadLineError("the request is no base64") from None


def _answer(value: Any) -> Answer | None:
    response = value.get("response")
    if not isinstance(response, dict):
        return None
    answer = answer_of({name: field for name, field in response.items() if field is not None})
    if answer is None or not isinstance(response.get("content"), list):
        return answer
    return Answer(
        id=answer.id,
        model=answer.model,
        usage=answer.usage,
        content=items_of(response["content"]),
        diagnostics=answer.diagnostics,
        tier=answer.tier,
        region=answer.region,
        failed=answer.failed,
    )


RECORDED = CallFormat(
    name="stemcache",
    title="what `stemcache record` writes",
    fidelity=Fidelity.WIRE,
    sniff=_sniff,
    reader=lambda shared: Stateless(_read, shared),
)
