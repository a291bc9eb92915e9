"""Several gateways through Redis: each adds what it did to one stream, and reads what others did.

```
Router.on_placed ─► outbox ─ every 20 ms ─► XADD stemcache:route:<fleet> MAXLEN ~
Router.heard    ◄── decode ◄────────────── XREAD BLOCK       (first the last entries, to begin warm)
```
Nothing on a request's way waits for Redis. Where it cannot be reached each gateway goes on alone,
as it would without it, and says so; what happened meanwhile is not told later.
"""

import asyncio
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from structlog.typing import FilteringBoundLogger

from stemcache.clock import Clock
from stemcache.errors import UsageError, worded
from stemcache.gateway.gossip import GossipError, Placement, decode_batch, encode_batch
from stemcache.gateway.router import Router

if TYPE_CHECKING:
    from redis.asyncio import Redis

__all__ = ["RedisShare"]

_EVERY_S = 0.02
_LOADS_EVERY_S = 0.2
_OUTBOX = 4096
"""Placements that wait to be told; more are dropped and counted."""
_STREAM_ENTRIES = 20_000
_WARM_ENTRIES = 5_000
_READ_ENTRIES = 256
_BLOCK_MS = 1_000
_RETRY_S = 1.0
_RETRY_MOST_S = 30.0
_CLOSE_S = 0.5
_FIELD = b"b"


class RedisShare:
    """One gateway's side. `start`, then `close`; both on the event loop."""

    def __init__(
        self,
        url: str,
        *,
        fleet: str,
        router: Router,
        clock: Clock,
        logger: FilteringBoundLogger,
    ) -> None:
        """Raises UsageError for a URL that is none, or where the package redis is missing."""
        self._redis = _client(url)
        self._stream = f"stemcache:route:{fleet}"
        self._gateway = secrets.token_hex(8)
        self._router = router
        self._clock = clock
        self._logger = logger
        self._outbox: list[Placement] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._last = b"$"
        self.connected = False
        self.dropped = 0
        """Placements that were not told."""
        self.unreadable = 0
        """Entries that were no batch."""
        self.heard = 0
        """Placements of others."""

    def start(self) -> None:
        """Begin to tell and to listen."""
        self._router.on_placed = self._placed
        self._tasks = [
            asyncio.create_task(self._again_and_again(self._listen)),
            asyncio.create_task(self._again_and_again(self._tell)),
        ]

    async def close(self) -> None:
        """Stop; what is in the outbox is not told."""
        self._router.on_placed = None
        left = set(self._tasks)
        while left:  # a cancellation that comes as its connection is made is lost in the client
            for task in left:
                task.cancel()
            _, left = await asyncio.wait(left, timeout=_CLOSE_S)
        await self._redis.aclose()

    def _placed(self, placement: Placement) -> None:
        if len(self._outbox) >= _OUTBOX or not self.connected:
            self.dropped += 1
        else:
            self._outbox.append(placement)

    async def _again_and_again(self, work: Callable[[], Any]) -> None:
        """Run one side until it is cancelled; after an error wait, longer each time."""
        from redis.exceptions import RedisError  # noqa: PLC0415  # comes with the extra `route`

        wait_s = _RETRY_S
        while True:
            begun = self._clock.now()
            try:
                await work()
            except (RedisError, OSError, TimeoutError) as error:
                if self.connected:
                    self._logger.warning("redis_lost", error=worded(error)[:200])
                self.connected = False
                self._outbox.clear()
            if self._clock.now() - begun > _RETRY_MOST_S:
                wait_s = _RETRY_S
            await asyncio.sleep(wait_s)
            wait_s = min(_RETRY_MOST_S, wait_s * 2)

    async def _listen(self) -> None:
        if self._last == b"$":
            await self._warm()
        # The first look does not wait: only an answer to it says that Redis is there.
        block_ms = None if not self.connected else _BLOCK_MS
        while True:
            found: Any = await self._redis.xread(
                {self._stream: self._last}, count=_READ_ENTRIES, block=block_ms
            )
            block_ms = _BLOCK_MS
            if not self.connected:
                self.connected = True
                self._logger.info("redis_connected", stream=self._stream)
            for _, entries in found or ():
                for number, fields in entries:
                    self._last = number
                    self._take(fields, with_loads=True)
                    await asyncio.sleep(0)  # a burst of others must not keep requests waiting

    async def _warm(self) -> None:
        """Take what was sent where before this gateway began."""
        entries: Any = await self._redis.xrevrange(self._stream, count=_WARM_ENTRIES)
        self._last = entries[0][0] if entries else b"0-0"
        for _, fields in reversed(entries):
            self._take(fields, with_loads=False)
            await asyncio.sleep(0)

    def _take(self, fields: dict[bytes, bytes], *, with_loads: bool) -> None:
        try:
            batch = decode_batch(fields.get(_FIELD, b""))
        except GossipError:
            self.unreadable += 1
            return
        if batch.gateway == self._gateway:
            return
        self.heard += len(batch.placements)
        if not with_loads and batch.loads:
            batch = type(batch)(batch.gateway, batch.placements, ())
        self._router.heard(batch, now_s=self._clock.now())

    async def _tell(self) -> None:
        told_s = 0.0
        while True:
            await asyncio.sleep(_EVERY_S)
            now_s = self._clock.now()
            due = now_s - told_s >= _LOADS_EVERY_S
            if not self.connected or not (due or self._outbox):
                continue
            placements, self._outbox = self._outbox, []
            told_s = now_s
            await self._redis.xadd(
                self._stream,
                {_FIELD: encode_batch(self._gateway, placements, self._router.loads())},
                maxlen=_STREAM_ENTRIES,
                approximate=True,
            )


def _client(url: str) -> "Redis":
    try:
        from redis.asyncio import Redis  # noqa: PLC0415
    except ModuleNotFoundError:
        raise UsageError(
            "--agree redis needs the package redis, which is not installed; "
            "run: pip install 'stemcache[route]'"
        ) from None
    try:
        return Redis.from_url(url, socket_connect_timeout=3.0, health_check_interval=10)
    except ValueError as error:
        raise UsageError(
            f"--redis is no URL of a Redis ({error}); use redis://host:6379/0"
        ) from None
