"""One HTTP/1.1 connection that is kept open: a request at a time, moments taken as bytes arrive.

```
        open            send                   answer complete, may be kept
 (new) ──────► idle ───────────► busy ────────────────────────────────────► idle
                 │                │ lost, garbage, too large, timed out
                 └── lost ───► closed ◄──────────────────────────────────────
```
Whoever waits for the answer is a `Sink`, and hears exactly one of `done` and `failed`.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

import httptools

from stemcache.clock import Clock

__all__ = ["Connection", "Sink"]

_HEAD_BYTES = 64 * 1024
"""Status line and headers together, those of interim answers included."""


class Sink(Protocol):
    """**Protocol**: who waits for one answer. Moments are seconds of the connection's clock."""

    def head(self, status: int, content_type: bytes, now_s: float) -> None:
        """The head of the final answer is complete."""
        ...

    def body(self, data: bytes, now_s: float) -> None:
        """A part of the body. May call the connection's `fail`."""
        ...

    def done(self, now_s: float) -> None:
        """The answer is complete as HTTP counts it."""
        ...

    def failed(self, kind: str, detail: str, now_s: float, *, stale: bool) -> None:
        """There will be no more. `stale`: a kept connection was closed before a byte of it."""
        ...


class Connection(asyncio.Protocol):
    """Made by the pool. `on_idle` and `on_closed` tell it what became of the connection."""

    def __init__(
        self,
        clock: Clock,
        *,
        on_idle: Callable[["Connection"], None],
        on_closed: Callable[["Connection"], None],
    ) -> None:
        self._clock = clock
        self._on_idle = on_idle
        self._on_closed = on_closed
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._sink: Sink | None = None
        self._now_s = 0.0
        self._in_head = True
        self._head_bytes = 0
        self._status = 0
        self._content_type = b""
        self._answered = False
        self._uses = 0
        self._complete = False
        self._keep = False
        self._ends_at_eof = True

    @property
    def closed(self) -> bool:
        """Whether it can take no more requests."""
        return self._transport is None or self._transport.is_closing()

    def send(self, parts: list[bytes], sink: Sink) -> None:
        """Write a request. The connection must be idle."""
        assert self._sink is None, "one request at a time on a connection"
        assert self._transport is not None, "a closed connection takes no requests"
        self._sink = sink
        self._uses += 1
        self._in_head, self._head_bytes = True, 0
        self._answered = self._complete = False
        self._transport.writelines(parts)

    def fail(self, kind: str, detail: str) -> None:
        """Give the running request up and close. Does nothing once it has ended."""
        sink, self._sink = self._sink, None
        self.close()
        if sink is not None:
            sink.failed(kind, detail, self._clock.now(), stale=False)

    def close(self) -> None:
        """Close at once, whatever is on the way."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its type

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who waits, unless the end of the connection is the end of the answer."""
        self._transport = None
        sink, self._sink = self._sink, None
        if sink is not None:
            kind = "dropped" if self._answered else "no_answer"
            when = "in the middle of its answer" if self._answered else "before it answered"
            why = f" ({exc})" if exc is not None else ""
            sink.failed(
                kind,
                f"the target closed the connection {when}{why}",
                self._clock.now(),
                stale=self._uses > 1 and not self._answered,
            )
        self._on_closed(self)

    def eof_received(self) -> bool:
        """An answer without a length ends here."""
        if self._sink is not None and self._answered and not self._in_head and self._ends_at_eof:
            self._now_s = self._clock.now()
            self._end(keep=False)
        return False

    def data_received(self, data: bytes) -> None:
        """Parse, with the moment taken before anything else."""
        self._now_s = self._clock.now()
        if self._sink is None:
            self.close()  # nobody asked: what comes next could be taken for another's answer
            return
        self._answered = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError:
            raise  # a mistake of ours, not of the target's
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._keep = False
            if not self._complete:
                self.fail("not_http", f"what the target sent is no HTTP/1.1 answer ({error})"[:200])
        if self._in_head and self._sink is not None:
            self._head_bytes += len(data)
            if self._head_bytes > _HEAD_BYTES:
                self.fail("head_too_large", f"the head is larger than {_HEAD_BYTES} bytes")
        if self._complete and self._sink is not None:
            self._end(keep=self._keep)

    def on_message_begin(self) -> None:
        """A head begins."""
        if self._complete:
            self._keep = False  # two answers to one request
            return
        self._ends_at_eof = True
        self._content_type = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note what says how the body ends and what it is."""
        match name.lower():
            case b"content-type":
                self._content_type = value
            case b"content-length" | b"transfer-encoding":
                self._ends_at_eof = False

    def on_headers_complete(self) -> None:
        """Tell the sink, unless the answer is an interim one."""
        status = self._parser.get_status_code()
        if status < 200 or self._complete:
            return
        self._in_head = False
        if self._sink is not None:
            self._sink.head(status, self._content_type, self._now_s)

    def on_body(self, body: bytes) -> None:
        """Pass it on."""
        if self._sink is not None and not self._complete:
            self._sink.body(body, self._now_s)

    def on_message_complete(self) -> None:
        """The end of the answer; of an interim one there is nothing to do."""
        if self._parser.get_status_code() < 200:
            return
        if self._complete:
            self._keep = False
            return
        self._complete = True
        self._keep = self._parser.should_keep_alive()

    def _end(self, *, keep: bool) -> None:
        self._complete = False
        sink, self._sink = self._sink, None
        if keep and not self.closed:
            self._on_idle(self)
        else:
            self.close()
        if sink is not None:
            sink.done(self._now_s)
