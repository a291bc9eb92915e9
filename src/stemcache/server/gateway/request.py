"""One client's request, read whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stemcache.server.gateway.refusals import Refusal

__all__ = ["Request"]


@dataclass(slots=True)
class Request:
    """Made when the head is complete; `body` is filled in at the end of the request."""

    method: bytes
    target: bytes
    """Path and query."""
    headers: Sequence[tuple[bytes, bytes]]
    fields: Mapping[bytes, bytes]
    """The headers by their names in lower case; of equal names the last."""
    keep_alive: bool
    old: bool
    """HTTP/1.0, which knows no chunks."""
    expects: bool = False
    """Whether the client waits for a 100 before it sends the body."""
    body: bytes = b""
    held_bytes: int = 0
    """Counted in the gateway's buffered bytes."""
    refusal: Refusal | None = None
    """Why it is not relayed; the connection is closed after it."""
