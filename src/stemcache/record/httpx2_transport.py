"""Transports for httpx2 that record what is sent, and so for clients that are built on it.

```python
client = httpx2.Client(transport=RecordingTransport(output="calls.jsonl"))
```
Each attempt is a call of its own, those that a client makes again among them.
Programs on httpx take `stemcache.record.httpx_transport`.
"""

import httpx2

from stemcache.record.transport import (
    AsyncHeard,
    AsyncRecording,
    AsyncSent,
    Heard,
    Recording,
    Sent,
)

__all__ = ["RecordingAsyncTransport", "RecordingTransport"]


class _Sent(Sent, httpx2.SyncByteStream):
    pass


class _Heard(Heard, httpx2.SyncByteStream):
    pass


class _AsyncSent(AsyncSent, httpx2.AsyncByteStream):
    pass


class _AsyncHeard(AsyncHeard, httpx2.AsyncByteStream):
    pass


class RecordingTransport(Recording, httpx2.BaseTransport):
    """For `httpx2.Client`: sends through `inner`, by default httpx2's own transport."""

    _default = httpx2.HTTPTransport
    _whole = httpx2.ByteStream
    _sent = _Sent
    _heard = _Heard


class RecordingAsyncTransport(AsyncRecording, httpx2.AsyncBaseTransport):
    """For `httpx2.AsyncClient`: sends through `inner`, by default httpx2's own transport."""

    _default = httpx2.AsyncHTTPTransport
    _whole = httpx2.ByteStream
    _sent = _AsyncSent
    _heard = _AsyncHeard
