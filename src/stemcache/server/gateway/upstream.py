"""One connection to a replica: a request at a time, kept for the next where it can be.

```
          begin                   answer complete, may be kept
 idle ───────────► busy ──────────────────────────────────────► idle, in its line's pool
   │                │ lost, garbage, too large, abandoned
   └──── lost ───► closed
```
An answer is parsed as it comes; what one read held of its body is handed on in one piece. A read
that is one whole chunk of a stream of events, as most are, goes on as it is where its sink takes it
so: the parser, which stands between two chunks then, need not see it.
"""

import asyncio
from typing import Protocol, cast

import httptools

from stemcache.server.gateway.at_once import write_at_once

__all__ = ["Keeper", "Sink", "Upstream"]

_HEAD_BYTES = 64 * 1024
"""Status line and headers together, those of interim answers included. As much may come between two
parts of a body: sizes of chunks, what is behind them, trailers."""
_NO_BODY = frozenset({204, 304})
_ONE_WRITE_BYTES = 64 * 1024
"""Up to which head and body are joined: one copy is cheaper than two system calls."""


_EVENT_END = b"\n\n\r\n"
"""Of a chunk that ends with a whole event."""
_LONGEST_CHUNK = 16 * 1024
"""That is passed on unparsed."""


class Sink(Protocol):
    """**Protocol**: who waits for an answer. After `complete` or `failed` it hears no more."""

    def head(
        self, status: int, reason: bytes, headers: list[tuple[bytes, bytes]], *, sized: bool
    ) -> None:
        """The head of the final answer. `sized`: its length is known, or it has no body."""
        ...

    def received(self, data: bytes, *, complete: bool) -> None:
        """The next part of the body, maybe empty. `complete`: it is the last."""
        ...

    def chunk(self, data: bytes, size_bytes: int) -> bool:
        """One whole chunk of events, with its framing. False: take it as `received` instead.

        `size_bytes`: of its first line, without the end of it.
        """
        ...

    def failed(self, kind: str, detail: str) -> None:
        """There will be no more; the connection is closed."""
        ...


class Keeper(Protocol):
    """**Protocol**: the pool that a connection belongs to."""

    def give(self, upstream: "Upstream") -> None:
        """It can take another request."""
        ...

    def lost(self, upstream: "Upstream") -> None:
        """It is closed."""
        ...


class Upstream(asyncio.Protocol):
    """Made by a pool."""

    __slots__ = (
        "_answered",
        "_between",
        "_between_bytes",
        "_bodiless",
        "_complete",
        "_head_done",
        "_headers",
        "_interim_bytes",
        "_keep",
        "_keeper",
        "_parser",
        "_parts",
        "_paused",
        "_read_bytes",
        "_reason",
        "_sink",
        "_sized",
        "_too_large",
        "_transport",
        "_unwanted",
        "idle_since_s",
        "reused",
    )

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._sink: Sink | None = None
        self._bodiless = self._head_done = self._answered = self._complete = False
        self._keep = self._sized = self._paused = self._unwanted = False
        self._between = False
        """Whether the parser stands between two chunks; False where that is not known."""
        self._between_bytes = self._read_bytes = self._interim_bytes = 0
        """Read without a part of a body so far; read last; in heads of interim answers."""
        self._too_large = False
        self._headers: list[tuple[bytes, bytes]] = []
        self._reason = b""
        self._parts: list[bytes] = []
        self.reused = False
        """Whether it has answered before: then it may have been closed meanwhile, unseen."""
        self.idle_since_s = 0.0

    @property
    def closed(self) -> bool:
        """Whether it can take no more requests."""
        return self._transport is None or self._transport.is_closing()

    def begin(self, sink: Sink, head: bytes, body: bytes, *, bodiless: bool) -> None:
        """Send a request and expect its answer. `bodiless`: to a HEAD."""
        transport = self._transport
        assert self._sink is None, "one request at a time on a connection"
        assert transport is not None, "it is open"
        self._sink = sink
        self._bodiless = bodiless
        self._head_done = self._answered = self._complete = self._keep = self._between = False
        self._between_bytes = self._interim_bytes = 0
        self._too_large = False
        if len(body) <= _ONE_WRITE_BYTES:
            transport.write(head + body)
        else:
            transport.writelines((head, body))

    def abort(self) -> None:
        """Close at once and say nothing more to the sink. One not yet connected never will be."""
        self._sink = None
        self._unwanted = True
        if self._transport is not None:
            self._transport.abort()

    def abandon(self) -> None:
        """Drop the answer. Within `Sink.head`: the connection is kept if the rest is there."""
        self._sink = None

    def read(self, *, on: bool) -> None:
        """Read on, or let the replica wait."""
        if self._transport is None or self._transport.is_closing() or self._paused != on:
            return
        self._paused = not on
        if on:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its type
        write_at_once(self._transport)
        if self._unwanted:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who waits, unless the end of the connection is the end of the answer."""
        self._transport = None
        self._keeper.lost(self)
        sink, self._sink = self._sink, None
        if sink is None:
            return
        if self._head_done and not self._sized and not isinstance(exc, ConnectionError):
            # Over TLS the end of a connection may come without a word, and clients take it so.
            sink.received(b"", complete=True)
            return
        kind = "dropped" if self._answered else "no-answer"
        when = "in the middle of its answer" if self._answered else "before it answered"
        why = f" ({exc})" if exc is not None else ""
        sink.failed(kind, f"closed the connection {when}{why}")

    def eof_received(self) -> bool:
        """An answer without a length ends here."""
        if self._sink is not None and self._head_done and not self._sized:
            self._end(b"", keep=False)
        return False

    def data_received(self, data: bytes) -> None:
        """Parse, and hand on what there is of a body."""
        sink = self._sink
        if self._between and sink is not None and data.endswith(_EVENT_END):
            cut = data.find(b"\r\n", 1, 8)
            if (
                cut > 0
                and data[:cut].lower() == b"%x" % (len(data) - cut - 4)
                and len(data) <= _LONGEST_CHUNK
                and sink.chunk(data, cut)
            ):
                return
        if sink is None:
            self._close()  # nobody asked: what comes next could be taken for another's answer
            return
        self._answered = True
        self._read_bytes = len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError:
            raise  # a mistake of ours
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._keep = False
            if not self._complete:
                self._fail(f"sent what is no HTTP/1.1 answer ({error})"[:200])
                return
        if self._sink is not sink:
            self._settle_abandoned()
            return
        parts = self._parts
        if not parts:
            self._between_bytes += len(data)
            if self._too_large or (not self._complete and self._between_bytes > _HEAD_BYTES):
                what = "more between parts of its body" if self._head_done else "a head larger"
                self._fail(f"sent {what} than {_HEAD_BYTES} bytes")
                return
            if not self._head_done:
                return
            body = b""
            self._between = False
        else:
            # A chunk that is not complete would have the last of the read in its body.
            self._between = data.endswith(_EVENT_END) and parts[-1].endswith(b"\n\n")
            body = parts[0] if len(parts) == 1 else b"".join(parts)
            parts.clear()
            self._between_bytes = 0
        if self._complete:
            self._end(body, keep=self._keep)
        elif body:
            sink.received(body, complete=False)

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
        if not self._head_done:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Tell the sink, unless the answer is an interim one."""
        status = self._parser.get_status_code()
        if self._complete or self._too_large or self._sink is None:
            return
        if status < 200:
            self._interim_bytes += self._head_size()
            return
        # A head of which all came in few reads may be larger than what came before its end.
        most = _HEAD_BYTES - self._interim_bytes
        if self._between_bytes + self._read_bytes > most and self._head_size() > most:
            self._too_large = True
            return
        self._head_done = True
        empty = self._bodiless or status in _NO_BODY
        sized = chunked = False
        for name, _ in self._headers:
            length = len(name)
            if length == 14 and name.lower() == b"content-length":
                sized = True
            elif length == 17 and name.lower() == b"transfer-encoding":
                chunked = True
        self._sized = sized or chunked or empty
        if self._bodiless:
            # After a HEAD the parser waits for a body that does not come.
            self._complete = True
        headers, self._headers = self._headers, []
        self._sink.head(status, self._reason, headers, sized=empty or (sized and not chunked))

    def on_body(self, body: bytes) -> None:
        """Keep it until all of the read is parsed."""
        if not self._complete and not self._too_large:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        """The end of the answer; of an interim one there is nothing to do."""
        if not self._head_done or self._bodiless:
            return
        if self._complete:
            self._keep = False
            return
        self._complete = True
        self._keep = self._parser.should_keep_alive()

    def _head_size(self) -> int:
        """Of the head that was parsed last, as it would be written."""
        named = sum(len(name) + len(value) + 4 for name, value in self._headers)
        return len(b"HTTP/1.1 200 \r\n\r\n") + len(self._reason) + named

    def _settle_abandoned(self) -> None:
        self._parts.clear()
        if self._complete and self._keep:
            self._give()
        else:
            self._close()

    def _fail(self, detail: str) -> None:
        sink, self._sink = self._sink, None
        self._close()
        if sink is not None:
            sink.failed("bad-answer", detail)

    def _end(self, body: bytes, *, keep: bool) -> None:
        sink, self._sink = self._sink, None
        assert sink is not None, "somebody waits"
        # First, as the sink may go on to a next request, which can use this connection.
        if keep:
            self._give()
        else:
            self._close()
        sink.received(body, complete=True)

    def _give(self) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if transport.get_write_buffer_size():
            transport.abort()  # it has answered before it had read the request
            return
        if self._paused:
            self.read(on=True)
        self.reused = True
        self._keeper.give(self)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
