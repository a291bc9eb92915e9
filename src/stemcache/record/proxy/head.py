"""Heads of requests and answers on their way through: what is kept, what ends here. Pure.

Kept in their order and spelling, all but those of the connection itself: `Connection` and what it
names, the framing, `Host` of a request, and `Expect`, which the proxy answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from stemcache.record.exchange import Headers

__all__ = [
    "RawHeaders",
    "RequestHead",
    "decoded_headers",
    "refusal",
    "request_bytes",
    "response_bytes",
]

RawHeaders = Sequence[tuple[bytes, bytes]]

_HOPS = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request's head as the client sent it."""

    method: bytes
    target: bytes
    headers: RawHeaders
    chunked: bool
    expects: bool
    """Whether the client waits for a 100 before it sends the body."""
    keep_alive: bool
    old: bool
    """HTTP/1.0, which knows no chunks."""


def request_bytes(head: RequestHead, target: bytes, authority: str) -> bytes:
    """The head as it goes to the provider."""
    lines = [b"%b %b HTTP/1.1" % (head.method, target), b"Host: %b" % authority.encode("ascii")]
    lines += _through(head.headers, {b"host", b"expect"})
    if head.chunked:
        lines.append(b"Transfer-Encoding: %b" % _codings(head.headers))
    return b"\r\n".join([*lines, b"", b""])


def response_bytes(
    status: int, reason: bytes, headers: RawHeaders, *, chunked: bool, close: bool
) -> bytes:
    """The head as it goes to the client."""
    lines = [b"HTTP/1.1 %d %b" % (status, reason)]
    lines += _through(headers, {b"content-length"} if chunked else set())
    if chunked:
        lines.append(b"Transfer-Encoding: %b" % _codings(headers))
    if close:
        lines.append(b"Connection: close")
    return b"\r\n".join([*lines, b"", b""])


def refusal(status: int, message: str, *, close: bool = True) -> bytes:
    """An answer of the proxy's own, in a shape that OpenAI's and Anthropic's clients read."""
    error = {"type": "stemcache_record", "code": "stemcache_record", "message": message}
    body = msgspec.json.encode({"type": "error", "error": error})
    return b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%b\r\n%b" % (
        status,
        HTTPStatus(status).phrase.encode("ascii"),
        len(body),
        b"connection: close\r\n" if close else b"",
        body,
    )


def decoded_headers(headers: RawHeaders) -> Headers:
    """For the record: names in lower case, any byte a character."""
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers]


def _codings(headers: RawHeaders) -> bytes:
    """As they came, for the body is not taken out of those before the chunks."""
    found = [value for name, value in headers if name.lower() == b"transfer-encoding"]
    return b", ".join(found) or b"chunked"


def _through(headers: RawHeaders, without: set[bytes]) -> list[bytes]:
    named = {
        token.strip().lower()
        for name, value in headers
        if name.lower() == b"connection"
        for token in value.split(b",")
    }
    ends = _HOPS | named | without
    return [b"%b: %b" % (name, value) for name, value in headers if name.lower() not in ends]
