"""Transports for httpx that record what is sent, and so for clients that are built on it.

```python
client = httpx.Client(transport=RecordingTransport(output="calls.jsonl"))
```
Each attempt is a call of its own, those that a client makes again among them.
Programs on httpx2 take `stemcache.record.httpx2_transport`.
"""

import httpx

from stemcache.record.transport import (
    AsyncHeard,
    AsyncRecording,
    AsyncSent,
    Heard,
    Recording,
    Sent,
)

__all__ = ["RecordingAsyncTransport", "RecordingTransport"]


class _Sent(Sent, httpx.SyncByteStream):
    pass


class _Heard(Heard, httpx.SyncByteStream):
    pass


class _AsyncSent(AsyncSent, httpx.AsyncByteStream):
    pass


class _AsyncHeard(AsyncHeard, httpx.AsyncByteStream):
    pass


class RecordingTransport(Recording, httpx.BaseTransport):
    """For `httpx.Client`: sends through `inner`, by default httpx's own transport."""

    _default = httpx.HTTPTransport
    _whole = httpx.ByteStream
    _sent = _Sent
    _heard = _Heard


class RecordingAsyncTransport(AsyncRecording, httpx.AsyncBaseTransport):
    """For `httpx.AsyncClient`: sends through `inner`, by default httpx's own transport."""

    _default = httpx.AsyncHTTPTransport
    _whole = httpx.ByteStream
    _sent = _AsyncSent
    _heard = _AsyncHeard
