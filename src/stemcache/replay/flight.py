"""One request under way: hears its answer part by part, and becomes an outcome."""

import asyncio
from array import array
from collections.abc import Callable
from http import HTTPStatus

from stemcache.replay.connection import Connection
from stemcache.replay.events import EventError, Said, error_message
from stemcache.replay.outcome import Outcome, Usage
from stemcache.replay.quote import opening_of, quoted
from stemcache.replay.selection import Planned
from stemcache.wire.sse import SseError, SseEvent, SseParser

__all__ = ["Flight"]

_ERROR_BYTES = 64 * 1024
"""Of an answer that is no stream; enough for any message."""
_DETAIL_CHARS = 300


class Flight:
    """A sink for one answer. Moments are seconds of the clock; `origin_s` is the run's start."""

    def __init__(
        self,
        planned: Planned,
        *,
        due_s: float,
        origin_s: float,
        held: bool,
        reader: Callable[[SseEvent], Said],
        on_end: Callable[["Flight"], None],
        on_stale: Callable[["Flight"], None],
        on_last: Callable[["Flight"], None],
        redact: Callable[[str], str],
    ) -> None:
        self.planned = planned
        self.due_s = due_s
        self.outcome: Outcome | None = None
        """Set when the flight has ended."""
        self.parts: list[bytes] = []
        """The request, kept until the answer begins, in case it has to be sent again."""
        self.timer: asyncio.TimerHandle | None = None
        self.retried = False
        self._origin_s = origin_s
        self._held = held
        self._reader = reader
        self._on_end = on_end
        self._on_stale = on_stale
        self._on_last = on_last
        self._redact = redact
        self._opening: tuple[str, ...] = ()
        self._connection: Connection | None = None
        self._sse: SseParser | None = None
        self._other = bytearray()
        self._content_type = b""
        self._status: int | None = None
        self._sent_s: float | None = None
        self._first_byte_s: float | None = None
        self._first_token_s: float | None = None
        self._last_token_s: float | None = None
        self._finished_s: float | None = None
        self._last_s: float | None = None
        """When the API's own last event came, which is the answer's end."""
        self._gaps_s = array("d")  # a long run has millions
        self._usage = Usage()
        self._odd_usage = False
        self.usage_came = False
        """Whether the target has told any, known or not."""

    def sent(self, connection: Connection, now_s: float) -> None:
        """The request went out on this connection."""
        self._connection = connection
        self._sent_s = now_s

    def cancel(self, kind: str, detail: str, now_s: float) -> None:
        """Give it up, wherever it is. Does nothing once it has ended."""
        if self._connection is not None:
            self._connection.fail(kind, detail)
        if self.outcome is None:
            self._end(now_s, kind, detail)

    def settle(self, now_s: float) -> None:
        """The last event has come, and the response may take no longer to end. It is answered.

        The connection is closed: who would use it again could be given the rest of this response.
        """
        self.cancel("not_ended", "the response went on after its last event", now_s)

    def head(self, status: int, content_type: bytes, now_s: float) -> None:
        """A stream of events, or something else that is kept for its message."""
        self._opening, self.parts = opening_of(self.parts[1:]), []
        self._status, self._first_byte_s = status, now_s
        self._content_type = content_type.partition(b";")[0].strip().lower()
        if status == HTTPStatus.OK and self._content_type == b"text/event-stream":
            self._sse = SseParser()

    def body(self, data: bytes, now_s: float) -> None:
        """Read the events that are complete now."""
        if self._sse is None:
            self._other += data
            if len(self._other) > _ERROR_BYTES:
                self._fail(*self._unlike_a_stream())
            return
        try:
            events = self._sse.feed(data)
        except SseError as error:
            self._fail("event_too_large", str(error))
        else:
            self._hear(events, now_s)

    def done(self, now_s: float) -> None:
        """The body is complete: see whether the answer is."""
        if self._sse is None:
            self._end(now_s, *self._unlike_a_stream())
            return
        self._connection = None  # it may have another request by now
        self._hear(self._sse.finish(), now_s)
        if self.outcome is not None:
            return
        if self._finished_s is None:
            self._end(now_s, "truncated", "the stream ended before the answer was finished")
        else:
            self._end(now_s, None, None)

    def failed(self, kind: str, detail: str, now_s: float, *, stale: bool) -> None:
        """The connection is gone."""
        self._connection = None
        if stale and not self.retried:
            self.retried = True
            self._on_stale(self)
        else:
            self._end(now_s, kind, detail)

    def _hear(self, events: list[SseEvent], now_s: float) -> None:
        for event in events:
            try:
                said = self._reader(event)
            except EventError as error:
                if self._last_s is None:
                    self._fail("bad_event", str(error), now_s)
                return
            if said.error is not None and self._last_s is None:
                self._fail("stream_error", self._quoted(said.error), now_s)
                return
            if said.text and self._last_s is None:
                if self._first_token_s is None:
                    self._first_token_s = now_s
                elif self._last_token_s is not None:
                    self._gaps_s.append(now_s - self._last_token_s)
                self._last_token_s = now_s
            if said.finished and self._finished_s is None:
                self._finished_s = now_s
            if said.usage is not None:
                self._usage = self._usage.merged(said.usage)
                self._odd_usage = self._odd_usage or said.odd_usage or self._usage.impossible
                self.usage_came = True
            if said.last and self._last_s is None:
                self._last_s = now_s
                self._on_last(self)
            elif said.usage is not None and self._last_s is not None:
                self._on_last(self)

    def _unlike_a_stream(self) -> tuple[str, str]:
        status = self._status or 0
        message = self._quoted(error_message(bytes(self._other)))
        if status == HTTPStatus.OK:
            kind = self._content_type.decode(errors="replace") or "no content type"
            return "not_a_stream", f"the answer is {kind}, not text/event-stream: {message}"
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            return f"http_{status}", "the target redirects, which is not followed: name the new URL"
        return f"http_{status}", message or "no message"

    def _quoted(self, message: str) -> str:
        return quoted(message, self._redact, self._opening)

    def _fail(self, kind: str, detail: str, now_s: float | None = None) -> None:
        if self._connection is not None:
            self._connection.fail(kind, detail)
        elif self.outcome is None and now_s is not None:
            self._end(now_s, kind, detail)

    def _since(self, moment_s: float | None) -> float | None:
        return None if moment_s is None else moment_s - self._origin_s

    def _end(self, now_s: float, kind: str | None, detail: str | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self._last_s is not None:
            # The answer is whole, whatever becomes of the connection after it.
            now_s, kind, detail = self._last_s, None, None
        self.outcome = Outcome(
            number=self.planned.number,
            tenant=self.planned.request.tenant,
            session=self.planned.request.session,
            asked_tokens=self.planned.request.prompt_tokens,
            due_s=self.due_s - self._origin_s,
            sent_s=self._since(self._sent_s),
            first_byte_s=self._since(self._first_byte_s),
            first_token_s=self._since(self._first_token_s),
            last_token_s=self._since(self._last_token_s),
            end_s=now_s - self._origin_s,
            gaps_s=self._gaps_s,
            status=self._status,
            error=kind,
            detail=None if detail is None else self._redact(detail)[:_DETAIL_CHARS],
            usage=Usage(output_tokens=self._usage.output_tokens)
            if self._odd_usage
            else self._usage,
            odd_usage=self._odd_usage,
            retried=self.retried,
            held=self._held,
        )
        self._on_end(self)
