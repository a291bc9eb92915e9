"""Follows the KV events of one seat over ZeroMQ, in order and without holes, or says so.

```
connected ──► ask for all that is buffered ──► live, n, n+1, n+2, …
                        ▲                        │  gap: ask for it
                        └─────── disconnected ◄──┘  fell back, cannot be filled: on_reset
```
Publishing loses messages, and an engine that restarts counts from 0 again. So a sequence number
that jumps is asked for again, and what is told again must begin with the last batch that was taken
over: then it is the same engine that goes on, else everything is forgotten and learned anew. Where
nothing is replayed, each new connection begins with nothing.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from stemcache.errors import UsageError
from stemcache.gateway.kv_decode import decode_batch
from stemcache.gateway.kv_events import (
    Batch,
    Cleared,
    KvEventsError,
    Message,
    portions,
    read_live,
    read_replay,
    replay_request,
)
from stemcache.gateway.replica import ReplicaSpec
from stemcache.server.gateway.zmq_socket import ZmqSocket, load_zmq

__all__ = ["Subscription", "seat_endpoint"]

_MOST_WAITING = 2_000
"""Messages in a socket's queue; behind them ZeroMQ drops, which the sequence numbers show."""

_MOST_REPLAYED = 12_000
"""The same for a replay, where engines keep 10,000 batches and send them all at once."""

_BLOCKS_A_TURN = 256
"""Then the loop's other work goes on; about half a millisecond."""

# What else there is to do, in as much work as one block is.
_BYTES_A_BLOCK = 128
_BLOCKS_A_MESSAGE = 16


class Subscription:
    """The events of one seat. Callbacks are called in the loop, one at a time, and are quick."""

    def __init__(
        self,
        spec: ReplicaSpec,
        rank: int = 0,
        *,
        on_batch: Callable[[Batch], None],
        on_gap: Callable[[int], None],
        on_reset: Callable[[str], None],
        grace_s: float = 10.0,
        replay_s: float = 5.0,
    ) -> None:
        """Ready to `run`. Raises UsageError for an endpoint of no use, or without pyzmq.

        `on_batch`: apply it; an empty one says that `complete` may have changed. `on_gap`: so many
        messages were missed (they may yet be replayed). `on_reset`: whatever was held is not held
        any more, and why. `grace_s`: so long without a connection, and what is held is given up;
        `replay_s`: so long without progress of a replay, and it is given up.
        """
        assert spec.events is not None, f"{spec!r} has no KV events"
        self._zmq = load_zmq(spec)
        self._spec = spec
        self._rank = rank
        self._endpoint = seat_endpoint(spec.events, rank)
        self._replay_endpoint = seat_endpoint(spec.replay, rank) if spec.replay else None
        self._on_batch, self._on_gap, self._on_reset = on_batch, on_gap, on_reset
        self._grace_s, self._replay_s = grace_s, replay_s
        self._next: int | None = None
        self._last_payload: int | None = None
        self._taken = False
        self._silent = False
        self._spent = 0
        self._lost_at_s: float | None = None
        self.live = False
        """Whether there is a connection now."""
        self.complete = False
        """Whether everything since the engine began, or was cleared, has been seen."""
        self.counts: Counter[str] = Counter()
        """batches, replayed, missed, resets, strange (messages that are not KV events),
        other_rank, unreadable, and unknown kinds and fields by name (at most 100)."""

    @property
    def sequence(self) -> int | None:
        """Of the last batch that was taken over."""
        return None if not self._next else self._next - 1

    async def run(self) -> None:
        """Follow until cancelled. A connection that is lost is made again, for ever."""
        while True:
            await self._session()

    async def _session(self) -> None:
        """One connection, from asking for it to losing it."""
        zmq = self._zmq
        with ZmqSocket(
            zmq.SUB, self._endpoint, self._spec, most_waiting=_MOST_WAITING
        ) as subscriber:
            monitor = subscriber.monitored()
            subscriber.connect()
            try:
                last_live: int | None = None
                made = False
                while True:
                    state = self._state(monitor)
                    if state == "lost":
                        self.live = False
                        self._lost_at_s = asyncio.get_running_loop().time()
                        return
                    if state == "made":
                        made = self.live = True
                        self._lost_at_s = None
                        await self._connected()
                    frames = subscriber.take() if made else None
                    if frames is None:
                        await self._wait(subscriber)
                        continue
                    last_live = await self._live(frames, last_live)
            finally:
                self.live = False

    async def _wait(self, subscriber: ZmqSocket) -> None:
        """Until something comes, or what is held must be given up for want of a connection."""
        if self._lost_at_s is None:
            await subscriber.wait(None)
            return
        left_s = self._lost_at_s + self._grace_s - asyncio.get_running_loop().time()
        if left_s > 0:
            await subscriber.wait(left_s)
        else:
            self._lost_at_s = self._next = None
            self._reset(f"no connection to its KV events for {self._grace_s:g} s")

    def _state(self, monitor: Any) -> str:
        """What became of the connection since it was last asked: made, lost, or nothing."""
        zmq = self._zmq
        state = ""
        while True:
            try:
                frames = monitor.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return state
            event = int.from_bytes(frames[0][:2], "little")
            if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                state = "made"
            elif event == zmq.EVENT_DISCONNECTED:
                return "lost"

    async def _connected(self) -> None:
        if self._replay_endpoint is not None:
            await self._catch_up()
        elif self._next is not None:
            self._reset("connected anew, and nothing tells what was missed")
            self._next = None

    async def _live(self, frames: list[bytes], last_live: int | None) -> int | None:
        """Take over a published message, after all that came before it."""
        await self._spend(_BLOCKS_A_MESSAGE)
        try:
            message = read_live(frames)
        except KvEventsError:
            self.counts["strange"] += 1
            return last_live
        sequence = message.sequence
        if last_live is not None and sequence <= last_live:
            self._reset(f"its events began anew: number {sequence:,} after {last_live:,}")
            self._next = None
            if self._replay_endpoint is not None:
                await self._catch_up()
        missing = sequence - (self._next or 0)
        if missing > 0:
            self.counts["missed"] += missing
            self._on_gap(missing)
            if self._replay_endpoint is not None:
                await self._catch_up()
        if self._next is not None and sequence < self._next:
            return sequence  # replayed already
        if self._next is not None and sequence > self._next:
            self._reset(f"{sequence - self._next:,} of its events are lost")
        if self._next is None:
            self.complete = sequence == 0
        await self._take(message)
        return sequence

    async def _catch_up(self) -> None:
        """Take over what is buffered from the last batch on; all of it if that one is not there.

        A replay may itself lose some, its queue being full: then the rest is asked for.
        """
        before = self._next
        lost = await self._continue() if before is not None else await self._begin()
        while lost and self._next != before:
            before = self._next
            lost = await self._continue()

    async def _continue(self) -> bool:
        """Go on behind the last batch, or begin where it is another's. True: some was lost."""
        assert self._next is not None, "continued from nothing"
        last, why = self._next - 1, "it has restarted"
        proven = lost = False
        async with aclosing(self._replayed(last)) as messages:
            async for message in messages:
                if proven:
                    lost |= not await self._take_replayed(message)
                elif message.sequence == last:
                    proven = hash(message.payload) == self._last_payload
                    if not proven:
                        break
                elif message.sequence > last:
                    why = f"{message.sequence - last:,} of its events are no longer replayed"
                    break
        if proven:
            return lost
        if self._silent:
            why = f"events were missed, and {self._replay_endpoint} does not answer"
        self._reset(why)
        self._next = None
        return False if self._silent else await self._begin()

    async def _begin(self) -> bool:
        """Take over all that is buffered. True where some of it was lost on the way."""
        first: int | None = None
        lost, unreadable = False, self.counts["unreadable"]
        async with aclosing(self._replayed(0)) as messages:
            async for message in messages:
                first = message.sequence if first is None else first
                lost |= not await self._take_replayed(message)
        self.complete = not (first or self._silent or self.counts["unreadable"] > unreadable)
        self._on_batch(Batch(events=()))
        return lost

    async def _take_replayed(self, message: Message) -> bool:
        """Take it over if it is the next one; False if it is behind that."""
        if self._next is not None and message.sequence != self._next:
            return message.sequence < self._next
        self.counts["replayed"] += 1
        await self._take(message)
        return True

    async def _replayed(self, first: int) -> AsyncGenerator[Message]:
        """What the engine has buffered from `first` on; ends early where it stops answering."""
        assert self._replay_endpoint is not None, "replayed without an endpoint"
        zmq = self._zmq
        self._silent = False
        with ZmqSocket(
            zmq.DEALER, self._replay_endpoint, self._spec, most_waiting=_MOST_REPLAYED
        ) as dealer:
            dealer.connect()
            dealer.send(replay_request(first))
            while True:
                frames = dealer.take()
                if frames is None:
                    if not await dealer.wait(self._replay_s):
                        self._silent = True
                        return
                    continue
                await self._spend(_BLOCKS_A_MESSAGE)
                try:
                    message = read_replay(frames)
                except KvEventsError:
                    self.counts["strange"] += 1
                    continue
                if message is None:
                    return
                yield message

    async def _take(self, message: Message) -> None:
        self._next = message.sequence + 1
        self._last_payload = hash(message.payload)
        self.counts["batches"] += 1
        await self._spend(len(message.payload) // _BYTES_A_BLOCK)
        try:
            batch = decode_batch(message.payload)
        except KvEventsError as error:
            self.counts["unreadable"] += 1
            self._reset(f"unreadable: {error}")
            return
        for name, count in batch.unknown.items():
            if name in self.counts or len(self.counts) < 100:
                self.counts[name] += count
        if self._spec.ranks > 1 and batch.rank not in {None, self._rank}:
            self.counts["other_rank"] += 1
            return
        for portion in portions(batch, most_blocks=_BLOCKS_A_TURN):
            if isinstance(portion.events[0], Cleared):
                self._reset("its cache was cleared")
                self.complete = True
            self._taken = True
            self._on_batch(portion)
            await self._spend(sum(_blocks(event) for event in portion.events))

    async def _spend(self, blocks: int) -> None:
        """Let others have their turn once enough was done in this one."""
        self._spent += blocks
        if self._spent >= _BLOCKS_A_TURN:
            self._spent = 0
            await asyncio.sleep(0)

    def _reset(self, why: str) -> None:
        self.complete = False
        if self._taken:
            self._taken = False
            self.counts["resets"] += 1
            self._on_reset(why)


def seat_endpoint(endpoint: str, rank: int) -> str:
    """Where rank `rank` publishes: each at the port after the one before."""
    if "*" in endpoint:
        raise UsageError(
            f"KV events endpoint {endpoint!r}: '*' is what an engine binds to; "
            "name the host to connect to, such as tcp://10.0.0.1:5557"
        )
    if not rank:
        return endpoint
    head, colon, port = endpoint.rpartition(":")
    if not endpoint.startswith("tcp://") or not colon or not port.isdecimal():
        raise UsageError(
            f"KV events endpoint {endpoint!r} of a replica of several ranks: there is no port to "
            "count on from; give tcp://host:port"
        )
    return f"{head}:{int(port) + rank}"


def _blocks(event: Any) -> int:
    return 1 if isinstance(event, Cleared) else len(event.hashes)
