"""Heads as they leave the gateway: requests to replicas, answers to clients. Pure.

Not passed to a replica, beside what ends at every hop: who the client claims to be forwarded for,
which nobody has verified; a rank, which the gateway chooses; the coding that it would take an
answer to a prompt in, as usage could not be read from it; and, where the gateway has keys of its
own or the replica has one, the client's credential. Spelled with `_` for `-`, as some servers read
them, they are the same.
"""

from collections.abc import Sequence
from http import HTTPStatus

from stemcache.wire.http_head import HOPS, through

__all__ = ["answer_head", "page_bytes", "request_head", "request_id"]

_NEVER = frozenset(
    {
        b"host",
        b"expect",
        b"content-length",
        b"x-request-id",
        b"x-data-parallel-rank",
        b"cf-connecting-ip",
        b"client-ip",
        b"fastly-client-ip",
        b"forwarded",
        b"true-client-ip",
        b"x-client-ip",
        b"x-cluster-client-ip",
        b"x-original-forwarded-for",
        b"x-real-ip",
        b"x-stemcache-hops",
    }
)
_FORWARDED = b"x-forwarded-"
"""How others of them begin."""
_CREDENTIALS = frozenset({b"authorization", b"x-api-key", b"api-key"})
_Ends = tuple[frozenset[bytes], frozenset[bytes]]
"""Names of headers that end here: beside those of every hop, and with them."""


def _ends(*names: frozenset[bytes]) -> _Ends:
    without = frozenset[bytes]().union(*names)
    return without, HOPS | without


_CODING = frozenset({b"accept-encoding"})
_REQUEST: dict[tuple[bool, bool], _Ends] = {
    (False, False): _ends(_NEVER),
    (False, True): _ends(_NEVER, _CODING),
    (True, False): _ends(_NEVER, _CREDENTIALS),
    (True, True): _ends(_NEVER, _CREDENTIALS, _CODING),
}
"""By whether the client's credential ends here, and whether there is a prompt."""
_ANSWER_SIZED = _ends(frozenset({b"x-stemcache-decision"}))
_ANSWER_UNSIZED = _ends(_ANSWER_SIZED[0], frozenset({b"content-length"}))
_LONGEST_ID = 128


def request_head(
    method: bytes,
    target: bytes,
    headers: Sequence[tuple[bytes, bytes]],
    *,
    authority: bytes,
    body_bytes: int | None,
    request_id: bytes,
    credential: bytes | None,
    drop_credentials: bool,
    rank: int | None,
    is_prompt: bool,
    hops: bytes,
) -> bytes:
    """The head as it goes to a replica; O(headers), some 2 µs.

    `body_bytes`: None for a request that had no body. `credential`: the replica's own. `hops`:
    through which gateways it came, this one included.
    """
    lines = [b"%b %b HTTP/1.1\r\nHost: %b" % (method, target, authority)]
    ends = _REQUEST[credential is not None or drop_credentials, is_prompt]
    _keep(lines, _unclaimed(headers, ends[1]), ends)
    if body_bytes is not None:
        lines.append(b"Content-Length: %d" % body_bytes)
    if credential is not None:
        lines.append(b"Authorization: Bearer %b" % credential)
    if rank is not None:
        lines.append(b"X-Data-Parallel-Rank: %d" % rank)
    lines.append(b"X-Stemcache-Hops: %b\r\nX-Request-Id: %b\r\n\r\n" % (hops, request_id))
    return b"\r\n".join(lines)


def answer_head(
    status: int,
    reason: bytes,
    headers: Sequence[tuple[bytes, bytes]],
    *,
    decision: bytes | None,
    sized: bool,
    chunked: bool,
    close: bool,
    request_id: bytes | None = None,
) -> bytes:
    """The head as it goes to the client; O(headers), some 1 µs.

    `request_id`: for an answer that names none itself.
    """
    lines = [b"HTTP/1.1 %d %b" % (status, reason)]
    _keep(lines, headers, _ANSWER_SIZED if sized else _ANSWER_UNSIZED)
    if decision is not None:
        lines.append(b"X-Stemcache-Decision: %b" % decision)
    if request_id is not None:
        for name, _ in headers:
            if len(name) == 12 and name.lower() == b"x-request-id":
                break
        else:
            lines.append(b"X-Request-Id: %b" % request_id)
    if chunked:
        lines.append(b"Transfer-Encoding: chunked")
    lines.append(b"Connection: close\r\n\r\n" if close else b"\r\n")
    return b"\r\n".join(lines)


def _keep(lines: list[bytes], headers: Sequence[tuple[bytes, bytes]], ends: _Ends) -> None:
    """Add those that `through` keeps, in half the time where no header names others."""
    without, all_ends = ends
    first = len(lines)
    for header in headers:
        name = header[0].lower()
        if name not in all_ends:
            lines.append(b": ".join(header))
        elif name == b"connection" and header[1].lower() != b"keep-alive":
            lines[first:] = through(headers, without)
            return


def _unclaimed(
    headers: Sequence[tuple[bytes, bytes]], ends: frozenset[bytes]
) -> Sequence[tuple[bytes, bytes]]:
    """Without those that say whom the request is forwarded for, and what only looks like another.

    The same object where none can be of them; some 1 µs.
    """
    names = b" ".join([name for name, _ in headers])
    if b"_" not in names and _FORWARDED not in names.lower():
        return headers
    return [header for header in headers if not _is_claim(header[0].lower(), ends)]


def _is_claim(name: bytes, ends: frozenset[bytes]) -> bool:
    if b"_" in name:
        name = name.replace(b"_", b"-")
        return name in ends or name.startswith(_FORWARDED)
    return name.startswith(_FORWARDED)


def request_id(given: bytes | None, made: int) -> bytes:
    """The client's own where it is short and printable, else one of 128 random bits."""
    if given is not None and 0 < len(given) <= _LONGEST_ID and given.isascii():
        text = given.decode("ascii")
        if text.isprintable() and " " not in text:
            return given
    return b"%032x" % made


def page_bytes(
    status: int, content_type: str, body: bytes, *, close: bool, bodiless: bool
) -> bytes:
    """A whole answer of the gateway's own. `bodiless`: to a HEAD."""
    return b"HTTP/1.1 %d %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n%b\r\n%b" % (
        status,
        HTTPStatus(status).phrase.encode("ascii"),
        content_type.encode("ascii"),
        len(body),
        b"connection: close\r\n" if close else b"",
        b"" if bodiless else body,
    )
