"""One client's connection: HTTP/1.1, one request after the other, with bounds on its costs.

```
connection ─► head ─► over 64 KiB? 431 ─► routed? else 404 ─► Relay ─► next head, or close
               └── not complete after 30 s, or a body without progress for 120 s: 408
```
A request sent ahead of the answer to the one before it is not read: the connection is closed after
that answer, and the client sends it again, as HTTP has it. An offer to go on in another protocol
is not taken up.
"""

import asyncio
from http import HTTPStatus
from typing import cast

import httptools

from stemcache.record.proxy.relay import Means, Relay
from stemcache.record.proxy.target import Routes
from stemcache.record.proxy.upstream import Upstream
from stemcache.record.proxy.words import refusal
from stemcache.wire.http_head import RequestHead, without_upgrade
from stemcache.wire.origin import Origin

__all__ = ["ClientConnection", "Connections"]

_HEAD_BYTES = 64 * 1024
"""Request line and headers together."""
_HEAD_S = 30.0
_BODY_S = 120.0
_LINGER_S = 1.0
"""How long the rest of a request is read that was answered before its end."""
_MOST_CONNECTIONS = 4096


class Connections:
    """What all clients' connections share: where to go, and who is there."""

    def __init__(self, routes: Routes, means: Means) -> None:
        self.routes = routes
        self.means = means
        self.open: set[ClientConnection] = set()
        self.draining = False
        self.settled = asyncio.Event()
        """Set when a connection has closed."""


class ClientConnection(asyncio.Protocol):
    """Made by the server. Implements `ClientSide` for its relays."""

    def __init__(self, connections: Connections) -> None:
        self._all = connections
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._relay: Relay | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._paused = False
        self._begin_head()
        self._in_head = False
        self._ahead = False
        self._deaf = False
        self._cut = False
        self.upstream: Upstream | None = None
        self.origin: Origin | None = None

    @property
    def busy(self) -> bool:
        """Whether a request is being relayed."""
        return self._relay is not None

    @property
    def closing(self) -> bool:
        """Whether the connection is to be closed after this answer."""
        return self._ahead or self._all.draining

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, or refuse it where there are too many."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its type
        self._all.open.add(self)
        if len(self._all.open) > _MOST_CONNECTIONS:
            message = f"{_MOST_CONNECTIONS} connections are open; close some, or try again later"
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, message)
        else:
            self._wait(_HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # by its name
        """The client has left, or we have closed: nothing of it goes on."""
        self._transport = None
        self._end_wait()
        relay, self._relay = self._relay, None
        if relay is not None:
            relay.client_left("shutdown" if self._cut else "client_left")
        upstream, self.upstream = self.upstream, None
        if upstream is not None:
            upstream.abort()
        self._all.open.discard(self)
        self._all.settled.set()

    def pause_writing(self) -> None:
        """The client is slower than the provider, which has to wait."""
        if self.upstream is not None:
            self.upstream.read(on=False)

    def resume_writing(self) -> None:
        """It has caught up, maybe only when its answer was complete."""
        if self.upstream is not None:
            self.upstream.read(on=True)

    def data_received(self, data: bytes) -> None:
        """Parse, unless what comes is the next request before the answer."""
        if self._deaf or self._ahead or self._transport is None:
            return
        if self._relay is not None and self._relay.request_complete:
            self._ahead = bool(data.strip(b"\r\n"))
            return
        try:
            self._parse(data)
        except httptools.HttpParserCallbackError:
            raise  # a mistake of ours
        except httptools.HttpParserError:
            if not self._deaf:
                self._refuse(HTTPStatus.BAD_REQUEST, "this is no valid HTTP/1.1; send a request")
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > _HEAD_BYTES:
                self._refuse_head()

    def write(self, *parts: bytes) -> None:
        """Send to the client."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(parts)

    def read(self, *, on: bool) -> None:
        """Read on, or let the client wait."""
        if self._transport is None or self._transport.is_closing() or self._paused != on:
            return
        self._paused = not on
        if on:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def finished(self, *, keep: bool) -> None:
        """The answer is written: next, please, or goodbye."""
        relay, self._relay = self._relay, None
        self.read(on=True)
        if keep and not self.closing:
            self._end_wait()
        else:
            self._close(linger=relay is not None and not relay.request_complete)

    def upstream_lost(self, upstream: Upstream) -> None:
        """Close the client's connection too, or it would send a request to nobody."""
        if self.upstream is upstream:
            self.upstream = None
            if self._relay is None and not self._in_head and not self._deaf:
                self._close(linger=False)

    def drain(self) -> None:
        """Close, unless a request is being relayed."""
        if self._relay is None:
            self._close(linger=False)

    def abort(self) -> None:
        """Close, whatever is being relayed and not written yet."""
        self._cut = True
        if self._transport is not None:
            self._transport.abort()

    def on_message_begin(self) -> None:
        """A head begins, and with it its time."""
        if self._relay is not None:
            self._ahead = True
        if self._ahead or self._deaf:
            return
        self._begin_head()
        self._wait(_HEAD_S)

    def on_url(self, url: bytes) -> None:
        """The target, maybe a part of it."""
        if not self._ahead and not self._deaf:
            self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep it; what follows the body as a trailer is dropped."""
        if self._in_head and not self._ahead:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Begin to relay, unless there is something to refuse."""
        if self._ahead or self._deaf:
            return
        method = self._parser.get_method()
        size = len(self._target) + sum(len(n) + len(v) + 4 for n, v in self._headers)
        if size > _HEAD_BYTES:
            self._refuse_head()
            return
        if self._parser.should_upgrade() and method != b"CONNECT":
            return  # parsed again, without the offer
        self._in_head = False
        if method == b"CONNECT" or not self._target.startswith(b"/"):
            message = "this relays to one provider and is no proxy for any; use it as a base URL"
            self._refuse(HTTPStatus.BAD_REQUEST, message)
            return
        place = self._all.routes.place(self._target)
        if place is None:
            message = "no --route is for this path and there is no --target; see stemcache record"
            self._refuse(HTTPStatus.NOT_FOUND, message)
            return
        self._relay = Relay(self, self._request(method), place, self._all.means)
        self._wait(_BODY_S)
        self._relay.start()

    def on_body(self, body: bytes) -> None:
        """Pass it on."""
        if self._relay is not None and not self._ahead:
            self._wait(_BODY_S)
            self._relay.request_body(body)

    def on_message_complete(self) -> None:
        """Nothing is waited for any more."""
        if self._ahead or self._deaf or self._parser.should_upgrade():
            return
        self._end_wait()
        if self._relay is not None:
            self._relay.request_end()

    def _begin_head(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []

    def _request(self, method: bytes) -> RequestHead:
        named = [(name.lower(), value.lower()) for name, value in self._headers]
        return RequestHead(
            method=method,
            target=self._target,
            headers=self._headers,
            chunked=any(name == b"transfer-encoding" for name, _ in named),
            expects=any(name == b"expect" and b"100-continue" in value for name, value in named),
            keep_alive=self._parser.should_keep_alive(),
            old=self._parser.get_http_version() == "1.0",
        )

    def _parse(self, data: bytes) -> None:
        while not self._deaf:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = self._without_upgrade() + data[upgrade.args[0] :]
                self._parser = httptools.HttpRequestParser(self)
            else:
                return

    def _without_upgrade(self) -> bytes:
        """The head that has just been parsed, without the offer. The parser reads no body then."""
        version = self._parser.get_http_version().encode("ascii")
        return without_upgrade(self._parser.get_method(), self._target, version, self._headers)

    def _wait(self, limit_s: float) -> None:
        self._end_wait()
        self._patience = self._loop.call_later(limit_s, self._lose_patience)

    def _end_wait(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose_patience(self) -> None:
        self._patience = None
        if self._paused:
            self._wait(_BODY_S)  # it is not the client who is slow
        elif self._deaf or not (self._in_head or self._relay is not None):
            self.abort()
        else:
            self._refuse(
                HTTPStatus.REQUEST_TIMEOUT, "the rest of the request did not come; send it again"
            )

    def _refuse_head(self) -> None:
        self._refuse(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"address and headers are larger than {_HEAD_BYTES} bytes together; send less",
        )

    def _refuse(self, status: int, message: str) -> None:
        if self._deaf:
            return
        relay, self._relay = self._relay, None
        if relay is not None:
            relay.client_left()
        if relay is None or not relay.answer_begun:
            self.write(refusal(status, message))
        self._close(linger=True)

    def _close(self, *, linger: bool) -> None:
        self._deaf = True
        self._end_wait()
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if linger and transport.can_write_eof():
            # To close while the client still sends would reset the connection, answer and all.
            transport.write_eof()
            self._wait(_LINGER_S)
        else:
            transport.close()
