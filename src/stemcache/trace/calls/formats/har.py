"""HAR: what browsers, proxies and clients such as mitmproxy write of HTTP traffic.

Fidelity: wire. `postData.text` is the text of the body, and the answer's `content.text` is its
object or its events, base64 where it says so. Entries that ask no model are left out. Of headers
only the allowed ones stay, and of a credential its digest.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from stemcache.trace.calls.answer import answer_of
from stemcache.trace.calls.body import is_body, made_call
from stemcache.trace.calls.call import Call, Fidelity
from stemcache.trace.calls.fields import (
    json_of,
    known_time_s,
    mapping_of,
    nested,
    number_of,
    status_of,
    text_of,
)
from stemcache.trace.calls.format import CallFormat, Record, Shared, Stateless
from stemcache.trace.calls.headers import kept_headers, scope_of_headers, session_of_headers
from stemcache.trace.problem import BadLineError

__all__ = ["HAR"]

_BEFORE_ANSWER = ("blocked", "dns", "connect", "send", "wait")


def _sniff(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("request"), dict)
        and "url" in value["request"]
        and ("startedDateTime" in value or "postData" in value["request"])
    )


def _read(record: Record, shared: Shared) -> Iterable[Call]:
    value = mapping_of(record.value)
    request = value.get("request")
    if not isinstance(request, dict):
        raise BadLineError("the entry has no request")
    post = mapping_of(request.get("postData"))
    text = _text(post)
    body = json_of(text) if text is not None else None
    if text is None or not is_body(body):
        shared.left_out["requests that ask no model"] += 1
        return ()
    response = mapping_of(value.get("response"))
    content = _text(mapping_of(response.get("content")))
    status = status_of(response.get("status"))
    started = known_time_s(value.get("startedDateTime"))
    headers = kept_headers(request.get("headers"))
    return (
        made_call(
            place=record.place("/request/postData/text"),
            body=body,
            fidelity=Fidelity.WIRE,
            size_bytes=len(text),
            raw=text.encode("utf-8", "surrogatepass"),
            answer=None if content is None else answer_of(content),
            url=request.get("url"),
            status=status,
            # A request that was broken off has status 0.
            failed=status is None and "status" in response,
            session=session_of_headers(headers),
            scope=scope_of_headers(request.get("headers")),
            headers=headers,
            time_s=started,
            answered_s=_later(started, _waited_ms(value)),
            ended_s=_later(started, number_of(value.get("time"))),
        ),
    )


def _text(content: Mapping[str, Any]) -> str | None:
    text = text_of(content.get("text"))
    if text is None or content.get("encoding") != "base64":
        return text
    try:
        return b64decode(text).decode()
    except (binascii.Error, ValueError):
        return None


def _waited_ms(value: Mapping[str, Any]) -> float | None:
    """Until the first byte of the answer: `-1` says that a step did not take place."""
    steps = [number_of(nested(value, "timings", name)) for name in _BEFORE_ANSWER]
    if steps[-1] is None or steps[-1] < 0:
        return None
    return sum(step for step in steps if step is not None and step > 0)


def _later(started: float | None, ms: float | None) -> float | None:
    return None if started is None or ms is None or ms < 0 else started + ms / 1000


HAR = CallFormat(
    name="har",
    title="HTTP archives",
    fidelity=Fidelity.WIRE,
    sniff=_sniff,
    reader=lambda shared: Stateless(_read, shared),
)
