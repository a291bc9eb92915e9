"""A recorded stream: whether its events came to an end, and the events of Amazon's framing.

```
total ‖ headers ‖ crc ‖ {…} ‖ crc      ──► {"<event type>": {…}} of each message
```
Whole bodies, not parts of them: this runs once a call is over. Linear in the body's length.
"""

import struct
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from typing import Any

from stemcache.record.lenient_json import parsed

__all__ = ["eventstream_events", "is_ended"]

_PRELUDE = struct.Struct(">III")
_STRING = 7
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type; 6 and 7 say theirs themselves."""
_LARGEST_MESSAGE = 16 * 2**20

_LAST = (b"[DONE]", b'"message_stop"', b"event: response.completed", b"event: response.incomplete")
_LAST_BEGINS_BYTES = 256


def is_ended(body: bytes) -> bool:
    """Whether the last event of an SSE body says that it is the last."""
    whole = body.rstrip(b"\r\n")
    start = max(whole.rfind(b"\n\n"), whole.rfind(b"\r\n\r\n"), 0)
    last = whole[start : start + _LAST_BEGINS_BYTES]
    return len(body) > len(whole) and any(word in last for word in _LAST)


def eventstream_events(body: bytes) -> Iterator[dict[str, Any]]:
    """Each message as its type and its content, until one is incomplete or is none.

    Checksums are not looked at. What InvokeModel wraps in base64 comes as if it had been sent bare.
    """
    at = 0
    while at + _PRELUDE.size <= len(body):
        total, header_bytes, _ = _PRELUDE.unpack_from(body, at)
        start = at + _PRELUDE.size
        end = at + total - 4
        if total > _LARGEST_MESSAGE or start + header_bytes > end or at + total > len(body):
            return
        kind = _event_type(body[start : start + header_bytes])
        content = parsed(body[start + header_bytes : end])
        at += total
        if isinstance(content, dict):
            yield _bare(content) or {kind: content}


def _bare(content: dict[str, Any]) -> dict[str, Any] | None:
    inner = content.get("bytes")
    if not isinstance(inner, str):
        return None
    try:
        event = parsed(b64decode(inner))
    except (Base64Error, ValueError):
        return None
    return event if isinstance(event, dict) else None


def _event_type(headers: bytes) -> str:
    at = 0
    while at < len(headers):
        name_end = at + 1 + headers[at]
        name = headers[at + 1 : name_end]
        if name_end >= len(headers):
            break
        kind = headers[name_end]
        at = name_end + 1
        if kind in {6, _STRING}:
            size = int.from_bytes(headers[at : at + 2])
            at += 2
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            break
        if name in {b":event-type", b":exception-type"} and kind == _STRING:
            return headers[at : at + size].decode("ascii", "replace")
        at += size
    return ""
