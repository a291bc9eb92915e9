"""A replica that does as it is told, and answers in the shapes of the APIs."""

import asyncio
import json
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from typing import Any, cast

__all__ = ["Call", "FakeReplica", "Script", "chat", "event", "json_answer", "stream_head"]


class Call:
    """One request that a fake replica got."""

    def __init__(self, replica: "FakeReplica", transport: asyncio.Transport, head: bytes) -> None:
        self.replica = replica
        self.transport = transport
        start, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = start.split(" ")
        self.lines = lines
        self.headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines)}
        self.body = b""
        self.left = threading.Event()
        """Set when the gateway closed the connection."""

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)

    def write(self, data: bytes) -> None:
        """Answer, from the replica's own thread or from any other."""
        self.replica.soon(lambda: self.transport.write(data))

    def close(self) -> None:
        """Close in order."""
        self.replica.soon(self.transport.close)

    def reset(self) -> None:
        """Close as a process does that is killed."""
        sock = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.replica.soon(self.transport.abort)


Script = Callable[[Call], None]
"""Answers a call, at once or later."""


class FakeReplica(asyncio.Protocol):
    """Calls its script for each request. One object for all its connections."""

    def __init__(self, script: Script, name: str = "r0") -> None:
        self.script = script
        self.name = name
        self.calls: list[Call] = []
        self.arrived = threading.Condition()
        self.early: bytes | None = None
        """Said at the first byte of a connection; then nothing is read any more."""
        self.connections = 0
        self.open: set[asyncio.Transport] = set()
        self.port = 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self.server: asyncio.Server | None = None

    def soon(self, act: Callable[[], object]) -> None:
        """Run in the loop."""
        assert self.loop is not None
        self.loop.call_soon_threadsafe(act)

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        """Listen on a free port."""
        self.loop = asyncio.get_running_loop()
        self.server = await self.loop.create_server(
            lambda: _Connection(self), "127.0.0.1", self.port, ssl=tls
        )
        self.port = self.server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Close the listening address and every connection, as a killed process does."""
        if self.server is not None:
            self.server.close()
        for transport in list(self.open):
            transport.abort()

    def wait_calls(self, count: int) -> list[Call]:
        """Once there are so many."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.calls) >= count, 10), self.calls
            return self.calls


class _Connection(asyncio.Protocol):
    def __init__(self, replica: FakeReplica) -> None:
        self.replica = replica
        self.buffer = b""
        self.call: Call | None = None
        self.calls: list[Call] = []
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.replica.connections += 1
        self.replica.open.add(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # by its name
        assert self.transport is not None
        self.replica.open.discard(self.transport)
        for call in self.calls:
            call.left.set()

    def data_received(self, data: bytes) -> None:
        if self.replica.early is not None and self.transport is not None:
            self.transport.pause_reading()
            self.transport.write(self.replica.early)
            return
        self.buffer += data
        while self.buffer:
            head, end, rest = self.buffer.partition(b"\r\n\r\n")
            if not end:
                return
            found = re.search(rb"(?i)content-length: (\d+)", head)
            length = int(found[1]) if found else 0
            if len(rest) < length:
                return
            assert self.transport is not None
            call = Call(self.replica, self.transport, head)
            call.body, self.buffer = rest[:length], rest[length:]
            self.calls.append(call)
            with self.replica.arrived:
                self.replica.calls.append(call)
                self.replica.arrived.notify_all()
            self.replica.script(call)


def json_answer(value: object, *, status: int = 200, headers: str = "") -> bytes:
    """A whole answer with a length."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return (
        f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n{headers}\r\n"
    ).encode() + body


def stream_head(headers: str = "") -> bytes:
    """The head of a stream in chunks."""
    return (
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
        f"{headers}transfer-encoding: chunked\r\n\r\n"
    ).encode()


def event(data: object) -> bytes:
    """One event as a chunk; of a string its words, of anything else its JSON; b"" ends all."""
    if data == b"":
        return b"0\r\n\r\n"
    text = data if isinstance(data, str) else json.dumps(data, separators=(",", ":"))
    body = f"data: {text}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(body), body)


def chat(call: Call) -> None:
    """A script: an answer of Chat Completions, as a stream where it is asked for."""
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    asked = json.loads(call.body) if call.body else {}
    if not isinstance(asked, dict) or not asked.get("stream"):
        call.transport.write(
            json_answer({"choices": [{"message": {"content": "hi"}}], "usage": usage})
        )
        return
    out = [stream_head()]
    out += [event({"choices": [{"delta": {"content": word}}]}) for word in ("a", "b", "c")]
    if (asked.get("stream_options") or {}).get("include_usage"):
        out.append(event({"choices": [], "usage": usage}))
    out += [event("[DONE]"), event(b"")]
    call.transport.write(b"".join(out))
