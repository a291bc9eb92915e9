"""One answer on its way to the client: its head, its framing, its usage. Pure.

```
replica         client
length          the same length
chunks, or      ┌ HTTP/1.1: chunks, one for what each read brought
to the end      └ HTTP/1.0: to the end of the connection
events          whole ones only; usage that the gateway asked for is taken out
```
"""

from collections.abc import Sequence

import msgspec

from stemcache.gateway.usage import AnswerUsage
from stemcache.server.gateway.event_stream import EventStream
from stemcache.server.gateway.heads import answer_head
from stemcache.server.gateway.intake import Intake
from stemcache.server.gateway.refusals import LOST, Refusal, stream_error
from stemcache.server.gateway.request import Request
from stemcache.server.gateway.usage_reader import JsonUsage
from stemcache.wire.api import Api
from stemcache.wire.sse import SseError, sse_data

__all__ = ["ERRORS", "Answer"]


class _Made(msgspec.Struct):
    id: str


class _Created(msgspec.Struct):
    response: _Made


_CREATED = msgspec.json.Decoder(_Created)
ERRORS = 400
"""Statuses from here on are no answer to a prompt."""


class Answer:
    """Made when the head has come; nothing of it is written before the body begins."""

    __slots__ = (
        "_chunked",
        "_events",
        "_headers",
        "_json",
        "_names_itself",
        "_reason",
        "_request",
        "_sized",
        "has_content",
        "keep",
        "response",
        "status",
    )

    def __init__(
        self,
        request: Request,
        intake: Intake,
        status: int,
        reason: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        *,
        sized: bool,
        closing: bool,
    ) -> None:
        self._request = request
        self._headers: Sequence[tuple[bytes, bytes]] | None = headers
        self._reason = reason
        self._events: EventStream | None = None
        self._json: JsonUsage | None = None
        self.status = status
        self.response: str | None = None
        """Its id, as soon as it is known, where others can refer to it."""
        self._names_itself = False
        self.has_content = False
        """Whether something other than comments has been passed on."""
        if intake.prompt.api is not None and status < ERRORS:
            kind = _plain_kind(headers)
            if kind.startswith(b"text/event-stream"):
                self._events = EventStream(strip_usage=intake.strip_usage)
                sized = sized and not intake.strip_usage
            elif kind.startswith(b"application/json"):
                self._json = JsonUsage()
            self._names_itself = intake.prompt.api is Api.RESPONSES
        self._sized = sized
        self._chunked = not sized and not request.old
        self.keep = request.keep_alive and not closing
        """Whether the client's connection can be used again."""

    def part(
        self,
        data: bytes,
        *,
        complete: bool,
        decision: bytes | None,
        request_id: bytes | None = None,
    ) -> bytes:
        """What to write for the next part of the body: with the first, the head too.

        Empty where nothing is to be written yet. `decision` and `request_id`: for the head.
        """
        if self._json is not None and data:
            self._json.add(data)
        elif self._events is not None:
            data = self._events.feed(data)
            if complete:
                data += self._events.finish()
            if self._names_itself and data and not _is_comment(data):
                self._names_itself = False
                self.response = _response_of(data)
        head = b""
        if self._headers is not None:
            if not data and not complete:
                return b""  # of an event, not whole yet
            head = answer_head(
                self.status,
                self._reason,
                self._headers,
                decision=decision,
                sized=self._sized,
                chunked=self._chunked,
                close=not self.keep,
                request_id=request_id,
            )
            self._headers = None
        if data and not self.has_content:
            self.has_content = self._events is None or not _is_comment(data)
        if not self._chunked:
            return head + data if head else data
        end = b"0\r\n\r\n" if complete else b""
        return b"%b%x\r\n%b\r\n%b" % (head, len(data), data, end) if data else head + end

    def chunk(self, data: bytes, size_bytes: int) -> bytes | None:
        """What to write for one whole chunk behind the first; None: `part` has to see it.

        `size_bytes`: as `Sink.chunk` has it. About half a microsecond.
        """
        events = self._events
        if events is None or not self._chunked or not self.has_content:
            return None
        return events.chunk(data, size_bytes)

    def broken_off(self, why: Refusal = LOST) -> bytes | None:
        """What to write when there will be no more; None: the connection has to be cut."""
        events = self._events
        if events is None or self._sized or not events.between_events:
            return None
        out = b"" if events.finished else stream_error(self._request.target, why)
        if not self._chunked:
            return out
        return (b"%x\r\n%b\r\n" % (len(out), out) if out else b"") + b"0\r\n\r\n"

    def usage(self) -> AnswerUsage | None:
        """What it has said, once it is complete."""
        if self._events is not None:
            return self._events.usage()
        if self._json is None:
            return None
        usage = self._json.finish()
        if self._names_itself:
            self.response = self._json.answer_id
        return usage


def _plain_kind(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The content type; empty where there is a coding around it."""
    kind = b""
    for name, value in headers:
        length = len(name)
        if length == 12 and name.lower() == b"content-type":
            kind = value.lower()
        elif length == 16 and name.lower() == b"content-encoding" and value.lower() != b"identity":
            return b""
    return kind


def _response_of(events: bytes) -> str | None:
    """The id of the response whose stream begins so."""
    try:
        for event in events.replace(b"\r\n", b"\n").split(b"\n\n"):
            data = b"\n".join(sse_data(event + b"\n\n"))
            if data:  # and not a comment
                return _CREATED.decode(data).response.id
    except (SseError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return None


def _is_comment(data: bytes) -> bool:
    return data.startswith(b":") and b"data:" not in data
