"""Calls that come as values, from a framework's callback, handed over like those from the wire."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from stemcache.integrations.plain import plain
from stemcache.record.exchange import Exchange
from stemcache.record.recorder import Recorder

__all__ = ["hand_over"]


def hand_over(
    recorder: Recorder,
    *,
    url: str,
    request: object,
    answer: Mapping[str, Any] | None,
    status: int | None,
    began_s: float,
    answered_s: float | None,
    ended_s: float | None,
    credential: str = "",
) -> None:
    """Give a call to the recorder. Linear in the body, which is written as JSON here.

    `request` is the body: a mapping, or its JSON. `credential` tells whose cache it is; like any
    other it is kept as a digest.
    """
    exchange = Exchange(
        time_s=began_s,
        method="POST",
        url=url,
        headers=[("authorization", f"Bearer {credential}")] if credential else [],
        request=recorder.capture(),
        answered_s=answered_s,
        ended_s=ended_s,
        status=status,
        failed=None if answer is not None or status is not None else "error",
        response_headers=[("content-type", "application/json")],
        response=recorder.capture(),
        context=recorder.context(),
    )
    exchange.request.add(_json(request))
    if answer is not None and exchange.response is not None:
        exchange.response.add(_json(answer))
    recorder.submit(exchange)


def _json(value: object) -> bytes:
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    try:
        return msgspec.json.encode(value, enc_hook=plain)
    except (msgspec.MsgspecError, TypeError, UnicodeEncodeError):
        return json.dumps(value, default=str).encode()
