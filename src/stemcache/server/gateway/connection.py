"""One client's connection: HTTP/1.1, one answer after the other, with bounds on its costs.

```
head ──► too large? 431 ──► body ──► too large? 413 ──► whole ──► local page, refusal or Relay
  └ not complete in time: 408   └ no progress: 408          │
                                                            └ requests sent ahead wait, up to 16
```
A body is read whole before a replica is chosen. Requests sent ahead of the answer to the one
before are answered in their order; behind the sixteenth nothing is read, and the connection is
closed after its answer. An offer to go on in another protocol is not taken up. A client that
closes, or closes only its half, has left: what runs for it is ended at once.
"""

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Sequence
from http import HTTPStatus
from typing import cast

import httptools

from stemcache.server.gateway.gateway import Gateway
from stemcache.server.gateway.heads import page_bytes
from stemcache.server.gateway.intake import Intake, take
from stemcache.server.gateway.refusals import Refusal, refusal_bytes
from stemcache.server.gateway.relay import Relay
from stemcache.server.gateway.request import Request
from stemcache.wire.http_head import without_upgrade

__all__ = ["ClientConnection"]

_KEEP_ALIVE_S = 75.0
"""Without a request."""
_LINGER_S = 1.0
"""How long the rest of a request is read that was answered before its end."""
_MOST_AHEAD = 16
_NEVER = float("inf")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_RETRY_AFTER_S = 1
_MISTAKE = Refusal(
    status=HTTPStatus.INTERNAL_SERVER_ERROR,
    message="the gateway failed on this request; its log says why",
    code="internal_error",
)


class ClientConnection(asyncio.Protocol):
    """Made by the server. Implements `ClientSide` for its relays."""

    __slots__ = (
        "_ahead",
        "_current",
        "_deaf",
        "_gateway",
        "_head_bytes",
        "_headers",
        "_in_head",
        "_parser",
        "_parts",
        "_read_bytes",
        "_relay",
        "_request",
        "_shut",
        "_target",
        "_transport",
        "_waiting",
        "congested",
        "deadline_s",
    )

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._relay: Relay | None = None
        self._current: Request | None = None
        """Whose answer is being written."""
        self._request: Request | None = None
        """Whose body is being read."""
        self._waiting: deque[Request] | None = None
        """Whole, and sent ahead."""
        self._parts: list[bytes] = []
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._head_bytes = 0
        """Of a head that is not complete, or of trailers."""
        self._read_bytes = 0
        """That came last."""
        self._in_head = False
        self._deaf = False
        """Nothing more is read."""
        self._shut = False
        """Closed but for the rest of what the client sends."""
        self.congested = False
        self.deadline_s = _NEVER

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self._current is not None

    @property
    def closing(self) -> bool:
        """Whether the connection is to be closed after this answer."""
        return (self._deaf and not self._waiting) or self._gateway.draining

    # --- the transport ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, or refuse it where there are too many."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its type
        gateway = self._gateway
        gateway.open.add(self)
        gateway.counters.connections += 1
        most = gateway.settings.limits.connections
        if len(gateway.open) > most:
            message = f"{most} connections are open; close some, or try again later"
            self._refuse_now(HTTPStatus.SERVICE_UNAVAILABLE, message, "too_many_connections")
        elif gateway.draining:
            self._close(linger=False)
        else:
            self._wait(gateway.settings.limits.head_s)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # by its name
        """The client has left, or we have closed: nothing of it goes on."""
        self._transport = None
        self._deaf = self._shut = True
        self.deadline_s = _NEVER
        gateway = self._gateway
        relay, self._relay = self._relay, None
        if relay is not None:
            relay.client_left()
        for request in (self._current, self._request, *(self._waiting or ())):
            if request is not None:
                gateway.release(request)
        self._current = self._request = self._waiting = None
        self._parts = []
        gateway.open.discard(self)
        gateway.settled.set()

    def pause_writing(self) -> None:
        """The client is slower than the replica, which has to wait."""
        self.congested = True
        if self._relay is not None:
            self._relay.read(on=False)

    def resume_writing(self) -> None:
        """It has caught up."""
        self.congested = False
        if self._relay is not None:
            self._relay.read(on=True)

    def data_received(self, data: bytes) -> None:
        """Parse."""
        if self._deaf or self._transport is None:
            return
        self._read_bytes = len(data)
        try:
            self._parse(data)
        except httptools.HttpParserCallbackError:
            raise  # a mistake of ours
        except httptools.HttpParserError:
            if not self._deaf:
                message = "this is no valid HTTP/1.1; send a request, in strict syntax"
                self._refuse(HTTPStatus.BAD_REQUEST, message, "bad_request_syntax")
            return
        if self._in_head and not self._deaf:
            self._head_bytes += len(data)
            if self._head_bytes > self._gateway.settings.limits.head_bytes:
                self._refuse_head()

    # --- for relays ------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send to the client."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def finished(self, *, keep: bool) -> None:
        """The answer is written: next, please, or goodbye."""
        self._relay = None
        self._end_current()
        if not keep or self._gateway.draining:
            self._close(linger=self._request is not None)
        elif self._waiting:
            # Not from here: a row of local pages would nest.
            self.deadline_s = _NEVER
            asyncio.get_running_loop().call_soon(self._next)
        elif self._deaf:
            self._close(linger=True)
        else:
            self._rest()

    def cut(self, *, reset: bool) -> None:
        """Close at once: what was written is no whole answer."""
        self._relay = None
        self._end_current()
        self._deaf = self._shut = True
        transport = self._transport
        if transport is None:
            return
        if reset:
            # The end of the connection would be taken for the end of the answer.
            sock = transport.get_extra_info("socket")
            if sock is not None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        else:
            transport.close()

    # --- for the gateway -------------------------------------------------------------------

    def late(self) -> None:
        """Nothing has moved until the deadline."""
        self.deadline_s = _NEVER
        if self._shut:
            self.abort()
        elif self._relay is not None:
            self._relay.late()
        elif self._request is not None or (self._in_head and (self._headers or self._head_bytes)):
            self._refuse(
                HTTPStatus.REQUEST_TIMEOUT,
                "the rest of the request did not come; send it again",
                "request_timeout",
            )
        else:
            self._close(linger=False)

    def drain(self) -> None:
        """Close, unless a request is being read or answered."""
        if self._current is None and self._request is None and not self._waiting:
            self._close(linger=False)

    def abort(self) -> None:
        """Close, whatever is being relayed and not written yet."""
        if self._transport is not None:
            self._transport.abort()

    # --- the parser ------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A head begins, and with it its time."""
        if self._deaf:
            return
        self._in_head = True
        self._head_bytes = 0
        self._target = b""
        self._headers = []
        if self._current is None:
            self._wait(self._gateway.settings.limits.head_s)

    def on_url(self, url: bytes) -> None:
        """The target, maybe a part of it."""
        if not self._deaf:
            self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep it; what follows the body as a trailer is counted and dropped."""
        if self._deaf:
            return
        if self._in_head:
            self._headers.append((name, value))
            return
        self._head_bytes += len(name) + len(value) + 4
        if self._head_bytes > self._gateway.settings.limits.head_bytes:
            self._refuse_head()

    def on_headers_complete(self) -> None:
        """Go on to the body, unless there is something to refuse."""
        if self._deaf:
            return
        method = self._parser.get_method()
        most = self._gateway.settings.limits.head_bytes
        if self._head_bytes + self._read_bytes > most and self._head_size() > most:
            self._refuse_head()
            return
        if self._parser.should_upgrade() and method != b"CONNECT":
            return  # parsed again, without the offer
        self._in_head = False
        self._head_bytes = 0
        request, length = self._new_request(method)
        if request is None:
            return
        limits = self._gateway.settings.limits
        if length > limits.body_bytes:
            self._refuse_body()
            return
        if length and self._gateway.buffered_bytes + length > limits.buffered_bytes:
            self._refuse_buffers()
            return
        self._request = request
        if self._current is None:
            self._wait(limits.body_s)
            if request.expects:
                self.write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        """Keep it, within the bounds."""
        request = self._request
        if request is None or self._deaf:
            return
        gateway = self._gateway
        limits = gateway.settings.limits
        request.held_bytes += len(body)
        gateway.buffered_bytes += len(body)
        if request.held_bytes > limits.body_bytes:
            self._refuse_body()
        elif gateway.buffered_bytes > limits.buffered_bytes:
            self._refuse_buffers()
        else:
            self._parts.append(body)
            if self._current is None:
                self._wait(limits.body_s)

    def on_message_complete(self) -> None:
        """Answer it, or let it wait for its turn."""
        request = self._request
        if request is None or self._deaf or self._parser.should_upgrade():
            return
        self._request = None
        parts = self._parts
        if parts:
            request.body = parts[0] if len(parts) == 1 else b"".join(parts)
            self._parts = []
        self._enqueue(request)

    # --- requests --------------------------------------------------------------------------

    def _parse(self, data: bytes) -> None:
        while not self._deaf:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                method = self._parser.get_method()
                if method == b"CONNECT":
                    return
                version = self._parser.get_http_version().encode("ascii")
                head = without_upgrade(method, self._target, version, self._headers)
                data = head + data[upgrade.args[0] :]
                self._parser = httptools.HttpRequestParser(self)
            else:
                return

    def _new_request(self, method: bytes) -> tuple[Request | None, int]:
        """What the head says, and how long a body it announces; no request where it is refused."""
        version = self._parser.get_http_version()
        headers = self._headers
        fields = {name.lower(): value for name, value in headers}
        coding = fields.get(b"transfer-encoding")
        trouble = None
        if version not in {"1.1", "1.0"}:
            trouble = "a version other than HTTP/1.1 and 1.0"
        elif method == b"CONNECT" or not self._target.startswith(b"/"):
            trouble = "a target that is no path; this is a gateway to replicas, not a proxy"
        elif b"host" not in fields and version == "1.1":
            trouble = "no Host header"
        elif len(fields) != len(headers) and _hosts(headers) > 1:
            trouble = "several Host headers"
        elif coding is not None and (coding.strip().lower() != b"chunked" or version == "1.0"):
            trouble = "a transfer coding other than chunked, or one in HTTP/1.0"
        if trouble is not None:
            message = f"the request has {trouble}; send it in plain HTTP/1.1"
            self._refuse(HTTPStatus.BAD_REQUEST, message, "bad_request_head")
            return None, 0
        request = Request(
            method=method,
            target=self._target,
            headers=headers,
            fields=fields,
            keep_alive=version == "1.1" and self._parser.should_keep_alive(),
            old=version == "1.0",
            expects=version == "1.1" and fields.get(b"expect", b"").lower() == b"100-continue",
        )
        # Digits: the parser sees to that.
        return request, int(fields.get(b"content-length", b"0"))

    def _head_size(self) -> int:
        return len(self._target) + sum(len(n) + len(v) + 4 for n, v in self._headers)

    def _enqueue(self, request: Request) -> None:
        if self._current is None:
            self._answer(request)
            return
        if self._waiting is None:
            self._waiting = deque()
        self._waiting.append(request)
        if len(self._waiting) >= _MOST_AHEAD:
            self._deaf = True

    def _next(self) -> None:
        if self._transport is None or self._transport.is_closing() or self._current is not None:
            return
        if self._waiting:
            self._answer(self._waiting.popleft())

    def _answer(self, request: Request) -> None:
        """Begin to answer; the answer may be complete when this returns."""
        self._current = request
        gateway = self._gateway
        if request.refusal is not None:
            self._write_refusal(request, request.refusal, close=True)
            return
        try:
            taken = take(request, gateway)
        except Exception:
            # A mistake of ours, and no reason to let the client wait.
            gateway.log.exception("request failed")
            taken = _MISTAKE
        if isinstance(taken, Refusal):
            keep = request.keep_alive and not self.closing
            self._write_refusal(request, taken, close=not keep)
        elif isinstance(taken, Intake):
            self._relay = Relay(gateway, self, request, taken)
            self._relay.start()
        else:
            keep = request.keep_alive and not self.closing
            bodiless = request.method == b"HEAD"
            self.write(
                page_bytes(
                    taken.status, taken.content_type, taken.body, close=not keep, bodiless=bodiless
                )
            )
            self.finished(keep=keep)

    def _end_current(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            self._gateway.release(current)

    def _rest(self) -> None:
        """Between two answers."""
        limits = self._gateway.settings.limits
        request = self._request
        if request is not None:
            self._wait(limits.body_s)
            if request.expects and not self._parts:
                self.write(_CONTINUE)
        else:
            self._wait(limits.head_s if self._in_head else _KEEP_ALIVE_S)

    def _wait(self, limit_s: float) -> None:
        self.deadline_s = self._gateway.clock.now() + limit_s

    # --- refusals --------------------------------------------------------------------------

    def _refuse_head(self) -> None:
        most = self._gateway.settings.limits.head_bytes
        self._refuse(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"address and headers are larger than {most} bytes together; send less",
            "head_too_large",
        )

    def _refuse_body(self) -> None:
        most = self._gateway.settings.limits.body_bytes
        self._refuse(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the body is larger than {most} bytes; send less",
            "body_too_large",
        )

    def _refuse_buffers(self) -> None:
        self._refuse(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "too many large requests are in flight; try again later",
            "too_many_bytes",
            retry_after_s=_RETRY_AFTER_S,
        )

    def _refuse(
        self, status: int, message: str, code: str, *, retry_after_s: int | None = None
    ) -> None:
        """Refuse what is being read, in its turn, and read no more."""
        if self._deaf:
            return
        self._deaf = True
        self._parts = []
        request, self._request = self._request, None
        if request is not None:
            self._gateway.release(request)
        refusal = Refusal(status=status, message=message, code=code, retry_after_s=retry_after_s)
        refused = Request(
            method=b"",
            target=self._target,
            headers=(),
            fields={},
            keep_alive=False,
            old=False,
            refusal=refusal,
        )
        self._enqueue(refused)

    def _refuse_now(self, status: int, message: str, code: str) -> None:
        self._refuse(status, message, code, retry_after_s=_RETRY_AFTER_S)

    def _write_refusal(self, request: Request, refusal: Refusal, *, close: bool) -> None:
        self._gateway.counters.refused[refusal.code] += 1
        bodiless = request.method == b"HEAD"
        self.write(refusal_bytes(request.target, refusal, close=close, bodiless=bodiless))
        self._end_current()
        if close:
            self._close(linger=True)
        else:
            self.finished(keep=True)

    def _close(self, *, linger: bool) -> None:
        self._deaf = self._shut = True
        self.deadline_s = _NEVER
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if linger and transport.can_write_eof():
            # To close while the client still sends would reset the connection, answer and all.
            transport.write_eof()
            self._wait(_LINGER_S)
        else:
            transport.close()


def _hosts(headers: Sequence[tuple[bytes, bytes]]) -> int:
    return sum(name.lower() == b"host" for name, _ in headers)
