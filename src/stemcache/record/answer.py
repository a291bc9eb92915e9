"""What of an answer is kept: its id, its usage as reported, the provider's own word on a miss.

```
plain JSON ───────────────► one event ─┐
SSE ──► data of each event ───────────►├─► fold ─► Answer
eventstream ──► each message ─────────►┘
```
Usage is merged in the order in which it came: Anthropic reports the prompt at the beginning and
the output at the end, others all of it in the last event or, as it grows, in each one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stemcache.record.content import ContentFolder
from stemcache.record.events import eventstream_events, sse_data
from stemcache.record.lenient_json import dumped, parsed

__all__ = ["Answer", "fold", "read_events"]

_EVENTSTREAM = "application/vnd.amazon.eventstream"
_SSE = "text/event-stream"
_LARGEST_FIELD_BYTES = 64 * 1024
_LONGEST_NAME = 512
_TELLING = (b'"error"', b"diagnostics", b'"service_tier"', b"usageMetadata", b'"response.')
"""Fields for which an event of a stream is looked into, beside usage that is not null."""


@dataclass(slots=True, kw_only=True)
class Answer:
    """Reduced; a field that was not reported is None."""

    id: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    diagnostics: Any = None
    service_tier: str | None = None
    error: str | None = None
    """Kind of error, where the body is one or the stream broke off with one."""
    content: list[Any] | None = field(default=None, repr=False)

    def as_json(self) -> dict[str, Any]:
        """For the record; what is too large to be what it should be is left out."""
        found: dict[str, Any] = {
            "id": self.id,
            "model": self.model,
            "usage": _small(self.usage),
            "diagnostics": _small(self.diagnostics),
            "service_tier": self.service_tier,
            "content": self.content,
        }
        if self.error is not None:
            found["error"] = self.error
        return found


def read_events(body: bytes, content_type: str, *, every: bool) -> Iterator[Any]:
    """The decoded events of a body, a plain one being one event.

    Unless `every`, events that can only hold text are passed over unread.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == _EVENTSTREAM:
        yield from eventstream_events(body)
    elif kind == _SSE or (not kind and body.lstrip().startswith((b"data:", b"event:"))):
        for number, data in enumerate(sse_data(body)):
            if every or number < 2 or _telling(data):
                yield parsed(data)
    else:
        whole = parsed(body)
        # Gemini streams an array where nobody asks for SSE.
        yield from whole if isinstance(whole, list) else (whole,)


def fold(events: Iterable[Any], *, keep_content: bool) -> Answer:
    """All events as one answer. Anything may be in them."""
    answer = Answer()
    content = ContentFolder() if keep_content else None
    for event in events:
        if not isinstance(event, Mapping):
            continue
        _take(answer, event)
        if content is not None:
            content.add(event)
    if content is not None:
        answer.content = content.blocks()
    return answer


def _telling(data: bytes) -> bool:
    if b'"usage"' in data and b'"usage":null' not in data and b'"usage": null' not in data:
        return True
    return any(word in data for word in _TELLING)


def _take(answer: Answer, event: Mapping[str, Any]) -> None:
    inner = event
    for name in ("message", "response"):
        nested = event.get(name)
        if isinstance(nested, Mapping) and isinstance(event.get("type"), str):
            inner = nested
    answer.id = answer.id or _name(inner, "id", "responseId")
    answer.model = answer.model or _name(inner, "model", "modelVersion")
    for source in (inner, event, inner.get("metadata"), inner.get("x_groq")):
        if isinstance(source, Mapping):
            usage = source.get("usage") or source.get("usageMetadata")
            if isinstance(usage, Mapping):
                reported = {name: value for name, value in usage.items() if value is not None}
                answer.usage = {**(answer.usage or {}), **reported}
                break
    for name in ("diagnostics", "prompt_cache_diagnostics"):
        if inner.get(name) is not None:
            answer.diagnostics = inner[name]
    tier = _name(inner, "service_tier") or _name(answer.usage or {}, "service_tier")
    answer.service_tier = tier or answer.service_tier
    error = inner.get("error")
    if isinstance(error, Mapping):
        answer.error = _name(error, "type", "code", "status") or "error"
    elif event.get("type") == "error":
        answer.error = _name(event, "code") or "error"


def _name(source: Mapping[str, Any], *names: str) -> str | None:
    for name in names:
        value = source.get(name)
        if isinstance(value, str) and value:
            return value[:_LONGEST_NAME]
    return None


def _small(value: Any) -> Any:
    if value is None or len(dumped(value)) > _LARGEST_FIELD_BYTES:
        return None
    return value
