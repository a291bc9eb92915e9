"""What the proxy says itself."""

import json

from stemcache.record.proxy.words import decoded_headers, refusal


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


def test_any_byte_of_a_header_is_a_character() -> None:
    """In the record: names in lower case."""
    assert decoded_headers([(b"X-A", b"\xff")]) == [("x-a", "\xff")]
