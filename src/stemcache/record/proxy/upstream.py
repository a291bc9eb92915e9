"""The connection to the provider that belongs to one client's connection.

```
         begin               answer complete, may be kept
 idle ───────────► busy ──────────────────────────────────► idle
   │                │ lost, garbage, too large
   └──── lost ───► closed, and the client's connection with it
```
"""

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

import httptools

from stemcache.wire.http_head import RawHeaders

__all__ = ["Sink", "Upstream"]

_HEAD_BYTES = 64 * 1024
"""Status line and headers together, those of interim answers included."""
_NO_BODY = frozenset({204, 304})


class Sink(Protocol):
    """**Protocol**: who waits for an answer. Hears one of `done` and `failed`, last."""

    def head(
        self, status: int, reason: bytes, headers: RawHeaders, *, sized: bool, keep: bool
    ) -> None:
        """The head of the final answer. `sized`: its length is known, or it has no body."""
        ...

    def body(self, data: bytes) -> None:
        """A part of the body."""
        ...

    def done(self, *, keep: bool) -> None:
        """The answer is complete. `keep`: the connection can take another request."""
        ...

    def failed(self, kind: str, detail: str) -> None:
        """There will be no more; the connection is closed."""
        ...

    def upstream_full(self, *, full: bool) -> None:
        """Whether the provider is slower than the client for the moment."""
        ...


class Upstream(asyncio.Protocol):
    """Made by a relay. `on_idle_lost` tells that the provider closed it while nothing ran."""

    def __init__(self, on_idle_lost: Callable[[], None]) -> None:
        self._on_idle_lost = on_idle_lost
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._sink: Sink | None = None
        self._bodiless = False
        self._head_done = self._answered = self._complete = self._keep = False
        self._head_bytes = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._reason = b""
        self._sized = False

    @property
    def closed(self) -> bool:
        """Whether it can take no more requests."""
        return self._transport is None or self._transport.is_closing()

    def begin(self, sink: Sink, *, bodiless: bool) -> None:
        """Expect an answer. `bodiless`: to a HEAD, which has a length but no body."""
        assert self._sink is None, "one request at a time on a connection"
        self._sink = sink
        self._bodiless = bodiless
        self._head_done = self._answered = self._complete = self._keep = False
        self._head_bytes = 0

    def write(self, data: bytes) -> None:
        """Send a part of the request."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def writelines(self, parts: list[bytes]) -> None:
        """Send several at once."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(parts)

    def abort(self) -> None:
        """Close at once and say nothing more to the sink."""
        self._sink = None
        if self._transport is not None:
            self._transport.abort()

    def read(self, *, on: bool) -> None:
        """Read on, or let the provider wait."""
        if self.closed:
            return
        assert self._transport is not None, "it is not closed"
        if on:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its type

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who waits, unless the end of the connection is the end of the answer."""
        self._transport = None
        sink, self._sink = self._sink, None
        if sink is None:
            self._on_idle_lost()
            return
        if self._head_done and not self._sized and not isinstance(exc, ConnectionError):
            # Over TLS the end of a connection may come without a word, and clients take it so.
            sink.done(keep=False)
            return
        kind = "dropped" if self._answered else "no_answer"
        when = "in the middle of its answer" if self._answered else "before it answered"
        why = f" ({exc})" if exc is not None else ""
        sink.failed(kind, f"closed the connection {when}{why}")

    def eof_received(self) -> bool:
        """An answer without a length ends here."""
        if self._sink is not None and self._head_done and not self._sized:
            self._end(keep=False)
        return False

    def pause_writing(self) -> None:
        """The provider is slower than the client."""
        if self._sink is not None:
            self._sink.upstream_full(full=True)

    def resume_writing(self) -> None:
        """It has caught up."""
        if self._sink is not None:
            self._sink.upstream_full(full=False)

    def data_received(self, data: bytes) -> None:
        """Parse."""
        if self._sink is None:
            self._close()  # nobody asked: what comes next could be taken for another's answer
            return
        self._answered = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError:
            raise  # a mistake of ours
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._keep = False
            if not self._complete:
                self._fail("bad_answer", f"sent what is no HTTP/1.1 answer ({error})"[:200])
                return
        if not self._head_done and self._sink is not None:
            self._head_bytes += len(data)
            if self._head_bytes > _HEAD_BYTES:
                self._fail("bad_answer", f"sent a head larger than {_HEAD_BYTES} bytes")
                return
        if self._complete and self._sink is not None:
            self._end(keep=self._keep)

    def on_message_begin(self) -> None:
        """A head begins."""
        if self._complete:
            self._keep = False  # two answers to one request
            return
        self._headers, self._reason = [], b""
        self._sized = False

    def on_status(self, reason: bytes) -> None:
        """The words after the status, maybe a part of them."""
        self._reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep it; what follows the body as a trailer is dropped."""
        if self._head_done:
            return
        self._headers.append((name, value))
        if name.lower() in {b"content-length", b"transfer-encoding"}:
            self._sized = True

    def on_headers_complete(self) -> None:
        """Tell the sink, unless the answer is an interim one."""
        status = self._parser.get_status_code()
        if status < 200 or self._complete or self._sink is None:
            return
        self._head_done = True
        empty = self._bodiless or status in _NO_BODY
        self._sized = self._sized or empty
        chunked = any(name.lower() == b"transfer-encoding" for name, _ in self._headers)
        # After a HEAD the parser waits for a body that does not come.
        keep = self._parser.should_keep_alive() and not self._bodiless
        self._sink.head(
            status,
            self._reason,
            self._headers,
            sized=self._sized and (empty or not chunked),
            keep=keep,
        )
        if self._bodiless:
            self._complete, self._keep = True, False

    def on_body(self, body: bytes) -> None:
        """Pass it on."""
        if self._sink is not None and not self._complete:
            self._sink.body(body)

    def on_message_complete(self) -> None:
        """The end of the answer; of an interim one there is nothing to do."""
        if self._parser.get_status_code() < 200 or self._bodiless:
            return
        if self._complete:
            self._keep = False
            return
        self._complete = True
        self._keep = self._parser.should_keep_alive()

    def _fail(self, kind: str, detail: str) -> None:
        sink, self._sink = self._sink, None
        self._close()
        if sink is not None:
            sink.failed(kind, detail)

    def _end(self, *, keep: bool) -> None:
        sink, self._sink = self._sink, None
        if not keep:
            self._close()
        if sink is not None:
            sink.done(keep=keep)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
