"""Our transports for clients on httpx; `client_transport` says how they get there."""

from stemcache.integrations.client_transport import AsyncWatching, SyncWatching
from stemcache.record.httpx_transport import RecordingAsyncTransport, RecordingTransport

__all__ = ["WatchingAsyncTransport", "WatchingTransport"]


class WatchingTransport(SyncWatching, RecordingTransport):
    """In a `httpx.Client`."""


class WatchingAsyncTransport(AsyncWatching, RecordingAsyncTransport):
    """In a `httpx.AsyncClient`."""
