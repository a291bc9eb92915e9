"""Gateways that tell each other through a real Redis."""

import asyncio
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, cast

import pytest
import structlog

from stemcache.clock import MonotonicClock
from stemcache.errors import UsageError
from stemcache.gateway.gossip import Batch, Load, Placement, placement
from stemcache.gateway.keys import Keys
from stemcache.gateway.router import Router
from stemcache.server.gateway.share import RedisShare

needs_redis = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason="redis-server is not installed"
)


HEARD = "Redis is there; other gateways are heard"
LOST = "Redis cannot be used; going on alone"
FULL = "Redis takes nothing; other gateways do not hear of this one"


class Side:
    """What a share sees of its router, and the share."""

    def __init__(self, url: str, *, fleet: str = "f") -> None:
        self.on_placed: Callable[[Placement], None] | None = None
        self.batches: list[Batch] = []
        self.logs: list[dict[str, Any]] = []
        logger = structlog.wrap_logger(
            structlog.PrintLogger(), processors=[self._log], wrapper_class=structlog.BoundLogger
        )
        self.share = RedisShare(
            url,
            fleet=fleet,
            router=cast(Router, self),
            clock=MonotonicClock(),
            logger=logger,
        )

    def _log(self, _logger: object, _name: str, event: MutableMapping[str, Any]) -> Any:
        self.logs.append(dict(event))
        raise structlog.DropEvent

    def loads(self) -> list[Load]:
        return [Load("a", 2, 700)]

    def heard(self, batch: Batch, *, now_s: float) -> None:
        assert now_s > 0
        self.batches.append(batch)

    def place(self, *keys: int) -> None:
        assert self.on_placed is not None, "the share has begun"
        self.on_placed(placement("a", Keys(list(keys), 128, exact=False)))

    @property
    def placed(self) -> list[list[int]]:
        return [each.as_list() for batch in self.batches for each in batch.placements]


async def until(true: Callable[[], bool], limit_s: float = 20.0) -> None:
    """Wait for something that is on its way."""
    async with asyncio.timeout(limit_s):
        while not true():  # noqa: ASYNC110  # what is waited for is a plain value
            await asyncio.sleep(0.005)


class Server:
    """A Redis that can be stopped and started again on its port."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.directory = tempfile.mkdtemp()
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self, *flags: str) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--save", "", "--dir", self.directory, *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        pytest.fail("redis-server did not listen within 20 s")

    def stop(self) -> None:
        assert self.process is not None, "started"
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server() -> Iterator[Server]:
    """A fresh one."""
    server = Server()
    yield server
    server.stop()
    shutil.rmtree(server.directory, ignore_errors=True)


@needs_redis
def test_what_one_sends_the_others_hear(server: Server) -> None:
    """Placements and loads, in order; nobody hears himself."""

    async def scene() -> None:
        one, other = Side(server.url), Side(server.url)
        for side in (one, other):
            side.share.start()
        await until(lambda: one.share.connected and other.share.connected)
        for number in range(50):
            one.place(number, number + 1)
        await until(lambda: len(other.placed) == 50)
        assert other.placed == [[number, number + 1] for number in range(50)]
        assert one.placed == []
        assert other.batches[-1].loads == (Load("a", 2, 700),)
        for side in (one, other):
            await side.share.close()
        assert one.on_placed is None

    asyncio.run(scene())


@needs_redis
def test_one_that_begins_later_begins_warm(server: Server) -> None:
    """It reads what was told before, but not the loads of then."""

    async def scene() -> None:
        one = Side(server.url)
        one.share.start()
        await until(lambda: one.share.connected)
        one.place(1, 2, 3)
        await asyncio.sleep(0.1)
        late = Side(server.url)
        late.share.start()
        await until(lambda: late.placed == [[1, 2, 3]])
        assert late.batches[0].loads == ()
        for side in (one, late):
            await side.share.close()

    asyncio.run(scene())


@needs_redis
def test_fleets_do_not_hear_each_other(server: Server) -> None:
    """A name keeps them apart on one Redis."""

    async def scene() -> None:
        one, same, other = (Side(server.url, fleet=name) for name in ("x", "x", "y"))
        for side in (one, same, other):
            side.share.start()
        await until(lambda: all(side.share.connected for side in (one, same, other)))
        one.place(9)
        await until(lambda: same.placed == [[9]])
        assert other.placed == []
        for side in (one, same, other):
            await side.share.close()

    asyncio.run(scene())


@needs_redis
def test_a_redis_that_goes_and_comes_back_is_followed_again(server: Server) -> None:
    """Meanwhile placements are dropped and counted, and the loss is said, once for each cause."""

    async def scene() -> None:
        one, other = Side(server.url), Side(server.url)
        for side in (one, other):
            side.share.start()
        await until(lambda: one.share.connected and other.share.connected)
        server.stop()
        await until(lambda: not one.share.connected and not other.share.connected)
        one.place(1)
        assert one.share.dropped == 1
        server.start()
        await until(lambda: one.share.connected and other.share.connected)
        one.place(2)
        await until(lambda: [2] in other.placed)
        events = [log["event"] for log in one.logs]
        assert events[0] == events[-1] == HEARD
        assert set(events[1:-1]) == {LOST}
        causes = [log["error"] for log in one.logs[1:-1]]
        assert len(causes) == len(set(causes))  # closed, say, and then refused
        for side in (one, other):
            await side.share.close()

    asyncio.run(scene())


@needs_redis
def test_a_redis_that_comes_back_with_another_password_is_told_of(server: Server) -> None:
    """A changed cause is news: who mends the network is not told that it was the password."""

    async def scene() -> None:
        one = Side(server.url)
        one.share.start()
        await until(lambda: one.share.connected)
        server.stop()
        await until(lambda: not one.share.connected)
        server.start("--requirepass", "hunter2")

        def causes() -> list[str]:
            return [log["error"] for log in one.logs if log["event"] == LOST]

        await until(lambda: any("uthentication" in cause for cause in causes()))
        await asyncio.sleep(1.5)  # a retry or two
        assert len(causes()) == len(set(causes()))
        assert "hunter2" not in str(one.logs)
        await one.share.close()

    asyncio.run(scene())


def test_causes_of_one_loss_are_told_once_each() -> None:
    """However they take turns, and not without end; heard again, all of them are news again."""

    async def scene() -> None:
        side = Side("redis://127.0.0.1:1/0")
        for cause in ("closed", "refused", "closed", "wrong password", "refused"):
            side.share._unheard(cause)
        assert [(log["event"], log["error"]) for log in side.logs] == [
            (LOST, "closed"),
            (LOST, "refused"),
            (LOST, "wrong password"),
        ]
        for number in range(100):
            side.share._unheard(f"cause {number}")
        assert len(side.logs) == 16
        side.share._untold("full")
        assert len(side.logs) == 16
        side.share.connected = True
        for cause in ("full", "read only", "full"):
            side.share._untold(cause)
        assert [(log["event"], log["error"]) for log in side.logs[16:]] == [
            (FULL, "full"),
            (FULL, "read only"),
        ]
        await side.share.close()

    asyncio.run(scene())


@needs_redis
def test_what_a_stranger_writes_to_the_stream_is_passed_over(server: Server) -> None:
    """Counted, and nothing stops."""

    async def scene() -> None:
        from redis.asyncio import Redis  # noqa: PLC0415

        one, other = Side(server.url), Side(server.url)
        for side in (one, other):
            side.share.start()
        await until(lambda: one.share.connected and other.share.connected)
        stranger = Redis.from_url(server.url)
        await stranger.xadd("stemcache:route:f", {b"b": b"\xff\xff"})
        await stranger.xadd("stemcache:route:f", {b"other": b"field"})
        await stranger.aclose()
        one.place(4)
        await until(lambda: other.placed == [[4]])
        assert other.share.unreadable == 2
        for side in (one, other):
            await side.share.close()

    asyncio.run(scene())


def test_one_that_is_not_there_is_never_said_to_be() -> None:
    """Nor lost, however often it is tried, and though a beginning has been read before."""

    async def scene() -> None:
        from redis.exceptions import RedisError  # noqa: PLC0415

        side = Side("redis://127.0.0.1:1/0")
        side.share._last = b"7-0"
        with pytest.raises(RedisError):
            await side.share._listen()
        assert side.logs == []
        assert not side.share.connected
        await side.share.close()

    asyncio.run(scene())


@needs_redis
def test_a_redis_that_takes_nothing_for_a_while_is_written_to_again(server: Server) -> None:
    """Full, or a replica for a moment: others are heard meanwhile, and it is said once."""

    async def scene() -> None:
        from redis.asyncio import Redis  # noqa: PLC0415

        one, other = Side(server.url), Side(server.url)
        for side in (one, other):
            side.share.start()
        await until(lambda: one.share.connected and other.share.connected)
        admin = Redis.from_url(server.url)
        await admin.config_set("maxmemory", "1")
        one.place(1)
        await until(lambda: FULL in [log["event"] for log in one.logs])
        assert one.share.connected
        await admin.config_set("maxmemory", "0")

        def placed_again() -> bool:
            one.place(2)
            return [2] in other.placed

        await until(placed_again)
        assert [log["event"] for log in one.logs].count(FULL) == 1
        await admin.aclose()
        for side in (one, other):
            await side.share.close()

    asyncio.run(scene())


def test_a_redis_that_is_not_there_is_said_to_be_lost_once() -> None:
    """Within a moment of the start, and connected is not said before it is true."""

    async def scene() -> None:
        side = Side("redis://127.0.0.1:1/0")
        side.share.start()
        await until(lambda: bool(side.logs))
        await asyncio.sleep(1.2)  # a retry or two
        assert [log["event"] for log in side.logs] == [LOST]
        await side.share.close()

    asyncio.run(scene())


@needs_redis
def test_what_waits_to_be_told_is_bounded_in_bytes(server: Server) -> None:
    """Entries are of a size that others read, and the rest is dropped and counted."""

    async def scene() -> None:
        one, other = Side(server.url), Side(server.url)
        for side in (one, other):
            side.share.start()
        await until(lambda: one.share.connected and other.share.connected)
        for number in range(200):  # 12.8 MB at once
            one.place(*range(number, number + 8000))
        assert one.share.dropped == 69
        await until(lambda: len(other.placed) == 131)
        assert other.share.unreadable == 0
        for side in (one, other):
            await side.share.close()

    asyncio.run(scene())


def test_an_address_that_is_none_is_refused_at_the_start() -> None:
    """Before anything is routed."""
    with pytest.raises(UsageError, match="--redis is no URL of a Redis"):
        Side("http://example")


def test_without_a_redis_requests_are_routed_all_the_same() -> None:
    """Nothing waits for it, and closing does not either."""

    async def scene() -> None:
        side = Side("redis://127.0.0.1:1/0")
        side.share.start()
        side.place(1)
        assert side.share.dropped == 1
        await asyncio.sleep(0.05)
        await side.share.close()

    asyncio.run(scene())
