"""Exchanges made up for tests."""

import json
from typing import Any

from stemcache.record.capture import Budget, Capture
from stemcache.record.exchange import Exchange

__all__ = ["BODY", "captured", "exchange"]

BODY = b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}'
ANSWER = json.dumps(
    {
        "id": "a-1",
        "model": "m",
        "content": [],
        "usage": {
            "input_tokens": 1,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 3,
            "output_tokens": 1,
        },
    }
).encode()


def captured(data: bytes, *, limit_bytes: int = 2**26) -> Capture:
    """A body that has passed."""
    capture = Capture(limit_bytes, Budget(2**40))
    capture.add(data)
    return capture


def exchange(body: bytes = BODY, answer: bytes = ANSWER, **fields: Any) -> Exchange:
    """A call that went well."""
    kind = fields.pop("kind", "application/json")
    encoding = fields.pop("encoding", "")
    limit_bytes = fields.pop("limit_bytes", 2**26)
    values: dict[str, Any] = {
        "time_s": 1000.0,
        "answered_s": 1001.0,
        "ended_s": 1002.0,
        "method": "POST",
        "url": "https://api.example/v1/messages",
        "headers": [("x-api-key", "secret-key-0123456789")],
        "request": captured(body, limit_bytes=limit_bytes),
        "status": 200,
        "response_headers": [("content-type", kind), ("content-encoding", encoding)],
        "response": captured(answer, limit_bytes=limit_bytes),
        **fields,
    }
    return Exchange(**values)
