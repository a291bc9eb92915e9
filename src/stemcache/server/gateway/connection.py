"""One client's connection: HTTP/1.1, one answer after the other, with bounds on its costs.

```
bytes ─► RequestParser ─► request ─► its turn ─► local page, refusal or Relay ─► answer
  └ head not complete, or no progress of the body, in time: 408
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
from functools import partial
from http import HTTPStatus
from typing import cast

from stemcache.server.gateway.at_once import write_at_once
from stemcache.server.gateway.gateway import Gateway
from stemcache.server.gateway.heads import page_bytes
from stemcache.server.gateway.intake import Intake, Unread, take
from stemcache.server.gateway.refusals import STOPPING, Refusal, refusal_bytes
from stemcache.server.gateway.relay import Relay
from stemcache.server.gateway.request import Request
from stemcache.server.gateway.request_parser import RequestParser

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
    """Made by the server. Implements `Listener` for its parser, `ClientSide` for its relays."""

    __slots__ = (
        "_current",
        "_gateway",
        "_parser",
        "_reading",
        "_relay",
        "_shut",
        "_transport",
        "_waiting",
        "congested",
        "deadline_s",
    )

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._transport: asyncio.Transport | None = None
        self._parser = RequestParser(gateway, self)
        self._relay: Relay | None = None
        self._reading: asyncio.Future[Intake] | None = None
        self._current: Request | None = None
        """Whose answer is being written."""
        self._waiting: deque[Request] | None = None
        """Whole, and sent ahead."""
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
        return (self._parser.stopped and not self._waiting) or self._gateway.draining

    # --- the transport ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, or refuse it where there are too many."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by its type
        write_at_once(self._transport)
        gateway = self._gateway
        gateway.open.add(self)
        gateway.counters.connections += 1
        most = gateway.settings.limits.connections
        if len(gateway.open) > most:
            self._parser.refuse(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"{most} connections are open; close some, or try again later",
                "too_many_connections",
                retry_after_s=_RETRY_AFTER_S,
            )
        elif gateway.draining:
            self._close(linger=False)
        else:
            self._wait(gateway.settings.limits.head_s)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # by its name
        """The client has left, or we have closed: nothing of it goes on."""
        self._transport = None
        self._shut = True
        self.deadline_s = _NEVER
        self._parser.stop()
        gateway = self._gateway
        relay, self._relay = self._relay, None
        if relay is not None:
            relay.client_left()
        self._end_current()
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
        for request in self._waiting or ():
            gateway.release(request)
        self._waiting = None
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
        """Parse; the parser is stopped where the connection is lost."""
        self._parser.feed(data)

    # --- for relays ------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send to the client."""
        transport = self._transport
        if transport is not None and not transport.is_closing():
            transport.write(data)

    def finished(self, *, keep: bool) -> None:
        """The answer is written: next, please, or goodbye."""
        gateway, parser = self._gateway, self._parser
        self._relay = None
        current, self._current = self._current, None
        if current is not None:
            gateway.release(current)
        if not keep or gateway.draining:
            self._close(linger=parser.begun)
        elif self._waiting:
            # Not from here: a row of local pages would nest.
            self.deadline_s = _NEVER
            asyncio.get_running_loop().call_soon(self._next)
        elif parser.stopped:
            self._close(linger=True)
        else:
            self._rest()

    def cut(self, *, reset: bool) -> None:
        """Close at once: what was written is no whole answer."""
        self._relay = None
        self._end_current()
        self._parser.stop()
        self._shut = True
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
        elif self._parser.begun:
            self._parser.refuse(
                HTTPStatus.REQUEST_TIMEOUT,
                "the rest of the request did not come; send it again",
                "request_timeout",
            )
        else:
            self._close(linger=False)

    def drain(self) -> None:
        """Close, unless a request is being read or answered."""
        if self._current is None and self._parser.request is None and not self._waiting:
            self._close(linger=False)

    def cut_off(self) -> None:
        """Close, with a word to a client whose answer is not whole, where it can be told."""
        if self._relay is not None:
            self._relay.cut_off(STOPPING)
        elif self._reading is not None and self._current is not None:
            self._reading.cancel()
            self._reading = None
            self._write_refusal(self._current, STOPPING, close=True)
        else:
            self._close(linger=False)

    def abort(self) -> None:
        """Close, whatever is being relayed and not written yet."""
        if self._transport is not None:
            self._transport.abort()

    # --- for the parser --------------------------------------------------------------------

    def head_begun(self) -> None:
        """Give it its time, unless an answer is being waited for."""
        if self._current is None:
            self._wait(self._gateway.settings.limits.head_s)

    def expected(self) -> None:
        """Give who waits for it a go-ahead."""
        if self._current is None:
            self.write(_CONTINUE)

    def body_grown(self) -> None:
        """Give the rest its time."""
        if self._current is None:
            self._wait(self._gateway.settings.limits.body_s)

    def complete(self, request: Request) -> None:
        """Answer it, or let it wait for its turn."""
        if self._current is None:
            self._answer(request)
            return
        if self._waiting is None:
            self._waiting = deque()
        self._waiting.append(request)
        if len(self._waiting) >= _MOST_AHEAD:
            self._parser.stop()

    # --- requests --------------------------------------------------------------------------

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
            if isinstance(taken, Intake):
                self._send(request, taken)
                return
            if isinstance(taken, Unread):
                self._read_aside(request, taken)
                return
        except Exception:
            gateway.log.exception("request failed")
            if not self._mistaken(request):
                return
            taken = _MISTAKE
        keep = request.keep_alive and not self.closing
        if isinstance(taken, Refusal):
            self._write_refusal(request, taken, close=not keep)
            return
        bodiless = request.method == b"HEAD"
        self.write(
            page_bytes(
                taken.status, taken.content_type, taken.body, close=not keep, bodiless=bodiless
            )
        )
        self.finished(keep=keep)

    def _send(self, request: Request, intake: Intake) -> None:
        relay = self._relay = Relay(self._gateway, self, request, intake)
        relay.start()

    def _mistaken(self, request: Request) -> bool:
        """Whether the client waits, and is to be told of a mistake of ours."""
        relay, self._relay = self._relay, None
        if relay is not None:
            relay.stop("mistake")
        return self._current is request

    def _read_aside(self, request: Request, unread: Unread) -> None:
        """Read it in a thread; a client that leaves is not read for."""
        self.deadline_s = _NEVER
        gateway = self._gateway
        gateway.in_flight += 1
        loop = asyncio.get_running_loop()
        self._reading = loop.run_in_executor(gateway.readers, unread.read)
        self._reading.add_done_callback(partial(self._was_read, request))

    def _was_read(self, request: Request, reading: "asyncio.Future[Intake]") -> None:
        gateway = self._gateway
        gateway.in_flight -= 1
        if self._reading is reading:
            self._reading = None
        left = self._current is not request
        if left or reading.cancelled():
            if not left:
                self.cut(reset=False)  # the gateway ends
            elif not reading.cancelled():
                reading.exception()
            return
        try:
            self._send(request, reading.result())
        except Exception:
            gateway.log.exception("request failed")
            if self._mistaken(request):
                keep = request.keep_alive and not self.closing
                self._write_refusal(request, _MISTAKE, close=not keep)

    def _end_current(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            self._gateway.release(current)

    def _rest(self) -> None:
        """Between two answers."""
        parser = self._parser
        request = parser.request
        if request is not None:
            self._wait(self._gateway.settings.limits.body_s)
            if request.expects and not parser.body_begun:
                self.write(_CONTINUE)
        elif parser.in_head:
            self._wait(self._gateway.settings.limits.head_s)
        else:
            self.deadline_s = self._gateway.clock.now() + _KEEP_ALIVE_S

    def _wait(self, limit_s: float) -> None:
        self.deadline_s = self._gateway.clock.now() + limit_s

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
        self._parser.stop()
        self._shut = True
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
