"""Against a publisher on real sockets that speaks as vLLM and SGLang do."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec
import pytest
import zmq

from stemcache.gateway.kv_events import Batch, Stored
from stemcache.gateway.replica import ReplicaSpec
from stemcache.server.gateway.events import Subscription


def stored(number: int) -> list[Any]:
    """A batch that stores one block of the chain 0, 1, 2, …"""
    return [
        float(number),
        [
            {
                "type": "BlockStored",
                "block_hashes": [number],
                "parent_block_hash": number - 1 if number else None,
                "token_ids": [number],
                "block_size": 1,
                "lora_id": None,
                "medium": "GPU",
                "lora_name": None,
            }
        ],
        0,
    ]


async def _readable(socket: "zmq.Socket[Any]") -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    while not socket.poll(0):
        loop.add_reader(socket.FD, ready.set)
        await ready.wait()
        loop.remove_reader(socket.FD)
        ready.clear()


class Publisher:
    """Numbers, keeps and sends batches; loses those that it is told to."""

    def __init__(self, context: "zmq.Context[Any]", *, topic_in_replay: bool = True) -> None:
        self.events = context.socket(zmq.XPUB)
        self.events.linger = 0
        self.port = self.events.bind_to_random_port("tcp://127.0.0.1")
        self.router = context.socket(zmq.ROUTER)
        self.router.linger = 0
        self.replay_port = self.router.bind_to_random_port("tcp://127.0.0.1")
        self.topic_in_replay = topic_in_replay
        self.buffer: list[tuple[int, bytes]] = []
        self.asked: list[int] = []
        self.number = 0

    def close(self) -> None:
        self.events.close(0)
        self.router.close(0)

    async def subscribed(self) -> None:
        """Until a subscriber has come."""
        await _readable(self.events)
        self.events.recv()

    def publish(self, batch: Any, *, lost: bool = False, kept: bool = True) -> None:
        payload = msgspec.msgpack.encode(batch)
        if kept:
            self.buffer.append((self.number, payload))
        if not lost:
            self.events.send_multipart([b"", self.number.to_bytes(8, "big"), payload])
        self.number += 1

    async def serve(self) -> None:
        while True:
            await _readable(self.router)
            client, empty, first = self.router.recv_multipart()
            self.asked.append(int.from_bytes(first, "big"))
            topic = [b""] if self.topic_in_replay else []
            for number, payload in self.buffer:
                if number >= self.asked[-1]:
                    self.router.send_multipart(
                        [client, empty, *topic, number.to_bytes(8, "big"), payload]
                    )
            self.router.send_multipart([client, empty, *topic, b"\xff" * 8, b""])


class Follower:
    """What a subscription told, and waiting for it."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.changed = asyncio.Event()

    def batch(self, batch: Batch) -> None:
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
            await asyncio.wait_for(self.changed.wait(), 10)
        return self.told


@contextmanager
def context() -> Iterator["zmq.Context[Any]"]:
    """A context of the publisher's own, all of whose sockets are closed at the end."""
    made: zmq.Context[Any] = zmq.Context()
    try:
        yield made
    finally:
        made.destroy(0)


@asynccontextmanager
async def following(
    publisher: Publisher, *, replay: bool, **options: Any
) -> AsyncIterator[tuple[Follower, Subscription]]:
    """A subscription that runs, and what it tells."""
    follower = Follower()
    spec = ReplicaSpec(
        name="a",
        url="http://127.0.0.1:1",
        events=f"tcp://127.0.0.1:{publisher.port}",
        replay=f"tcp://127.0.0.1:{publisher.replay_port}" if replay else None,
    )
    subscription = Subscription(
        spec,
        on_batch=follower.batch,
        on_gap=follower.gap,
        on_reset=follower.reset,
        **options,
    )
    tasks = [asyncio.ensure_future(subscription.run()), asyncio.ensure_future(publisher.serve())]
    try:
        yield follower, subscription
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        publisher.close()


@pytest.mark.parametrize("topic", [True, False])
def test_what_was_published_before_it_came_is_asked_for(topic: bool) -> None:  # noqa: FBT001
    """A subscriber that comes late takes over the buffered batches, and then the live ones."""

    async def run() -> None:
        with context() as zmqs:
            publisher = Publisher(zmqs, topic_in_replay=topic)
            for number in range(3):
                publisher.publish(stored(number))
            async with following(publisher, replay=True) as (follower, subscription):
                await publisher.subscribed()
                await follower.until(3)
                publisher.publish(stored(3))
                assert await follower.until(4) == [0, 1, 2, 3]
                assert subscription.complete
                assert subscription.live
                assert publisher.asked == [0]

    asyncio.run(run())


def test_a_lost_batch_is_replayed_in_its_place() -> None:
    """A jump of the sequence number is filled from the replay before what came after it."""

    async def run() -> None:
        with context() as zmqs:
            publisher = Publisher(zmqs)
            async with following(publisher, replay=True) as (follower, _):
                await publisher.subscribed()
                publisher.publish(stored(0))
                await follower.until(1)
                publisher.publish(stored(1), lost=True)
                publisher.publish(stored(2))
                assert await follower.until(4) == [0, ("gap", 1), 1, 2]

    asyncio.run(run())


def test_a_gap_that_nothing_fills_ends_the_trust() -> None:
    """Without a replay, a jump of the sequence number is a reset, and what follows is taken on."""

    async def run() -> None:
        with context() as zmqs:
            publisher = Publisher(zmqs)
            async with following(publisher, replay=False) as (follower, subscription):
                await publisher.subscribed()
                publisher.publish(stored(0))
                await follower.until(1)
                publisher.publish(stored(1), lost=True)
                publisher.publish(stored(2))
                assert await follower.until(4) == [
                    0,
                    ("gap", 1),
                    ("reset", "1 of its events are lost"),
                    2,
                ]
                assert not subscription.complete

    asyncio.run(run())
