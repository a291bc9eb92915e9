"""An engine's publisher of KV events on real sockets, and a connection that can be cut."""

import asyncio
import time
from typing import Any

import msgspec
import zmq

__all__ = ["CLEARED", "Cable", "Publisher", "stored", "stored_as_array"]

CLEARED = {"type": "AllBlocksCleared"}


def stored(number: int, *, run: int = 1, rank: int | None = 0) -> list[Any]:
    """A batch that stores the block `number` of the chain 0, 1, 2, …, as vLLM sends it."""
    event = {
        "type": "BlockStored",
        "block_hashes": list(range(number, number + run)),
        "parent_block_hash": number - 1 if number else None,
        "token_ids": list(range(number, number + run)),
        "block_size": 1,
        "lora_id": None,
        "medium": "GPU",
        "lora_name": None,
    }
    return [float(number), [event], rank]


def stored_as_array(number: int) -> list[Any]:
    """The same as SGLang sent it before it sent maps: by position, hashes signed."""
    parent = number - 1 - 2**63 if number else None
    return [float(number), [["BlockStored", [number - 2**63], parent, [number], 1, None]]]


async def _readable(socket: "zmq.Socket[Any]") -> None:
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    while not socket.poll(0):
        ready.clear()
        loop.add_reader(socket.FD, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(socket.FD)


def _bind(socket: "zmq.Socket[Any]", port: int) -> None:
    """Listen, at the same port as one before: who waits for it there may have it for a moment.

    A connection that is tried from the very port that it goes to is made, with itself.
    """
    for attempt in range(500):
        try:
            socket.bind(f"tcp://127.0.0.1:{port or '*'}")
        except zmq.ZMQError as error:
            if error.errno != zmq.EADDRINUSE or attempt == 499:
                socket.context.destroy(0)
                raise
            time.sleep(0.02)
        else:
            return


class Publisher:
    """Numbers, keeps and sends batches; loses those that it is told to."""

    def __init__(
        self,
        *,
        ports: tuple[int, int] = (0, 0),
        topic_in_replay: bool = True,
        buffer: int | None = None,
    ) -> None:
        self.context: zmq.Context[Any] = zmq.Context()
        self.events = self.context.socket(zmq.XPUB)
        # Every subscription is told, not only the first.
        self.events.setsockopt(zmq.XPUB_VERBOSE, 1)
        self.router = self.context.socket(zmq.ROUTER)
        _bind(self.events, ports[0])
        _bind(self.router, ports[1])
        bound = [
            socket.getsockopt_string(zmq.LAST_ENDPOINT) for socket in (self.events, self.router)
        ]
        self.ports = (int(bound[0].rpartition(":")[2]), int(bound[1].rpartition(":")[2]))
        self.topic_in_replay = topic_in_replay
        self.most_buffered = buffer
        self.buffer: list[tuple[int, bytes]] = []
        self.asked: list[int] = []
        self.answers = True
        self.lost_in_replay: set[int] = set()
        self.number = 0
        self.task = asyncio.ensure_future(self.serve())

    async def close(self) -> None:
        """Go away as a process does that ends."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        self.context.destroy(0)

    async def subscribed(self) -> None:
        """Until a subscriber has come."""
        while True:
            await _readable(self.events)
            if self.events.recv()[:1] == b"\x01":
                return

    def publish(self, batch: Any, *, lost: bool = False) -> None:
        """Send a batch, or only keep it for a replay."""
        self.publish_bytes(msgspec.msgpack.encode(batch), lost=lost)

    def publish_bytes(self, payload: bytes, *, lost: bool = False) -> None:
        """The same with a payload of any kind."""
        self.buffer.append((self.number, payload))
        if self.most_buffered is not None:
            del self.buffer[: -self.most_buffered]
        if not lost:
            self.events.send_multipart([b"", self.number.to_bytes(8, "big"), payload])
        self.number += 1

    async def serve(self) -> None:
        """Answer what is asked to be told again."""
        while True:
            await _readable(self.router)
            client, empty, first = self.router.recv_multipart()
            self.asked.append(int.from_bytes(first, "big"))
            if not self.answers:
                continue
            topic = [b""] if self.topic_in_replay else []
            for number, payload in self.buffer:
                if number in self.lost_in_replay:
                    self.lost_in_replay.discard(number)
                elif number >= self.asked[-1]:
                    self.router.send_multipart(
                        [client, empty, *topic, number.to_bytes(8, "big"), payload]
                    )
            self.router.send_multipart([client, empty, *topic, b"\xff" * 8, b""])


class Cable:
    """A TCP connection's way that can be cut, and laid again."""

    def __init__(self, port: int) -> None:
        self.to = port
        self.writers: list[asyncio.StreamWriter] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.server: asyncio.Server | None = None
        self.port = 0

    async def lay(self) -> None:
        """Let connections through, at the same port as before."""
        self.server = await asyncio.start_server(self._through, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """End all connections, and refuse others."""
        assert self.server is not None
        self.server.close()
        for writer in self.writers:
            writer.close()
        self.writers.clear()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _through(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.append(task)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.to)
        self.writers += [writer, far_writer]

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(
            pump(reader, far_writer), pump(far_reader, writer), return_exceptions=True
        )
