"""Against a publisher on real sockets that speaks as vLLM and SGLang do."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
import uvloop

from stemcache.errors import UsageError
from stemcache.gateway.holdings import Holdings
from stemcache.gateway.keys import Keys, extend_keys, root_key
from stemcache.gateway.kv_decode import decode_batch
from stemcache.gateway.kv_events import Batch, Stored
from stemcache.gateway.replica import ReplicaSpec
from stemcache.server.gateway.events import Subscription, seat_endpoint
from tests.server.gateway.publisher import CLEARED, Cable, Publisher, stored, stored_as_array


class Follower:
    """What a subscription told, and waiting for it."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.changed = asyncio.Event()
        self.begun = asyncio.Event()

    def batch(self, batch: Batch) -> None:
        if not batch.events:
            self.begun.set()
        for event in batch.events:
            self.tell(event.hashes[0] if isinstance(event, Stored) else type(event).__name__)

    def gap(self, missing: int) -> None:
        self.tell(("gap", missing))

    def reset(self, why: str) -> None:
        self.tell(("reset", why))

    def tell(self, what: Any) -> None:
        self.told.append(what)
        self.changed.set()

    async def until(self, count: int) -> list[Any]:
        while len(self.told) < count:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 60)
        return self.told


@asynccontextmanager
async def following(
    ports: tuple[int, int], *, replay: bool, ranks: int = 1, **options: Any
) -> AsyncIterator[tuple[Follower, Subscription]]:
    """A subscription that runs, and what it tells."""
    follower = Follower()
    spec = ReplicaSpec(
        name="a",
        url="http://127.0.0.1:1",
        events=f"tcp://127.0.0.1:{ports[0]}",
        replay=f"tcp://127.0.0.1:{ports[1]}" if replay else None,
        ranks=ranks,
    )
    subscription = Subscription(
        spec, on_batch=follower.batch, on_gap=follower.gap, on_reset=follower.reset, **options
    )
    task = asyncio.ensure_future(subscription.run())
    try:
        yield follower, subscription
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def in_loop(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run a test in uvloop, as the gateway does."""

    async def alone() -> None:
        await test()

    def run() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(alone())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@pytest.mark.parametrize("topic", [True, False])
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_what_was_published_before_it_came_is_asked_for(topic: bool, loop: Any) -> None:  # noqa: FBT001
    """A subscriber that comes late takes over the buffered batches, and then the live ones."""

    async def run() -> None:
        publisher = Publisher(topic_in_replay=topic)
        for number in range(3):
            publisher.publish(stored(number))
        async with following(publisher.ports, replay=True) as (follower, subscription):
            await publisher.subscribed()
            await follower.until(3)
            publisher.publish(stored(3))
            assert await follower.until(4) == [0, 1, 2, 3]
            assert subscription.complete
            assert subscription.live
            assert subscription.sequence == 3
            assert publisher.asked == [0]
        await publisher.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run())


@in_loop
async def test_an_engine_that_has_said_nothing_is_known_to_hold_nothing() -> None:
    """An empty replay is a beginning too, and is told at once."""
    publisher = Publisher()
    async with following(publisher.ports, replay=True) as (follower, subscription):
        await asyncio.wait_for(follower.begun.wait(), 60)
        assert subscription.complete
        assert subscription.sequence is None
        assert follower.told == []
    await publisher.close()


@in_loop
async def test_a_lost_batch_is_replayed_in_its_place() -> None:
    """A jump of the sequence number is filled from the replay before what came after it."""
    publisher = Publisher()
    async with following(publisher.ports, replay=True) as (follower, subscription):
        await publisher.subscribed()
        publisher.publish(stored(0))
        await follower.until(1)
        publisher.publish(stored(1), lost=True)
        publisher.publish(stored(2))
        assert await follower.until(4) == [0, ("gap", 1), 1, 2]
        assert subscription.complete
        assert publisher.asked == [0, 0]
    await publisher.close()


@in_loop
async def test_a_replay_that_loses_some_is_asked_for_the_rest() -> None:
    """What a replay's full queue dropped is asked for again, and nothing is taken out of order."""
    publisher = Publisher()
    for number in range(6):
        publisher.publish(stored(number))
    publisher.lost_in_replay = {2, 4}
    async with following(publisher.ports, replay=True) as (follower, subscription):
        assert await follower.until(6) == [0, 1, 2, 3, 4, 5]
        assert publisher.asked == [0, 1]
        assert subscription.counts["replayed"] == 6
    await publisher.close()


@in_loop
async def test_a_gap_that_nothing_fills_ends_the_trust() -> None:
    """Without a replay, a jump of the sequence number is a reset, and what follows is taken on."""
    publisher = Publisher()
    async with following(publisher.ports, replay=False) as (follower, subscription):
        await publisher.subscribed()
        publisher.publish(stored(0))
        await follower.until(1)
        publisher.publish(stored(1), lost=True)
        publisher.publish(stored(2))
        lost = ("reset", "1 of its events are lost")
        assert await follower.until(4) == [0, ("gap", 1), lost, 2]
        assert not subscription.complete
    await publisher.close()


@in_loop
async def test_a_gap_behind_the_buffer_begins_anew() -> None:
    """What is no longer buffered cannot be filled: all that is buffered is learned afresh."""
    publisher = Publisher(buffer=2)
    async with following(publisher.ports, replay=True) as (follower, subscription):
        await publisher.subscribed()
        publisher.publish(stored(0))
        await follower.until(1)
        for number in range(1, 4):
            publisher.publish(stored(number), lost=True)
        publisher.publish(stored(4))
        gone = ("reset", "3 of its events are no longer replayed")
        assert await follower.until(5) == [0, ("gap", 3), gone, 3, 4]
        assert not subscription.complete
    await publisher.close()


@in_loop
async def test_a_replay_that_is_silent_is_given_up() -> None:
    """An endpoint that never answers costs its time once, and then the trust."""
    publisher = Publisher()
    publisher.answers = False
    async with following(publisher.ports, replay=True, replay_s=0.05) as (follower, subscription):
        await publisher.subscribed()
        publisher.publish(stored(0))
        assert await follower.until(1) == [0]
        publisher.publish(stored(1), lost=True)
        publisher.publish(stored(2))
        told = await follower.until(4)
        silent = f"events were missed, and tcp://127.0.0.1:{publisher.ports[1]} does not answer"
        assert told == [0, ("gap", 1), ("reset", silent), 2]
        assert not subscription.complete
    await publisher.close()


@pytest.mark.parametrize("replay", [True, False])
def test_a_restarted_engine_is_noticed_and_learned_anew(replay: bool) -> None:  # noqa: FBT001
    """Another process at the same address begins with nothing, though its numbers go on as well."""

    async def run() -> None:
        publisher = Publisher()
        async with following(publisher.ports, replay=replay) as (follower, subscription):
            await publisher.subscribed()
            publisher.publish(stored(0))
            publisher.publish(stored(1))
            await follower.until(2)
            await publisher.close()
            publisher = Publisher(ports=publisher.ports)
            if replay:
                for number in (10, 11, 12):
                    publisher.publish(stored(number))
            await publisher.subscribed()
            why = (
                "it has restarted"
                if replay
                else "connected anew, and nothing tells what was missed"
            )
            assert (await follower.until(3))[:3] == [0, 1, ("reset", why)]
            publisher.publish(stored(20))
            told = await follower.until(7 if replay else 4)
            assert told[3:] == ([10, 11, 12, 20] if replay else [20])
            assert subscription.complete
        await publisher.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


@pytest.mark.parametrize("replay", [True, False])
def test_a_connection_that_was_cut_goes_on_where_the_replay_proves_it(replay: bool) -> None:  # noqa: FBT001
    """The same engine after a cut loses nothing with a replay; without one, all is given up."""

    async def run() -> None:
        publisher = Publisher()
        cable = Cable(publisher.ports[0])
        await cable.lay()
        ports = (cable.port, publisher.ports[1])
        async with following(ports, replay=replay) as (follower, subscription):
            await publisher.subscribed()
            publisher.publish(stored(0))
            await follower.until(1)
            await cable.cut()
            publisher.publish(stored(1))
            await cable.lay()
            await publisher.subscribed()
            await follower.until(2)
            publisher.publish(stored(2))
            told = await follower.until(3 if replay else 4)
            why = "connected anew, and nothing tells what was missed"
            assert told == ([0, 1, 2] if replay else [0, ("reset", why), ("gap", 2), 2])
            assert subscription.complete is replay
        await cable.cut()
        await publisher.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


@in_loop
async def test_what_is_held_is_given_up_without_a_connection() -> None:
    """An engine that stays away is believed for a while, and then no more."""
    publisher = Publisher()
    async with following(publisher.ports, replay=True, grace_s=0.05) as (follower, subscription):
        await publisher.subscribed()
        publisher.publish(stored(0))
        await follower.until(1)
        await publisher.close()
        assert await follower.until(2) == [
            0,
            ("reset", "no connection to its KV events for 0.05 s"),
        ]
        assert not subscription.live
        assert not subscription.complete


@in_loop
async def test_numbers_that_fall_back_are_a_restart() -> None:
    """A sequence that begins anew on one connection is another engine behind the same address."""
    publisher = Publisher()
    async with following(publisher.ports, replay=False) as (follower, subscription):
        await publisher.subscribed()
        publisher.publish(stored(0))
        publisher.publish(stored(1))
        await follower.until(2)
        publisher.number = 0
        publisher.publish(stored(7))
        anew = ("reset", "its events began anew: number 0 after 1")
        assert await follower.until(4) == [0, 1, anew, 7]
        assert subscription.complete
    await publisher.close()


@in_loop
async def test_a_cleared_cache_is_said_before_what_follows() -> None:
    """A clearing is a reset, and ends with nothing missing: all that follows is known."""
    publisher = Publisher()
    async with following(publisher.ports, replay=False) as (follower, subscription):
        await publisher.subscribed()
        publisher.number = 5
        publisher.publish(stored(0))
        await follower.until(2)
        assert not subscription.complete
        publisher.publish([1.0, [CLEARED, *stored(3)[1]], 0])
        told = await follower.until(5)
        assert told == [("gap", 5), 0, ("reset", "its cache was cleared"), "Cleared", 3]
        assert bool(subscription.complete)
    await publisher.close()


@in_loop
async def test_what_cannot_be_read_ends_the_trust_once() -> None:
    """Unreadable batches are one reset until one can be read; strange messages are counted."""
    publisher = Publisher()
    async with following(publisher.ports, replay=False) as (follower, subscription):
        await publisher.subscribed()
        publisher.publish(stored(0))
        publisher.events.send_multipart([b"only", b"two"])
        publisher.events.send_multipart([b"", b"short", b""])
        for _ in range(3):
            publisher.publish_bytes(b"\xc1")
        publisher.publish(stored(1))
        told = await follower.until(3)
        unread = "unreadable: KV event message: not msgpack (DecodeError)"
        assert told == [0, ("reset", unread), 1]
        assert subscription.counts["strange"] == 2
        assert subscription.counts["unreadable"] == 3
        assert not subscription.complete
    await publisher.close()


@in_loop
async def test_a_flood_leaves_others_their_turn() -> None:
    """However much is published at once, other work in the loop goes on between."""
    publisher, turns = Publisher(), 0
    for number in range(300):
        publisher.publish(stored(number * 1000, run=1000))

    async def tick() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with following(publisher.ports, replay=True) as (follower, subscription):
        ticking = asyncio.ensure_future(tick())
        await follower.until(300 * 4)
        assert turns > 300 * 4
        turns = 0
        for _ in range(900):  # sockets let the last of more than a thousand fall
            publisher.events.send_multipart([b"no", b"events"])
        publisher.publish(stored(0))
        await follower.until(300 * 4 + 1)
        assert subscription.counts["strange"] == 900
        assert turns > 900 / 16
        ticking.cancel()
    await publisher.close()


@in_loop
async def test_a_ranks_events_are_at_the_port_after() -> None:
    """Rank r is followed at port + r, and what another rank says there is left out."""
    publisher = Publisher()
    ports = (publisher.ports[0] - 1, publisher.ports[1] - 1)
    async with following(ports, replay=True, ranks=2, rank=1) as (follower, subscription):
        await publisher.subscribed()
        publisher.publish(stored(0, rank=1))
        publisher.publish(stored(1, rank=0))
        publisher.publish(stored(2, rank=None))
        assert await follower.until(2) == [0, 2]
        assert subscription.counts["other_rank"] == 1
    await publisher.close()


@pytest.mark.parametrize("replay", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_lost_what_is_believed_is_held(seed: int, replay: bool) -> None:  # noqa: FBT001
    """Random losses, restarts and clearings: complete is equal to the truth, else part of it."""

    async def run() -> None:
        random, publisher = Random(seed), Publisher()
        ports, marker = publisher.ports, 10_000
        held = Holdings(most_blocks=1000)
        seen = asyncio.Event()

        def apply(batch: Batch) -> None:
            held.apply(batch)
            held.check()
            if any(isinstance(one, Stored) and marker in one.hashes for one in batch.events):
                seen.set()

        spec = ReplicaSpec(
            name="a",
            url="http://h",
            events=f"tcp://127.0.0.1:{ports[0]}",
            replay=f"tcp://127.0.0.1:{ports[1]}" if replay else None,
        )
        subscription = Subscription(
            spec, on_batch=apply, on_gap=lambda _: None, on_reset=lambda _: held.clear()
        )
        task = asyncio.ensure_future(subscription.run())
        for _ in range(5):
            await publisher.subscribed()
            for _ in range(random.randrange(25)):
                kind, number = random.random(), random.randrange(12)
                batch = stored(number, run=random.randrange(1, 4))
                if kind < 0.3:
                    gone = {"type": "BlockRemoved", "block_hashes": [number], "medium": "GPU"}
                    batch = [1.0, [gone], 0]
                elif kind < 0.35:
                    batch = [1.0, [CLEARED], 0]
                publisher.publish(batch, lost=random.random() < 0.2)
            # The marker's parent never comes: it waits aside, and is seen all the same.
            marker += 1
            publisher.publish(stored(marker))
            await asyncio.wait_for(seen.wait(), 60)
            seen.clear()
            truth = Holdings(most_blocks=1000)
            for _, payload in publisher.buffer:
                truth.apply(decode_batch(payload))
            keys: list[int] = []
            extend_keys(keys, root_key(None, None), [n.to_bytes(4, "little") for n in range(16)])
            believed, real = (one.held(Keys(keys, 1, exact=True)) for one in (held, truth))
            assert believed.any_units <= real.any_units
            if replay or subscription.complete:
                assert (believed, len(held)) == (real, len(truth))
            if random.random() < 0.5:
                await publisher.close()
                publisher = Publisher(ports=ports)
            else:
                publisher.events.send_multipart([b"", b"", b""])
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                held.clear()
                subscription = Subscription(
                    spec, on_batch=apply, on_gap=lambda _: None, on_reset=lambda _: held.clear()
                )
                task = asyncio.ensure_future(subscription.run())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await publisher.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


@pytest.mark.parametrize("shape", [stored, stored_as_array])
def test_either_shape_of_events_ends_in_the_same_holdings(shape: Any) -> None:
    """Maps and arrays, signed hashes and unsigned ones: the same prompt is held."""

    async def run() -> None:
        publisher, held, enough = Publisher(), Holdings(most_blocks=100), asyncio.Event()

        def apply(batch: Batch) -> None:
            held.apply(batch)
            if len(held) == 5:
                enough.set()

        spec = ReplicaSpec(name="a", url="http://h", events=f"tcp://127.0.0.1:{publisher.ports[0]}")
        subscription = Subscription(
            spec, on_batch=apply, on_gap=lambda _: None, on_reset=lambda _: None
        )
        task = asyncio.ensure_future(subscription.run())
        await publisher.subscribed()
        for number in range(5):
            publisher.publish(shape(number))
        await asyncio.wait_for(enough.wait(), 60)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await publisher.close()
        keys: list[int] = []
        extend_keys(keys, root_key(None, None), [n.to_bytes(4, "little") for n in range(6)])
        assert held.held(Keys(keys, 1, exact=True)).fast_units == 5

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def _subscription(events: str, *, rank: int = 0) -> Subscription:
    spec = ReplicaSpec(name="a", url="http://h", events=events, ranks=2)
    return Subscription(
        spec, rank, on_batch=lambda _: None, on_gap=lambda _: None, on_reset=lambda _: None
    )


def test_without_pyzmq_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events that cannot be followed for want of pyzmq say what to install."""
    monkeypatch.setitem(sys.modules, "zmq", None)
    with pytest.raises(UsageError, match=r"replica 'a' .* install stemcache\[route\]"):
        _subscription("tcp://127.0.0.1:5557")


def test_an_address_to_bind_to_is_refused() -> None:
    """An engine's own setting, copied, is told from an address to connect to."""
    with pytest.raises(UsageError, match=r"'\*' is what an engine binds to"):
        _subscription("tcp://*:5557")


def test_a_rank_needs_a_port_to_count_from() -> None:
    """Each rank's endpoint is the port after; a path has none."""
    assert seat_endpoint("tcp://[::1]:5557", 3) == "tcp://[::1]:5560"
    assert seat_endpoint("ipc:///tmp/kv", 0) == "ipc:///tmp/kv"
    with pytest.raises(UsageError, match="there is no port to count on from"):
        _subscription("ipc:///tmp/kv", rank=1)


def test_an_endpoint_of_no_kind_is_refused() -> None:
    """What ZeroMQ cannot connect to is the user's to correct, and says whose it is."""
    subscription = _subscription("http://127.0.0.1:5557")
    with pytest.raises(UsageError, match=r"'http://127.0.0.1:5557' of replica 'a': "):
        asyncio.run(subscription.run())
