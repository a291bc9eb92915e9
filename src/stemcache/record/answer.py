"""What of an answer is kept: its id, its usage as reported, the provider's own word on a miss.

```
plain JSON ───────────────────────────────────────► one object ─┐
SSE ──► data of each event ──────────┐                          ├─► reduced
eventstream ──► each message ────────┴─► merged_events ─────────┘
```
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from stemcache.record.events import eventstream_events
from stemcache.record.lenient_json import dumped, parsed
from stemcache.trace.calls.answer import answer_of
from stemcache.trace.calls.stream import merged_events
from stemcache.wire.sse import sse_data

__all__ = ["reduced", "reduced_body"]

_EVENTSTREAM = "application/vnd.amazon.eventstream"
_SSE = "text/event-stream"
_LARGEST_FIELD_BYTES = 64 * 1024
_LONGEST_NAME = 512
_LARGE_BYTES = 8 * 2**20
"""Decoded, a body of nothing but small objects takes twenty times its length."""
_STREAM_HEAD_BYTES = 2**20
_TELLING = (b'"error"', b"diagnostics", b'"service_tier"', b"usageMetadata", b'"response.')
"""Fields for which an event of a stream is looked into, beside usage that is not null."""


def reduced_body(body: bytes, content_type: str, *, content: bool) -> dict[str, Any] | None:
    """The record's `response` for a whole body of any API, None where it cannot be read.

    Unless `content` is asked for, events that can only hold text are passed over unread, so that
    a stream costs a search through its bytes, and of a body over 8 MiB only what can hold usage is
    looked at: the ends of a stream, the named fields of an object.
    """
    large = not content and len(body) > _LARGE_BYTES
    kind = content_type.partition(";")[0].strip().lower()
    if kind == _EVENTSTREAM:
        return reduced(list(eventstream_events(body)), content=content)
    if kind == _SSE or body[:64].lstrip().startswith((b"data:", b"event:")):
        if large:
            body = body[:_STREAM_HEAD_BYTES] + b"\n\n" + body[-_LARGE_BYTES:]
        events = [
            parsed(data)
            for number, data in enumerate(sse_data(body))
            if content or number < 2 or _telling(data)
        ]
        return reduced(events, content=content)
    return reduced(_named(body) if large else parsed(body), content=content)


class _Named(msgspec.Struct):
    """Fields of a whole answer that are kept, of any API."""

    id: Raw = Raw(b"null")
    responseId: Raw = Raw(b"null")  # noqa: N815 - Google's spelling
    model: Raw = Raw(b"null")
    modelVersion: Raw = Raw(b"null")  # noqa: N815 - see above
    usage: Raw = Raw(b"null")
    usageMetadata: Raw = Raw(b"null")  # noqa: N815 - see above
    diagnostics: Raw = Raw(b"null")
    prompt_cache_diagnostics: Raw = Raw(b"null")
    service_tier: Raw = Raw(b"null")
    error: Raw = Raw(b"null")


def _named(body: bytes) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(body, type=_Named)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    raw = {name: bytes(getattr(found, name)) for name in _Named.__struct_fields__}
    return {
        name: parsed(value) for name, value in raw.items() if len(value) <= _LARGEST_FIELD_BYTES
    }


def reduced(answer: Any, *, content: bool) -> dict[str, Any] | None:
    """The record's `response` for a decoded answer, or for the list of its events."""
    whole = merged_events(answer) if isinstance(answer, list) else answer
    if not isinstance(whole, Mapping):
        return None
    found = answer_of(whole)
    error = whole.get("error")
    if found is None and not error:
        return None
    usage = None if found is None else found.usage
    tier = whole.get("service_tier") or (usage or {}).get("service_tier")
    kept: dict[str, Any] = {
        "id": None if found is None else _name(found.id),
        "model": None if found is None else _name(found.model),
        "usage": _small(usage),
        "diagnostics": None if found is None else _small(found.diagnostics),
        "service_tier": _name(tier),
        "content": _blocks(found.content) if content and found is not None else None,
    }
    if error:
        kept["error"] = _kind(error)
    return kept


def _telling(data: bytes) -> bool:
    if b'"usage"' in data and b'"usage":null' not in data and b'"usage": null' not in data:
        return True
    return any(word in data for word in _TELLING)


def _kind(error: Any) -> str:
    names = [error.get(n) for n in ("type", "code", "status")] if isinstance(error, Mapping) else []
    return next((name for name in map(_name, names) if name), "error")


def _name(value: Any) -> str | None:
    return value[:_LONGEST_NAME] if isinstance(value, str) and value else None


def _small(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What is too large to be what it should be is left out."""
    if value is None or len(dumped(value)) > _LARGEST_FIELD_BYTES:
        return None
    return value


def _blocks(content: Sequence[Any] | None) -> list[Any] | None:
    return None if content is None else list(content)
