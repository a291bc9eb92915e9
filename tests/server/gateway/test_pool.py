"""Connections to replicas, kept and used again."""

import asyncio
import errno
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from stemcache.clock import ManualClock
from stemcache.gateway.replica import ReplicaSpec
from stemcache.server.gateway.pool import CannotConnect, Line, Pool
from stemcache.server.gateway.upstream import Upstream
from tests.server.gateway.fakes import FakeReplica, chat
from tests.server.gateway.near import spec_of

Body = Callable[[Pool, FakeReplica, ManualClock], Coroutine[Any, Any, None]]


def with_pool(body: Body) -> None:
    """Run with a pool and a replica, in a loop."""

    async def main() -> None:
        fake = FakeReplica(chat)
        await fake.start()
        clock = ManualClock(50.0)
        pool = Pool(clock)
        try:
            await body(pool, fake, clock)
        finally:
            pool.close()
            fake.stop()
            await gone(pool)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


async def gone(pool: Pool, left: int = 0) -> None:
    """Until so many connections are open."""
    async with asyncio.timeout(10):
        while pool.open != left:  # noqa: ASYNC110  # what is waited for is the product's
            await asyncio.sleep(0)


async def connected(line: Line, count: int) -> list[Upstream]:
    """New connections."""
    return [await line.connect(5.0) for _ in range(count)]


def test_the_connection_used_last_is_used_next() -> None:
    """Others may then grow old and be closed."""

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        line = pool.line(spec_of(fake))
        assert line.take() is None
        first, second = await connected(line, 2)
        line.give(first)
        clock.advance(1.0)
        line.give(second)
        assert line.take() is second
        assert line.take() is first
        assert line.take() is None

    with_pool(body)


def test_idle_connections_are_closed_by_age() -> None:
    """Four seconds after their last answer."""

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        line = pool.line(spec_of(fake))
        first, second = await connected(line, 2)
        line.give(first)
        clock.advance(3.0)
        line.give(second)
        clock.advance(1.0)
        pool.sweep()
        await gone(pool, 1)
        assert line.take() is second

    with_pool(body)


def test_a_connection_that_the_replica_closed_is_not_taken() -> None:
    """It is forgotten."""

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del clock
        line = pool.line(spec_of(fake))
        (only,) = await connected(line, 1)
        line.give(only)
        for transport in list(fake.open):
            transport.close()
        await gone(pool)
        assert line.take() is None

    with_pool(body)


def test_idle_connections_have_a_bound() -> None:
    """Beyond it they are closed."""

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del clock
        line = pool.line(spec_of(fake))
        many = await connected(line, 3)
        for upstream in many[:1] * 1024:
            line._idle[upstream] = None
        line._idle.update(dict.fromkeys(range(1023)))  # type: ignore[arg-type]
        line.give(many[1])
        assert many[1].closed
        line._idle.clear()

    with_pool(body)


def test_a_replica_that_moved_has_another_line() -> None:
    """What is idle on the old one is closed, and what runs is not kept."""

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del clock
        old = pool.line(spec_of(fake))
        idle, busy = await connected(old, 2)
        old.give(idle)
        assert pool.line(spec_of(fake)) is old
        new = pool.line(ReplicaSpec(name="r0", url="http://127.0.0.1:1/x"))
        assert new is not old
        assert (new.path, new.authority) == (b"/x", b"127.0.0.1:1")
        assert [idle.closed, busy.closed] == [True, False]
        old.give(busy)
        assert [idle.closed, busy.closed] == [True, True]

    with_pool(body)


def test_lines_of_replicas_that_left_are_closed() -> None:
    """All but those that are named."""

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del clock
        line = pool.line(spec_of(fake))
        (idle,) = await connected(line, 1)
        line.give(idle)
        closed = []
        for names in ({"r0"}, set[str]()):
            pool.retain(frozenset(names))
            closed.append(idle.closed)
        assert closed == [False, True]
        assert pool.line(spec_of(fake)) is not line

    with_pool(body)


def test_who_is_not_there_refuses() -> None:
    """With the system's word for it."""

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del clock
        fake.stop()
        with pytest.raises(CannotConnect, match="refused") as caught:
            await pool.line(spec_of(fake)).connect(5.0)
        assert caught.value.kind == "refused"

    with_pool(body)


def test_who_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is the caller's."""

    async def never(*_: object) -> None:
        await asyncio.get_running_loop().create_future()

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del clock
        with monkeypatch.context() as patched:
            patched.setattr(Line, "_open_connection", never)
            with pytest.raises(CannotConnect, match=r"no connection within 0\.01 s") as caught:
                await pool.line(spec_of(fake)).connect(0.01)
        assert caught.value.kind == "timeout"

    with_pool(body)


def block(seconds: float) -> None:
    """As a mistake, or another process on the machine, does to the loop."""
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        pass


def test_a_loop_that_stands_still_loses_no_connections() -> None:
    """They are there, and only were not looked at before the limits were over."""

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del clock
        line = pool.line(spec_of(fake))
        making = [asyncio.ensure_future(line.connect(0.05)) for _ in range(40)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        block(0.2)
        made = await asyncio.gather(*making)
        assert [upstream.closed for upstream in made] == [False] * 40
        for upstream in made:
            upstream.abort()

    with_pool(body)


def test_a_limit_that_was_not_looked_at_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other side had no chance in it; but it does not do so for ever."""
    asked: list[float] = []

    async def slow(line: Line, upstream: Upstream) -> None:
        await asyncio.sleep(0)
        block(0.35)
        await asyncio.sleep(0.08)
        asked.append(1.0)
        await opened(line, upstream)

    async def always_stuck(*_: object) -> None:
        while True:
            await asyncio.sleep(0.01)
            block(0.2)

    opened = Line._open_connection

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del clock
        line = pool.line(spec_of(fake))
        with monkeypatch.context() as patched:
            patched.setattr(Line, "_open_connection", slow)
            (await line.connect(0.2)).abort()
            assert asked == [1.0]
            patched.setattr(Line, "_open_connection", always_stuck)
            with pytest.raises(CannotConnect, match="no connection within"):
                await line.connect(0.02)

    with_pool(body)


def test_a_replica_that_was_never_asked_was_never_heard() -> None:
    """And one that was, when its line says."""

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del clock
        assert pool.heard_s(fake.name) == float("-inf")
        pool.line(spec_of(fake)).heard_s = 7.0
        assert pool.heard_s(fake.name) == 7.0

    with_pool(body)


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 300 + ".invalid"])
def test_a_name_that_nobody_has_is_refused(host: str) -> None:
    """Whatever the name."""

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del fake, clock
        spec = ReplicaSpec(name="x", url=f"http://{host}:1")
        with pytest.raises(CannotConnect) as caught:
            await pool.line(spec).connect(5.0)
        assert caught.value.kind == "refused"

    with_pool(body)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EMFILE, "exhausted"),
        (errno.EADDRNOTAVAIL, "exhausted"),
        (errno.ENETUNREACH, "refused"),
        (errno.ECONNREFUSED, "refused"),
    ],
)
def test_what_is_wrong_here_is_told_from_what_is_wrong_there(
    number: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replica is not to be blamed for the first."""

    async def create_connection(*_: object, **__: object) -> None:
        raise OSError(number, "no more")

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del clock
        with monkeypatch.context() as patched:
            patched.setattr(Line, "_open_connection", create_connection)
            with pytest.raises(CannotConnect, match="no more") as caught:
                await pool.line(spec_of(fake)).connect(5.0)
        assert caught.value.kind == kind

    with_pool(body)


def test_connections_are_counted() -> None:
    """Those that are open, and those that were ever made."""

    async def body(pool: Pool, fake: FakeReplica, clock: ManualClock) -> None:
        del clock
        line = pool.line(spec_of(fake))
        first, _ = await connected(line, 2)
        assert (pool.open, line.made) == (2, 2)
        first.abort()
        await gone(pool, 1)
        assert (pool.open, line.made) == (1, 2)

    with_pool(body)
