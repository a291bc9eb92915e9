"""Heads of HTTP/1.1 requests and answers on their way through: what is kept, what ends here. Pure.

Kept in their order and spelling, all but those of the connection itself: `Connection` and what it
names, the framing, `Host` of a request, and `Expect`, which whoever is in between answers.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

__all__ = [
    "HOPS",
    "RawHeaders",
    "RequestHead",
    "request_bytes",
    "response_bytes",
    "through",
    "without_upgrade",
]

RawHeaders = Sequence[tuple[bytes, bytes]]

HOPS = frozenset(
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
"""Headers of the connection itself, in lower case, beside those that `Connection` names."""


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
    """The head as it goes to the server behind."""
    lines = [b"%b %b HTTP/1.1" % (head.method, target), b"Host: %b" % authority.encode("ascii")]
    lines += through(head.headers, {b"host", b"expect"})
    if head.chunked:
        lines.append(b"Transfer-Encoding: %b" % _codings(head.headers))
    return b"\r\n".join([*lines, b"", b""])


def response_bytes(
    status: int, reason: bytes, headers: RawHeaders, *, chunked: bool, close: bool
) -> bytes:
    """The head as it goes to the client."""
    lines = [b"HTTP/1.1 %d %b" % (status, reason)]
    lines += through(headers, {b"content-length"} if chunked else set())
    if chunked:
        lines.append(b"Transfer-Encoding: %b" % _codings(headers))
    if close:
        lines.append(b"Connection: close")
    return b"\r\n".join([*lines, b"", b""])


def through(headers: RawHeaders, without: Collection[bytes] = ()) -> list[bytes]:
    """The lines of those that do not end here, nor are in `without` (names in lower case)."""
    ends = HOPS
    for name, value in headers:
        if len(name) == 10 and name.lower() == b"connection":
            named = {token.strip().lower() for token in value.split(b",")}
            ends = ends | named
    if without:
        ends = ends.union(without)
    join = b": ".join
    return [join(header) for header in headers if header[0].lower() not in ends]


def without_upgrade(method: bytes, target: bytes, version: bytes, headers: RawHeaders) -> bytes:
    """A request's head again, without the offer to go on in another protocol.

    httptools reads no body behind such an offer, so that the head is parsed anew without it.
    """
    lines = [b"%b %b HTTP/%b" % (method, target, version)]
    for name, value in headers:
        lower = name.lower()
        if lower == b"upgrade":
            continue
        kept = value
        if lower == b"connection":
            tokens = (token.strip() for token in value.split(b","))
            kept = b", ".join(token for token in tokens if token.lower() != b"upgrade")
        lines.append(b"%b: %b" % (name, kept))
    return b"\r\n".join([*lines, b"", b""])


def _codings(headers: RawHeaders) -> bytes:
    """As they came, for the body is not taken out of those before the chunks."""
    found = [value for name, value in headers if name.lower() == b"transfer-encoding"]
    return b", ".join(found) or b"chunked"
