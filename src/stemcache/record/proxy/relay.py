"""One request and its answer on their way through, and the copy that is recorded.

```
client ── request_body, request_end ──► Relay ──► Upstream ──► provider
client ◄────────── head, body, done ─── Relay ◄── Upstream ◄── provider
                                          └ ended ─► Recorder.submit, once
```
Every part is written on as it comes. Where one side is slower than the other, the other is not
read until it has caught up, so no more than the transports' buffers is held, and the captures.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

from stemcache.clock import Clock
from stemcache.record.exchange import Exchange
from stemcache.record.proxy.target import Place
from stemcache.record.proxy.upstream import Upstream
from stemcache.record.proxy.words import decoded_headers, refusal
from stemcache.record.recorder import Recorder
from stemcache.wire.http_head import RawHeaders, RequestHead, request_bytes, response_bytes
from stemcache.wire.origin import Origin

__all__ = ["ClientSide", "Means", "Relay"]

_PENDING_BYTES = 256 * 1024
"""Of a request that wait for the connection to the provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What all relays of a proxy use."""

    recorder: Recorder
    clock: Clock
    wall: Callable[[], float]
    tls: ssl.SSLContext
    connect_s: float = 15.0


class ClientSide(Protocol):
    """**Protocol**: the client's connection, as a relay needs it."""

    upstream: Upstream | None
    origin: Origin | None

    def write(self, *parts: bytes) -> None:
        """Send to the client."""
        ...

    def read(self, *, on: bool) -> None:
        """Read on, or let the client wait."""
        ...

    def finished(self, *, keep: bool) -> None:
        """The answer is written. `keep`: the connection can take another request."""
        ...

    def upstream_lost(self, upstream: Upstream) -> None:
        """The provider closed a connection on which nothing ran."""
        ...

    @property
    def closing(self) -> bool:
        """Whether the connection is to be closed after this answer."""
        ...


class Relay:
    """One call. Made when the head of the request is complete."""

    def __init__(self, client: ClientSide, head: RequestHead, place: Place, means: Means) -> None:
        self._client = client
        self._head = head
        self._place = place
        self._means = means
        self._upstream: Upstream | None = None
        self._pending = [request_bytes(head, place.target, place.origin.authority)]
        self._pending_bytes = 0
        self._connecting: asyncio.Task[None] | None = None
        self._chunked_answer = False
        self._unreachable: str | None = None
        self._started_s = means.clock.now()
        self._recording = head.method == b"POST"
        recorder = means.recorder
        origin = f"{'https' if place.origin.tls else 'http'}://{place.origin.authority}"
        self._exchange = Exchange(
            time_s=means.wall(),
            method=head.method.decode("ascii"),
            url=origin + place.target.decode("latin-1"),
            headers=decoded_headers(head.headers) if self._recording else (),
            request=recorder.capture(),
            response=recorder.capture(),
        )
        self.request_complete = False
        self.answer_begun = False

    def start(self) -> None:
        """Use the connection that is there, or make one."""
        client = self._client
        kept = client.upstream
        if kept is not None and not kept.closed and client.origin == self._place.origin:
            self._attach(kept)
            return
        if kept is not None:
            client.upstream = None
            kept.abort()
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    def request_body(self, data: bytes) -> None:
        """A part of the request's body."""
        if self._unreachable is None:
            chunked = self._head.chunked
            self._send([b"%x\r\n" % len(data), data, b"\r\n"] if chunked else [data])
        if self._recording:
            self._exchange.request.add(data)

    def request_end(self) -> None:
        """The request is complete."""
        self.request_complete = True
        if self._unreachable is not None:
            self.failed("no_connection", self._unreachable)
        elif self._head.chunked:
            self._send([b"0\r\n\r\n"])

    def client_left(self, reason: str = "client_left") -> None:
        """Stop at once."""
        if self._connecting is not None:
            self._connecting.cancel()
        self._drop_upstream()
        self._record(reason)

    def upstream_full(self, *, full: bool) -> None:
        """Whether the provider is slower than the client for the moment."""
        self._client.read(on=not full)

    def head(
        self, status: int, reason: bytes, headers: RawHeaders, *, sized: bool, keep: bool
    ) -> None:
        """Pass the head on, with the framing that the client knows."""
        self.answer_begun = True
        self._exchange.status = status
        if self._recording:
            self._exchange.response_headers = decoded_headers(headers)
        head = self._head
        self._chunked_answer = not sized and not head.old
        close = (
            not keep
            or not head.keep_alive
            or not self.request_complete
            or self._client.closing
            or (not sized and head.old)
        )
        self._client.write(
            response_bytes(status, reason, headers, chunked=self._chunked_answer, close=close)
        )

    def body(self, data: bytes) -> None:
        """Pass it on; only then keep a copy."""
        if self._chunked_answer:
            self._client.write(b"%x\r\n" % len(data), data, b"\r\n")
        else:
            self._client.write(data)
        if self._recording and self._exchange.response is not None:
            if self._exchange.answered_s is None:
                self._exchange.answered_s = self._now()
            self._exchange.response.add(data)

    def done(self, *, keep: bool) -> None:
        """End the client's answer too."""
        if self._chunked_answer:
            self._client.write(b"0\r\n\r\n")
        if not self.request_complete:
            self._drop_upstream()  # it would take the rest for another request
            keep = False
        self._record(None)
        self._client.finished(keep=keep and self._head.keep_alive)

    def failed(self, kind: str, detail: str) -> None:
        """Say so to the client, or break its answer off where one has begun."""
        self._record(kind)
        if not self.answer_begun:
            message = f"{self._place.origin.url}, which stemcache record relays to, {detail}"
            self._client.write(refusal(HTTPStatus.BAD_GATEWAY, message))
        self._client.finished(keep=False)

    async def _connect(self) -> None:
        origin, means = self._place.origin, self._means
        loop = asyncio.get_running_loop()
        client = self._client
        upstream = Upstream(lambda: client.upstream_lost(upstream))
        try:
            async with asyncio.timeout(means.connect_s):
                await loop.create_connection(
                    lambda: upstream,
                    origin.host,
                    origin.port,
                    ssl=means.tls if origin.tls else None,
                    server_hostname=origin.host if origin.tls else None,
                )
        except TimeoutError:
            self._give_up(f"cannot be reached: no connection within {means.connect_s:g} s")
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", None) or error.reason or "no reason given"
            self._give_up(f"cannot be reached: TLS failed ({reason})")
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self._give_up(f"cannot be reached: {reason}")
        else:
            client.upstream, client.origin = upstream, origin
            self._connecting = None
            self._attach(upstream)

    def _give_up(self, detail: str) -> None:
        self._connecting = None
        if self.request_complete or self._head.expects:
            self.failed("no_connection", detail)
            return
        # Said at the end of the request, which is recorded whole and not cut off for the client.
        self._unreachable = detail
        self._pending = []
        self._client.read(on=True)

    def _attach(self, upstream: Upstream) -> None:
        self._upstream = upstream
        upstream.begin(self, bodiless=self._head.method == b"HEAD")
        if self._head.expects and not self.request_complete:
            self._client.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        pending, self._pending = self._pending, []
        self._client.read(on=True)
        upstream.writelines(pending)

    def _send(self, parts: list[bytes]) -> None:
        if self._upstream is not None:
            self._upstream.writelines(parts)
            return
        self._pending += parts
        self._pending_bytes += sum(map(len, parts))
        if self._pending_bytes > _PENDING_BYTES:
            self._client.read(on=False)

    def _drop_upstream(self) -> None:
        if self._upstream is not None:
            self._upstream.abort()
            self._upstream = None

    def _now(self) -> float:
        return self._exchange.time_s + self._means.clock.now() - self._started_s

    def _record(self, failed: str | None) -> None:
        exchange = self._exchange
        if exchange.ended_s is not None:
            return
        exchange.ended_s = self._now()
        exchange.failed = failed
        if self._recording:
            self._means.recorder.submit(exchange)
