"""What the proxy says itself, and headers as they are recorded. Pure."""

from http import HTTPStatus

import msgspec

from stemcache.record.exchange import Headers
from stemcache.wire.http_head import RawHeaders

__all__ = ["decoded_headers", "refusal"]


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
