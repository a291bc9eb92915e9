"""A ZeroMQ socket in the running loop, without an event loop of ZeroMQ's own.

pyzmq, an extra, is imported where it is first needed.
"""

import asyncio
from types import ModuleType
from typing import Any, Self

from stemcache.errors import UsageError
from stemcache.gateway.kv_decode import MOST_MESSAGE_BYTES
from stemcache.gateway.replica import ReplicaSpec

__all__ = ["ZmqSocket", "load_zmq"]


class ZmqSocket:
    """A ZeroMQ socket whose messages are waited for in the running loop."""

    def __init__(self, kind: int, endpoint: str, spec: ReplicaSpec, *, most_waiting: int) -> None:
        """Not connected yet. `spec`: whose events, for messages; and their topic."""
        zmq = load_zmq(spec)
        self._zmq, self._endpoint, self._spec = zmq, endpoint, spec
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._watched: list[int] = []
        self._monitor: Any = None
        socket = zmq.Context.instance().socket(kind)
        self._socket = socket
        for option, value in (
            (zmq.LINGER, 0),
            (zmq.RCVHWM, most_waiting),
            (zmq.MAXMSGSIZE, MOST_MESSAGE_BYTES),
            (zmq.IPV6, int("[" in endpoint)),
            (zmq.RECONNECT_IVL, 100),
            (zmq.RECONNECT_IVL_MAX, 2_000),
            # A peer that vanished without a word.
            (zmq.HEARTBEAT_IVL, 5_000),
            (zmq.HEARTBEAT_TIMEOUT, 15_000),
        ):
            socket.setsockopt(option, value)
        if kind == zmq.SUB:
            socket.setsockopt(zmq.SUBSCRIBE, spec.topic.encode())
        self._watch(socket)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._monitor is not None:
            self._socket.disable_monitor()
            self._monitor.close(0)
        self._socket.close(0)

    def connect(self) -> None:
        """Begin to connect, for ever. Raises UsageError for what is no endpoint."""
        try:
            self._socket.connect(self._endpoint)
        except self._zmq.ZMQError as error:
            raise UsageError(
                f"KV events endpoint {self._endpoint!r} of replica {self._spec.name!r}: {error}; "
                "give one that can be connected to, such as tcp://10.0.0.1:5557"
            ) from error

    def monitored(self) -> Any:
        """A socket that tells what becomes of the connection; waited for together with this one."""
        zmq = self._zmq
        self._monitor = self._socket.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
        )
        self._watch(self._monitor)
        return self._monitor

    def send(self, frames: list[bytes]) -> None:
        """Queue a message, though nobody is connected yet."""
        self._socket.send_multipart(frames, self._zmq.NOBLOCK)

    def take(self) -> list[bytes] | None:
        """The next message, if one has come."""
        try:
            frames: list[bytes] = self._socket.recv_multipart(self._zmq.NOBLOCK)
        except self._zmq.Again:
            return None
        return frames

    async def wait(self, most_s: float | None) -> bool:
        """Until something may have come; False where it took too long.

        ZeroMQ tells of a change once: everything must have been taken before. And it is listened to
        only while waiting, or an untaken change would wake the loop for ever.
        """
        self._ready.clear()
        for descriptor in self._watched:
            self._loop.add_reader(descriptor, self._ready.set)
        try:
            async with asyncio.timeout(most_s):
                await self._ready.wait()
        except TimeoutError:
            return False
        finally:
            for descriptor in self._watched:
                self._loop.remove_reader(descriptor)
        return True

    def _watch(self, socket: Any) -> None:
        self._watched.append(socket.getsockopt(self._zmq.FD))


def load_zmq(spec: ReplicaSpec) -> ModuleType:
    """The module, or a UsageError that names the extra."""
    try:
        import zmq  # noqa: PLC0415  (an extra, needed by this alone)
    except ImportError:
        raise UsageError(
            f"replica {spec.name!r} has KV events at {spec.events!r}, and pyzmq is not installed; "
            "install stemcache[route], or leave its events out"
        ) from None
    return zmq
