"""HTTP/1.1 on one connection: uvicorn's protocol, with bounds on what a stranger may cost.

Everything here happens before a request has a handler, and so before any key is checked:

```
connection ─► too many? 503 ─► head ─► over 64 KiB? 431 ─► body ─► handler
                                └── not complete after 30 s, or no progress for 30 s: 408
```

A client that offers to go on in another protocol (curl with --http2, Java's HttpClient) is answered
in HTTP/1.1, as the standard has it. While a request runs, those sent behind it are held, and the
connection is still read: a client that leaves is noticed at once.
"""

import asyncio
from http import HTTPStatus
from typing import Any

import httptools
import msgspec
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from stemcache.wire.failure import error_answer

__all__ = ["Protocol"]

_HEAD_BYTES = 64 * 1024
"""Request line and headers together."""

_HELD_BYTES = 64 * 1024
"""Of requests sent ahead; beyond them the connection is not read, and a leaving client not seen."""

_PATIENCE_S = 30.0
"""For the whole of a head, and between two parts of a body."""


class Protocol(HttpToolsProtocol):
    """One connection. Made by uvicorn; `limit_concurrency` is how many there may be."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._most_connections = self.limit_concurrency
        # Uvicorn's own limit, once reached, would refuse those who are connected already.
        self.limit_concurrency = None
        self._running: RequestResponseCycle | None = None
        self._held = bytearray()
        self._head_bytes = 0
        self._in_head = False
        self._refusal: tuple[int, str, str] | None = None
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take the connection, or refuse it where there are too many."""
        super().connection_made(transport)
        limit = self._most_connections
        if limit is not None and len(self.connections) > limit:
            self._refuse(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"{limit} connections are open, and no more are taken; try again later",
                "too_many_connections",
            )
            return
        self._be_patient()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request that runs, not only the last one that came in."""
        self._end_patience()
        self.pipeline.clear()
        self._held.clear()
        running = self._running
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse, unless requests wait already."""
        if self.transport.is_closing():
            return
        if self.pipeline:
            self._held += data
            if len(self._held) > _HELD_BYTES:
                self.flow.pause_reading()
            return
        self._unset_keepalive_if_required()
        in_head = self._in_head
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self._refuse(
                *(self._refusal or (HTTPStatus.BAD_REQUEST, "this is no valid HTTP/1.1", "no_http"))
            )
            return
        # The parser keeps an unfinished line to itself, so what counts here is what came in,
        # but for the part in which the head began: it may hold the end of another request.
        self._head_bytes = self._head_bytes + len(data) if in_head and self._in_head else 0
        if self._head_bytes > _HEAD_BYTES:
            self._refuse(*self._head_too_large())
        elif self.pipeline:
            self.flow.resume_reading()  # or nobody would notice the client leave

    def _parse(self, data: bytes) -> None:
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                if self.scope["method"] == "CONNECT":
                    self._refusal = (
                        HTTPStatus.METHOD_NOT_ALLOWED,
                        "CONNECT is for proxies, and this is none; use GET or POST",
                        "method_not_allowed",
                    )
                    raise httptools.HttpParserError("a tunnel") from None
                data = self._without_upgrade() + data[upgrade.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            else:
                return

    def _without_upgrade(self) -> bytes:
        """The head that has just been parsed, without the offer. The parser reads no body then."""
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
        for name, value in self.headers:
            kept = value
            if name == b"upgrade":
                continue
            if name == b"connection":
                tokens = (token.strip() for token in value.split(b","))
                kept = b", ".join(token for token in tokens if token.lower() != b"upgrade")
            lines.append(b"%b: %b" % (name, kept))
        return b"\r\n".join([*lines, b"", b""])

    def on_message_begin(self) -> None:
        """A head begins, and with it its time."""
        super().on_message_begin()
        self._in_head = True
        self._be_patient()

    def on_headers_complete(self) -> None:
        """Begin the request, unless its head is too large or has to be parsed again."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > _HEAD_BYTES:
            self._refusal = self._head_too_large()
            raise httptools.HttpParserError("the head is too large")
        self.scope["method"] = self.parser.get_method().decode("ascii")
        if self.parser.should_upgrade():
            return
        self._in_head = False
        super().on_headers_complete()
        self._be_patient()

    def on_body(self, body: bytes) -> None:
        """More of it, and so more patience."""
        super().on_body(body)
        self._be_patient()

    def on_message_complete(self) -> None:
        """Nothing is waited for any more."""
        if self.parser.should_upgrade():
            return
        self._end_patience()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with what was sent ahead."""
        super().on_response_complete()
        if self._held and not self.pipeline and not self.transport.is_closing():
            held = bytes(self._held)
            self._held.clear()
            self.data_received(held)

    def abort_running(self) -> None:
        """Cut the connection if a request is still being answered on it."""
        if self._answering():
            self.transport.abort()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _answering(self) -> bool:
        return self._running is not None and not self._running.response_complete

    def _be_patient(self) -> None:
        self._end_patience()
        self._patience = self.loop.call_later(_PATIENCE_S, self._lose_patience)

    def _end_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        if self.pipeline or self.flow.read_paused or (self._in_head and self._answering()):
            self._be_patient()  # it is not the client who is slow
        elif self._in_head or self._answering():
            self._refuse(
                HTTPStatus.REQUEST_TIMEOUT,
                f"the rest of the request did not come within {_PATIENCE_S:g} s; send it again",
                "request_timeout",
            )
        else:
            self.transport.close()

    def _head_too_large(self) -> tuple[int, str, str]:
        return (
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"address and headers are larger than {_HEAD_BYTES} bytes together; send less",
            "headers_too_large",
        )

    def _refuse(self, status: int, message: str, code: str) -> None:
        self._end_patience()
        # Within an answer that has begun, another one would be read as part of it.
        begun = self._running is not None and self._running.response_started
        if not self._answering() or (not begun and self._running is self.cycle):
            body = msgspec.json.encode(error_answer(status, message, code=code))
            self.transport.write(
                b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
                b"connection: close\r\n\r\n%b"
                % (status, HTTPStatus(status).phrase.encode(), len(body), body)
            )
        self.transport.close()
