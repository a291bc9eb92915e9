"""A small request beside the load: the model list, a probe, /metrics, a reset."""

import asyncio
from dataclasses import dataclass

from stemcache.replay.body import head_of
from stemcache.replay.connection import Connection
from stemcache.replay.credentials import Credentials
from stemcache.replay.pool import ConnectError, Pool
from stemcache.replay.target import Target

__all__ = ["FetchError", "Fetcher", "Reply"]

_BODY_BYTES = 32 * 2**20
"""More than any page of metrics has."""


class FetchError(Exception):
    """No answer came, or none that is HTTP."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    status: int
    content_type: bytes
    body: bytes


class _Collector:
    """A sink that keeps everything, up to a bound."""

    def __init__(self, reply: asyncio.Future[Reply], connection: Connection) -> None:
        self._reply = reply
        self._connection = connection
        self._status = 0
        self._content_type = b""
        self._body = bytearray()

    def head(self, status: int, content_type: bytes, now_s: float) -> None:
        del now_s
        self._status, self._content_type = status, content_type

    def body(self, data: bytes, now_s: float) -> None:
        del now_s
        self._body += data
        if len(self._body) > _BODY_BYTES:
            self._connection.fail("too_large", f"the answer is larger than {_BODY_BYTES} bytes")

    def done(self, now_s: float) -> None:
        del now_s
        if not self._reply.done():
            self._reply.set_result(Reply(self._status, self._content_type, bytes(self._body)))

    def failed(self, kind: str, detail: str, now_s: float, *, stale: bool) -> None:
        del now_s, stale
        if not self._reply.done():
            self._reply.set_exception(FetchError(kind, detail))


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Asks one target. Every request has a connection of its own, closed after it."""

    pool: Pool
    target: Target
    credentials: Credentials
    timeout_s: float

    async def fetch(self, method: str, path: str, body: bytes = b"") -> Reply:
        """The answer, whatever its status. Raises FetchError."""
        try:
            connection = await self.pool.connect()
        except ConnectError as error:
            raise FetchError(error.kind, str(error)) from None
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        head = head_of(method, path, self.target, self.credentials.headers, len(body))
        connection.send([head, body] if body else [head], _Collector(reply, connection))
        try:
            async with asyncio.timeout(self.timeout_s):
                return await reply
        except TimeoutError:
            raise FetchError("timeout", f"no answer within {self.timeout_s:g} s") from None
        finally:
            connection.close()
