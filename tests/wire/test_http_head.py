"""Heads on their way through."""

from stemcache.wire.http_head import (
    RequestHead,
    request_bytes,
    response_bytes,
    through,
    without_upgrade,
)


def head(*headers: tuple[bytes, bytes], chunked: bool = False) -> RequestHead:
    """Of a POST."""
    return RequestHead(
        method=b"POST",
        target=b"/v1",
        headers=headers,
        chunked=chunked,
        expects=False,
        keep_alive=True,
        old=False,
    )


def test_codings_before_the_chunks_are_kept() -> None:
    """The body is not taken out of them."""
    headers = (b"Transfer-Encoding", b"gzip, chunked")
    assert request_bytes(head(headers, chunked=True), b"/x", "h") == (
        b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
    )
    assert response_bytes(200, b"OK", [headers], chunked=True, close=False) == (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
    )


def test_headers_named_by_connection_end_here() -> None:
    """And those that are always the connection's."""
    headers = [
        (b"Connection", b"close, X-One"),
        (b"connection", b"x-two"),
        (b"x-one", b"1"),
        (b"X-TWO", b"2"),
        (b"Keep-Alive", b"5"),
        (b"Upgrade", b"h2c"),
        (b"Trailer", b"x"),
        (b"X-Three", b"3"),
    ]
    assert response_bytes(204, b"", headers, chunked=False, close=True) == (
        b"HTTP/1.1 204 \r\nX-Three: 3\r\nConnection: close\r\n\r\n"
    )


def test_a_length_gives_way_to_chunks() -> None:
    """There is one framing."""
    data = response_bytes(200, b"OK", [(b"Content-Length", b"5")], chunked=True, close=False)
    assert data == b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_only_what_is_asked_for_is_left_out() -> None:
    """Names are compared without regard to case, values are not looked at."""
    headers = [(b"A", b"1"), (b"b", b"2"), (b"C", b"connection")]
    assert through(headers, {b"b"}) == [b"A: 1", b"C: connection"]


def test_an_offer_of_another_protocol_is_taken_out() -> None:
    """The rest of the head stays as it was."""
    headers = [
        (b"Connection", b"Upgrade, close"),
        (b"Upgrade", b"h2c"),
        (b"Content-Length", b"3"),
    ]
    assert without_upgrade(b"POST", b"/x", b"1.1", headers) == (
        b"POST /x HTTP/1.1\r\nConnection: close\r\nContent-Length: 3\r\n\r\n"
    )
