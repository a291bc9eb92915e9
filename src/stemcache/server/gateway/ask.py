"""Small requests beside the traffic: health, model lists, metrics, the Kubernetes API.

One connection a request, closed after it: a check is to see whether one can be made.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import httptools

from stemcache.wire.origin import Origin

__all__ = ["AskError", "Reply", "Stream", "ask", "open_stream"]

_CHUNK_BYTES = 64 * 1024
_HEAD_BYTES = 64 * 1024
_BODY_BYTES = 8 * 2**20
"""More than any page of metrics or list of endpoints has."""


class AskError(Exception):
    """No answer came, or none that is HTTP. `kind` is a word for logs."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class Reply:
    """A whole answer."""

    __slots__ = ("body", "content_type", "status")

    def __init__(self, status: int, content_type: bytes, body: bytes) -> None:
        self.status = status
        self.content_type = content_type
        self.body = body


class Stream:
    """An answer whose body is read as it comes. Close it in the end, whatever happens."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._headed = self._complete = False
        self._ends_at_eof = True
        self.status = 0
        self.content_type = b""

    async def head(self) -> None:
        """Read until the status is known. Raises AskError."""
        read_bytes = 0
        while not self._headed:
            read_bytes += await self._feed()
            if read_bytes > _HEAD_BYTES + _CHUNK_BYTES:
                raise AskError("head-too-large", f"the head is larger than {_HEAD_BYTES} bytes")

    async def parts(self) -> AsyncIterator[bytes]:
        """The body, as it comes. Raises AskError if it breaks off."""
        while True:
            while self._parts:
                yield self._parts.pop(0)
            if self._complete:
                return
            await self._feed()

    async def close(self) -> None:
        """Drop the connection."""
        self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _feed(self) -> int:
        try:
            data = await self._reader.read(_CHUNK_BYTES)
        except OSError as error:
            raise AskError("dropped", error.strerror or str(error) or "it was reset") from None
        if not data:
            if self._headed and self._ends_at_eof:
                self._complete = True
                return 0
            raise AskError("dropped", "the connection was closed before the answer was complete")
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self._complete:
                raise AskError("not-http", "what was sent is no HTTP/1.1 answer") from None
        return len(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note what says how the body ends and what it is."""
        match name.lower():
            case b"content-type":
                self.content_type = value
            case b"content-length" | b"transfer-encoding":
                self._ends_at_eof = False

    def on_headers_complete(self) -> None:
        """The status, unless it is an interim one."""
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
            self._headed = True

    def on_body(self, body: bytes) -> None:
        """A part of it."""
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """The end, unless of an interim answer."""
        if self._headed:
            self._complete = True


async def open_stream(
    origin: Origin,
    path: str,
    *,
    method: str = "GET",
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
    tls: ssl.SSLContext | None,
    timeout_s: float,
) -> Stream:
    """Send a request and read the head of its answer within the time. Raises AskError."""
    stream: Stream | None = None
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(
                origin.host, origin.port, ssl=tls if origin.tls else None
            )
            stream = Stream(reader, writer)
            writer.write(_request(origin, path, method, headers, body))
            await stream.head()
    except BaseException as error:
        if stream is not None:
            await stream.close()
        match error:
            case TimeoutError():
                raise AskError("timeout", f"no answer within {timeout_s:g} s") from None
            case ConnectionRefusedError():
                raise AskError("refused", "the connection was refused") from None
            case ssl.SSLError():
                reason = getattr(error, "verify_message", None) or error.reason or "no reason given"
                raise AskError("tls", f"TLS failed: {reason}") from None
            case OSError() | UnicodeError():
                detail = getattr(error, "strerror", None) or str(error) or "no reason given"
                raise AskError("unreachable", detail) from None
            case _:
                raise
    return stream


async def ask(
    origin: Origin,
    path: str,
    *,
    method: str = "GET",
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
    tls: ssl.SSLContext | None,
    timeout_s: float,
    most_bytes: int = _BODY_BYTES,
) -> Reply:
    """The whole answer, whatever its status. Raises AskError."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            stream = await open_stream(
                origin,
                path,
                method=method,
                headers=headers,
                body=body,
                tls=tls,
                timeout_s=timeout_s,
            )
            try:
                async for part in stream.parts():
                    size += len(part)
                    if size > most_bytes:
                        raise AskError("too-large", f"the answer has more than {most_bytes} bytes")
                    parts.append(part)
            finally:
                await stream.close()
    except TimeoutError:
        raise AskError("timeout", f"no whole answer within {timeout_s:g} s") from None
    return Reply(stream.status, stream.content_type, b"".join(parts))


def _request(
    origin: Origin, path: str, method: str, headers: Sequence[tuple[str, str]], body: bytes
) -> bytes:
    lines = [
        f"{method} {origin.path}{path} HTTP/1.1",
        f"host: {origin.authority}",
        "user-agent: stemcache-route",
        "accept-encoding: identity",
        "connection: close",
        *(f"{name}: {value}" for name, value in headers),
    ]
    if body or method != "GET":
        lines.append(f"content-length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body
