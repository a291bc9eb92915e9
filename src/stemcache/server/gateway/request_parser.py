"""From a client's bytes to requests read whole, or to the reason why there are no more. Bounded.

```
bytes ─► head ─► over 64 KiB? 431 ─► sound? else 400 ─► body ─► too large? 413, 503 ─► request
                                     as much around its chunks? 431 ┘
```
Strict: what could be read in two ways is refused. Behind a refusal nothing is read.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Protocol

import httptools

from stemcache.server.gateway.gateway import Gateway
from stemcache.server.gateway.refusals import Refusal
from stemcache.server.gateway.request import Request
from stemcache.wire.http_head import without_upgrade

__all__ = ["Listener", "RequestParser"]

_RETRY_AFTER_S = 1
_AROUND_BYTES = 16
"""For each byte of a body in chunks: the smallest chunk has five of its own and one of the body."""


class Listener(Protocol):
    """**Protocol**: who is told of requests, in their order."""

    def head_begun(self) -> None:
        """Its time begins; not said of a head that came in one read."""
        ...

    def expected(self) -> None:
        """A head is complete, and its client waits to be told to go on with the body."""
        ...

    def body_grown(self) -> None:
        """A read brought the end of a head, or more of a body, and not the end of the body."""
        ...

    def complete(self, request: Request) -> None:
        """A request, or what is refused in its place. May call `stop`."""
        ...


class RequestParser:
    """One connection's. Bodies count in the gateway's `buffered_bytes` until they are released."""

    __slots__ = (
        "_around_bytes",
        "_begins",
        "_ends",
        "_gateway",
        "_grows",
        "_head_bytes",
        "_headers",
        "_listener",
        "_parser",
        "_parts",
        "_read_bytes",
        "_target",
        "in_head",
        "request",
        "stopped",
    )

    def __init__(self, gateway: Gateway, listener: Listener) -> None:
        self._gateway = gateway
        self._listener = listener
        self._parser = httptools.HttpRequestParser(self)
        self._parts: list[bytes] = []
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._head_bytes = 0
        """Of a head that is not complete, or of trailers."""
        self._read_bytes = 0
        """That came last."""
        self._around_bytes = 0
        """That came since the head of the request whose body is being read, its body included."""
        self._begins = False
        """Whether the head that is being read began in what came last."""
        self._ends = False
        """Whether a request ended in what came last."""
        self._grows = False
        """Whether what came last is of a body, or the end of a head."""
        self.in_head = False
        self.request: Request | None = None
        """Whose body is being read."""
        self.stopped = False
        """Nothing more is read."""

    @property
    def begun(self) -> bool:
        """Whether a part of a request has come, and not all of it."""
        return self.request is not None or (
            self.in_head and bool(self._head_bytes or self._headers)
        )

    @property
    def body_begun(self) -> bool:
        """Whether a part of a body has come."""
        return bool(self._parts)

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        if self.stopped:
            return
        self._read_bytes = len(data)
        self._begins = self._grows = self._ends = False
        reading = self.request
        try:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                self._parse_on(data, upgrade.args[0])
        except httptools.HttpParserCallbackError:
            raise  # a mistake of ours
        except httptools.HttpParserError:
            message = "this is no valid HTTP/1.1; send a request, in strict syntax"
            self.refuse(HTTPStatus.BAD_REQUEST, message, "bad_request_syntax")
            return
        if self.request is not None and self.request is reading:
            self._around_bytes += len(data)
            self._bound_around(self.request)
        if self._grows and self.request is not None:
            self._listener.body_grown()
        elif self.in_head and not self.stopped:
            if self._begins:
                self._listener.head_begun()
            # Where it began behind another request, only what is parsed of it is known to be its.
            begun_behind = self._begins and self._ends
            self._head_bytes += max(1, self._head_size()) if begun_behind else len(data)
            if self._head_bytes > self._gateway.settings.limits.head_bytes:
                self._refuse_head()

    def stop(self) -> None:
        """Read no more, and keep nothing of what has been read in part."""
        self.stopped = True
        self._parts = []
        request, self.request = self.request, None
        if request is not None:
            self._gateway.release(request)

    def refuse(
        self, status: int, message: str, code: str, *, retry_after_s: int | None = None
    ) -> None:
        """Stop, with a refusal in the place of what is being read."""
        if self.stopped:
            return
        self.stop()
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
        self._listener.complete(refused)

    # --- for httptools ---------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A head begins."""
        if self.stopped:
            return
        self.in_head = True
        self._head_bytes = 0
        self._target = b""
        self._headers = []
        self._begins = True

    def on_url(self, url: bytes) -> None:
        """The target, maybe a part of it."""
        if not self.stopped:
            self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep it; what follows the body as a trailer is counted and dropped."""
        if self.stopped:
            return
        if self.in_head:
            self._headers.append((name, value))
            return
        self._head_bytes += len(name) + len(value) + 4
        if self._head_bytes > self._gateway.settings.limits.head_bytes:
            self._refuse_head("trailers are")

    def on_headers_complete(self) -> None:
        """Go on to the body, unless there is something to refuse."""
        if self.stopped:
            return
        parser, target, headers = self._parser, self._target, self._headers
        method = parser.get_method()
        limits = self._gateway.settings.limits
        if (
            self._head_bytes + self._read_bytes > limits.head_bytes
            and self._head_size() > limits.head_bytes
        ):
            self._refuse_head()
            return
        if parser.should_upgrade() and method != b"CONNECT":
            return  # parsed again, without the offer
        self.in_head = self._begins = False
        self._head_bytes = 0
        fields: dict[bytes, bytes] = {}
        for name, value in headers:
            fields[name.lower()] = value
        version = parser.get_http_version()
        if (
            version != "1.1"
            or target[:1] != b"/"
            or method == b"CONNECT"
            or b"host" not in fields
            or b"transfer-encoding" in fields
            or len(fields) != len(headers)
        ):
            trouble = self._trouble(method, version, fields)
            if trouble is not None:
                message = f"the request has {trouble}; send it in plain HTTP/1.1"
                self.refuse(HTTPStatus.BAD_REQUEST, message, "bad_request_head")
                return
        old = version == "1.0"
        expect = fields.get(b"expect")
        request = Request(
            method,
            target,
            headers,
            fields,
            not old and parser.should_keep_alive(),
            old,
            expect is not None and not old and expect.lower() == b"100-continue",
        )
        # Digits: the parser sees to that.
        length = int(fields.get(b"content-length", b"0"))
        if length > limits.body_bytes:
            self._refuse_body()
        elif length and self._gateway.buffered_bytes + length > limits.buffered_bytes:
            self._refuse_buffers()
        else:
            self.request = request
            self._around_bytes = 0
            self._grows = True
            if request.expects:
                self._listener.expected()

    def on_body(self, body: bytes) -> None:
        """Keep it, within the bounds."""
        request = self.request
        if request is None:
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
            self._grows = True

    def on_message_complete(self) -> None:
        """There it is."""
        self._ends = True
        request = self.request
        if request is None:
            return
        self.request = None
        parts = self._parts
        if parts:
            request.body = parts[0] if len(parts) == 1 else b"".join(parts)
            self._parts = []
        self._listener.complete(request)

    # --- heads -----------------------------------------------------------------------------

    def _parse_on(self, data: bytes, end: int) -> None:
        """Parse the head that ended there again, without its offer, and what came behind it."""
        while not self.stopped:
            method = self._parser.get_method()
            if method == b"CONNECT":
                return
            version = self._parser.get_http_version().encode("ascii")
            data = without_upgrade(method, self._target, version, self._headers) + data[end:]
            self._parser = httptools.HttpRequestParser(self)
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                end = upgrade.args[0]
            else:
                return

    def _trouble(self, method: bytes, version: str, fields: Mapping[bytes, bytes]) -> str | None:
        """What cannot be relayed in a head, if there is anything."""
        coding = fields.get(b"transfer-encoding")
        if version not in {"1.1", "1.0"}:
            return "a version other than HTTP/1.1 and 1.0"
        if method == b"CONNECT" or not self._target.startswith(b"/"):
            return "a target that is no path; this is a gateway to replicas, not a proxy"
        if b"host" not in fields and version == "1.1":
            return "no Host header"
        if len(fields) != len(self._headers) and _hosts(self._headers) > 1:
            return "several Host headers"
        if coding is not None and (coding.strip().lower() != b"chunked" or version == "1.0"):
            return "a transfer coding other than chunked, or one in HTTP/1.0"
        return None

    def _head_size(self) -> int:
        return len(self._target) + sum(len(n) + len(v) + 4 for n, v in self._headers)

    def _bound_around(self, request: Request) -> None:
        """Else sizes of chunks, what is behind them, and a trailer could go on for ever."""
        most = self._gateway.settings.limits.head_bytes
        around_bytes = self._around_bytes - request.held_bytes
        if around_bytes > most + _AROUND_BYTES * request.held_bytes:
            self._refuse_head("what is around the chunks of the body is")

    def _refuse_head(self, what: str = "address and headers are") -> None:
        most = self._gateway.settings.limits.head_bytes
        self.refuse(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"{what} larger than {most} bytes together; send less",
            "head_too_large",
        )

    def _refuse_body(self) -> None:
        most = self._gateway.settings.limits.body_bytes
        self.refuse(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the body is larger than {most} bytes; send less",
            "body_too_large",
        )

    def _refuse_buffers(self) -> None:
        self.refuse(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "too many large requests are in flight; try again later",
            "too_many_bytes",
            retry_after_s=_RETRY_AFTER_S,
        )


def _hosts(headers: Sequence[tuple[bytes, bytes]]) -> int:
    return sum(name.lower() == b"host" for name, _ in headers)
