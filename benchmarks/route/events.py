"""A fake worker's KV events, on ZeroMQ, in the form that vLLM publishes since events are maps."""

from collections import deque
from collections.abc import Sequence

import msgspec
import zmq

from benchmarks.route.cache import BLOCK_CHARACTERS
from benchmarks.route.tokens import BLOCK_TOKENS, token_ids

__all__ = ["Publisher"]

_KEPT = 10_000
_MASK = 2**64 - 1


class Publisher:
    """One worker's events: a PUB socket, and a ROUTER that sends past ones again."""

    def __init__(self) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._events = self._context.socket(zmq.PUB)
        self._events.set_hwm(100_000)
        self._replay = self._context.socket(zmq.ROUTER)
        ports = [each.bind_to_random_port("tcp://127.0.0.1") for each in self._sockets()]
        self.endpoint, self.replay_endpoint = (f"tcp://127.0.0.1:{port}" for port in ports)
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=_KEPT)
        self._sequence = 0

    def _sockets(self) -> "tuple[zmq.Socket[bytes], zmq.Socket[bytes]]":
        return self._events, self._replay

    def changed(
        self, now_s: float, keys: Sequence[int], behind: int, text: str, gone: list[int]
    ) -> None:
        """Blocks were stored behind so many that were held, and others had to go."""
        told: list[dict[str, object]] = []
        if behind < len(keys):
            told.append(
                {
                    "type": "BlockStored",
                    "block_hashes": [key & _MASK for key in keys[behind:]],
                    "parent_block_hash": keys[behind - 1] & _MASK if behind else None,
                    "token_ids": token_ids(
                        text[behind * BLOCK_CHARACTERS : len(keys) * BLOCK_CHARACTERS]
                    ),
                    "block_size": BLOCK_TOKENS,
                    "lora_id": None,
                    "medium": "GPU",
                    "lora_name": None,
                }
            )
        told += [
            {"type": "BlockRemoved", "block_hashes": [key & _MASK], "medium": "GPU"} for key in gone
        ]
        if told:
            self._publish(now_s, told)

    def cleared(self, now_s: float) -> None:
        """All blocks went."""
        self._publish(now_s, [{"type": "AllBlocksCleared"}])

    def restarted(self) -> None:
        """Number events from the start again, as a process begun anew does."""
        self._sequence = 0
        self._kept.clear()

    def _publish(self, now_s: float, told: list[dict[str, object]]) -> None:
        payload = msgspec.msgpack.encode([now_s, told, None])
        self._kept.append((self._sequence, payload))
        self._events.send_multipart([b"", self._sequence.to_bytes(8, "big"), payload])
        self._sequence += 1

    def answer_replays(self) -> None:
        """Send again what was asked for. Never waits."""
        while True:
            try:
                frames = self._replay.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            name, start = frames[0], int.from_bytes(frames[-1], "big")
            for sequence, payload in self._kept:
                if sequence >= start:
                    self._replay.send_multipart(
                        [name, b"", b"", sequence.to_bytes(8, "big"), payload]
                    )
            end = (-1).to_bytes(8, "big", signed=True)
            self._replay.send_multipart([name, b"", b"", end, b""])

    def close(self) -> None:
        """Give the ports back."""
        for each in self._sockets():
            each.close(0)
        self._context.term()
