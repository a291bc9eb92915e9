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
from stemcache.gateway.gossip import Batch, GossipError, Placement, decode_batch, encode_batch
from stemcache.gateway.router import Router

if TYPE_CHECKING:
    from redis.asyncio import Redis

__all__ = ["RedisShare"]

_EVERY_S = 0.02
_LOADS_EVERY_S = 0.2
_OUTBOX_BYTES = 8 * 2**20
"""Of placements that wait to be told; more are dropped and counted."""
_ENTRY_BYTES = 2**20
_STREAM_BYTES = 128 * 2**20
"""What the stream is trimmed to, by the usual size of this gateway's entries."""
_MOST_ENTRIES = 20_000
_WARM_BYTES = 32 * 2**20
_READ_ENTRIES = 16
_TURN_KEYS = 4_096
"""Heard without letting requests have a turn: some ms."""
_BLOCK_MS = 1_000
_RETRY_S = 0.5
_RETRY_MOST_S = 3.0
_CLOSE_S = 0.5
_FIELD = b"b"
_MOST_CAUSES = 16
"""Of one loss, that are told."""


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
        self._outbox_bytes = 0
        self._entry_bytes = 4096.0
        self._tasks: list[asyncio.Task[None]] = []
        self._last = b""
        """Number of the entry that was read last; empty before the first reading."""
        self._unheard_told: set[str] = set()
        """Why others are not heard, as far as it was said, since they last were."""
        self._untold_told: set[str] = set()
        """Why nothing can be told to them."""
        self.connected = False
        """Others are heard."""
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
            asyncio.create_task(self._again_and_again(self._listen, self._unheard)),
            asyncio.create_task(self._again_and_again(self._tell, self._untold)),
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
        size = len(placement.keys)
        if not self.connected or self._outbox_bytes + size > _OUTBOX_BYTES:
            self.dropped += 1
        else:
            self._outbox.append(placement)
            self._outbox_bytes += size

    async def _again_and_again(self, work: Callable[[], Any], lost: Callable[[str], None]) -> None:
        """Run one side until it is cancelled; after an error wait, longer each time."""
        from redis.exceptions import RedisError  # noqa: PLC0415  # comes with the extra `route`

        wait_s = _RETRY_S
        while True:
            begun = self._clock.now()
            try:
                await work()
            except (RedisError, OSError, TimeoutError) as error:
                lost(worded(error)[:200])
            if self._clock.now() - begun > _RETRY_MOST_S:
                wait_s = _RETRY_S
            await asyncio.sleep(wait_s)
            wait_s = min(_RETRY_MOST_S, wait_s * 2)

    def _unheard(self, error: str) -> None:
        """Said once for each cause, until others are heard again."""
        self.connected = False
        self._say("Redis cannot be used; going on alone", error, self._unheard_told)
        self._drop_outbox()

    def _untold(self, error: str) -> None:
        """Others can be heard all the same, where it cannot be written to."""
        if self.connected:
            what = "Redis takes nothing; other gateways do not hear of this one"
            self._say(what, error, self._untold_told)
        self._drop_outbox()

    def _say(self, what: str, error: str, told: set[str]) -> None:
        if error not in told and len(told) < _MOST_CAUSES:
            told.add(error)
            self._logger.warning(what, error=error)

    def _drop_outbox(self) -> None:
        self.dropped += len(self._outbox)
        self._outbox.clear()
        self._outbox_bytes = 0

    async def _listen(self) -> None:
        if not self._last:
            await self._warm()
        while True:
            found: Any = await self._redis.xread(
                {self._stream: self._last},
                count=_READ_ENTRIES,
                block=_BLOCK_MS if self.connected else None,
            )
            if not self.connected:
                self.connected = True
                self._unheard_told.clear()
                self._logger.info("Redis is there; other gateways are heard", stream=self._stream)
            for _, entries in found or ():
                for number, fields in entries:
                    self._last = number
                    await self._take(fields, with_loads=True)

    async def _warm(self) -> None:
        """Take what was sent where before this gateway began, the last of it."""
        entries: list[Any] = []
        size, before = 0, b"+"
        while size < _WARM_BYTES:
            part: Any = await self._redis.xrevrange(self._stream, max=before, count=_READ_ENTRIES)
            entries += part
            if len(part) < _READ_ENTRIES:
                break
            size += sum(len(fields.get(_FIELD, b"")) for _, fields in part)
            before = b"(" + part[-1][0]
        for _, fields in reversed(entries):
            await self._take(fields, with_loads=False)
        self._last = entries[0][0] if entries else b"0-0"

    async def _take(self, fields: dict[bytes, bytes], *, with_loads: bool) -> None:
        try:
            batch = decode_batch(fields.get(_FIELD, b""))
        except GossipError:
            self.unreadable += 1
            return
        if batch.gateway == self._gateway:
            return
        self.heard += len(batch.placements)
        keys = 0
        for placement in batch.placements:
            alone = Batch(batch.gateway, (placement,), ())
            self._router.heard(alone, now_s=self._clock.now())
            keys += len(placement.keys) // 8 + 64
            if keys > _TURN_KEYS:
                keys = 0
                await asyncio.sleep(0)
        if with_loads and batch.loads:
            told = Batch(batch.gateway, (), batch.loads)
            self._router.heard(told, now_s=self._clock.now())
        await asyncio.sleep(0)

    async def _tell(self) -> None:
        told_s = 0.0
        while True:
            await asyncio.sleep(_EVERY_S)
            now_s = self._clock.now()
            due = now_s - told_s >= _LOADS_EVERY_S
            if not self.connected or not (due or self._outbox):
                continue
            told_s = now_s
            entry = encode_batch(self._gateway, self._next_placements(), self._router.loads())
            self._entry_bytes += 0.05 * (len(entry) - self._entry_bytes)
            await self._redis.xadd(
                self._stream,
                {_FIELD: entry},
                maxlen=max(16, min(_MOST_ENTRIES, int(_STREAM_BYTES / self._entry_bytes))),
                approximate=True,
            )
            self._untold_told.clear()

    def _next_placements(self) -> list[Placement]:
        """As many as make one entry."""
        size = count = 0
        for placement in self._outbox:
            size += len(placement.keys)
            count += 1
            if size >= _ENTRY_BYTES:
                break
        placements, self._outbox = self._outbox[:count], self._outbox[count:]
        self._outbox_bytes -= size
        return placements


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
