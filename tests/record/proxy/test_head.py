"""Heads on their way through."""

import json

from stemcache.record.proxy.head import RequestHead, refusal, request_bytes, response_bytes


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


def test_a_refusal_is_an_error_that_clients_read() -> None:
    """In the shapes of Anthropic and OpenAI at once."""
    start, _, body = refusal(502, 'it is "down"').partition(b"\r\n\r\n")
    assert start == (
        b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
        b"connection: close" % len(body)
    )
    assert json.loads(body) == {
        "type": "error",
        "error": {
            "type": "stemcache_record",
            "code": "stemcache_record",
            "message": 'it is "down"',
        },
    }
