"""A gateway in a thread of this process, in front of fake replicas, and a client for it."""

import asyncio
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Self

import uvloop

from stemcache.clock import Clock, ManualClock, MonotonicClock
from stemcache.gateway.read_prompt import PromptReader
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.router import Router
from stemcache.gateway.settings import GatewaySettings
from stemcache.server.gateway.connection import ClientConnection
from stemcache.server.gateway.gateway import Gateway
from stemcache.server.gateway.pool import Pool
from tests.server.gateway.fakes import FakeReplica, Script

__all__ = ["Client", "Logged", "Near", "NoPages", "ends", "late", "near_gateway", "spec_of"]


class NoPages:
    """There is none of the gateway's own."""

    def answer(
        self, method: str, path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes
    ) -> None:
        """Relay everything."""


@dataclass
class Logged:
    """Keeps what was said."""

    lines: list[dict[str, Any]] = field(default_factory=list)

    def warning(self, event: str, **fields: Any) -> None:
        """Keep it."""
        self.lines.append({"event": event, **fields})

    def exception(self, event: str, **fields: Any) -> None:
        """Keep it."""
        self.lines.append({"event": event, "exception": True, **fields})


def spec_of(fake: FakeReplica, *, path: str = "", **fields: Any) -> ReplicaSpec:
    """The replica as the gateway is told of it."""
    return ReplicaSpec(name=fake.name, url=f"http://127.0.0.1:{fake.port}{path}", **fields)


@dataclass
class Near:
    """A gateway in a thread of this process."""

    fakes: list[FakeReplica]
    loop: asyncio.AbstractEventLoop
    port: int
    gateway: Gateway
    log: Logged
    errors: list[dict[str, Any]]
    """What was raised where nobody expected it."""

    @property
    def url(self) -> str:
        """For clients."""
        return f"http://127.0.0.1:{self.port}"

    def do(self, act: Callable[[], Any]) -> Any:
        """Run in the gateway's loop, and wait for the result."""

        async def run() -> Any:
            return act()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)

    def wait_for(self, what: Coroutine[Any, Any, Any]) -> Any:
        """Its result, from the gateway's loop."""
        return asyncio.run_coroutine_threadsafe(what, self.loop).result(10)

    def until(self, true: Callable[[], bool]) -> None:
        """Go round the loop until it is so."""

        async def run() -> None:
            while not true():  # noqa: ASYNC110  # what is waited for is the product's
                await asyncio.sleep(0.001)

        asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)

    def connect(self) -> "Client":
        """A client's connection."""
        return Client(self.port)

    def said(self, request: bytes, *, timeout_s: float = 10.0) -> bytes:
        """All that the gateway answers until it closes the connection."""
        with self.connect() as client:
            client.sock.settimeout(timeout_s)
            client.send(request)
            return client.rest()


class Client:
    """A client's connection, byte by byte."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        """All of it; a gateway that has closed already is no error."""
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return

    def post(self, path: str, body: object, headers: str = "", version: str = "1.1") -> None:
        """Send a request."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/{version}\r\nHost: x\r\ncontent-type: application/json\r\n"
            f"content-length: {len(data)}\r\n{headers}\r\n"
        )
        self.send(head.encode() + data)

    def until(self, mark: bytes) -> bytes:
        """What comes, up to and with the mark."""
        while mark not in self.buffer:
            part = self.sock.recv(65536)
            assert part, f"the connection ended behind {self.buffer!r}"
            self.buffer += part
        cut = self.buffer.index(mark) + len(mark)
        got, self.buffer = self.buffer[:cut], self.buffer[cut:]
        return got

    def answer(self) -> tuple[bytes, bytes]:
        """One answer: its head, and its body out of its chunks."""
        head = self.until(b"\r\n\r\n")
        found = re.search(rb"(?i)content-length: (\d+)", head)
        if found:
            length = int(found[1])
            while len(self.buffer) < length:
                part = self.sock.recv(65536)
                assert part, "the connection ended"
                self.buffer += part
            body, self.buffer = self.buffer[:length], self.buffer[length:]
            return head, body
        body = b""
        while True:
            size = int(self.until(b"\r\n"), 16)
            while len(self.buffer) < size + 2:
                part = self.sock.recv(65536)
                assert part, "the connection ended"
                self.buffer += part
            body += self.buffer[:size]
            self.buffer = self.buffer[size + 2 :]
            if not size:
                return head, body

    def rest(self) -> bytes:
        """Everything until the end of the connection."""
        data, self.buffer = self.buffer, b""
        while True:
            try:
                part = self.sock.recv(65536)
            except ConnectionResetError:
                return data
            if not part:
                return data
            data += part


@contextmanager
def near_gateway(
    *scripts: Script,
    settings: GatewaySettings | None = None,
    clock: Clock | None = None,
    pages: Any = None,
    reader: Any = None,
    tls: ssl.SSLContext | None = None,
    upstream_tls: ssl.SSLContext | None = None,
    specs: Callable[[list[FakeReplica]], Sequence[ReplicaSpec]] | None = None,
) -> Iterator[Near]:
    """Start fake replicas and a gateway in front of them, in one loop of one thread."""
    fakes = [FakeReplica(script, f"r{i}") for i, script in enumerate(scripts)]
    ready = threading.Event()
    ended: list[Callable[[], object]] = []
    nears: list[Near] = []
    errors: list[dict[str, Any]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: errors.append(context))
        stop = asyncio.Event()
        ended.append(lambda: loop.call_soon_threadsafe(stop.set))
        for fake in fakes:
            await fake.start()
        replicas = specs(fakes) if specs is not None else [spec_of(fake) for fake in fakes]
        given = settings or GatewaySettings(policy="round-robin")
        given = replace(given, replicas=tuple(replicas))
        used = clock or MonotonicClock()
        router = Router(given, rng=Random(1))
        router.configure(given, replicas)
        log = Logged()
        gateway = Gateway(
            given,
            router=router,
            reader=reader or PromptReader(session_headers=given.session_headers),
            pool=Pool(used, tls=upstream_tls),
            pages=pages or NoPages(),
            clock=used,
            log=log,
            rng=Random(2),
        )
        server = await loop.create_server(
            lambda: ClientConnection(gateway), "127.0.0.1", 0, ssl=tls
        )
        port = server.sockets[0].getsockname()[1]
        nears.append(Near(fakes, loop, port, gateway, log, errors))
        ready.set()
        await stop.wait()
        server.close()
        for connection in list(gateway.open):
            connection.abort()
        gateway.close()
        while gateway.pool.open:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.001)
        for fake in fakes:
            fake.stop()
        while gateway.open or any(fake.open for fake in fakes):  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.001)

    def run() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(10), "the gateway did not start"
    near = nears[0]
    try:
        yield near
    finally:
        ended[0]()
        thread.join(10)
        assert not thread.is_alive(), "the gateway did not end"
    assert errors == []
    assert near.gateway.in_flight == 0
    assert near.gateway.buffered_bytes == 0


def ends(near: Near) -> list[tuple[str, Any]]:
    """What the router is told of the ends of flights, from now on."""
    told: list[tuple[str, Any]] = []
    router = near.gateway.router
    done, failed, first = router.done, router.failed, router.first

    def on_done(flight: Any, usage: Any, *, now_s: float) -> None:
        told.append(("done", usage))
        done(flight, usage, now_s=now_s)

    def on_failed(flight: Any, kind: str, *, now_s: float, blame: bool, busy_s: Any) -> None:
        told.append((kind, blame))
        failed(flight, kind, now_s=now_s, blame=blame, busy_s=busy_s)

    def on_first(flight: Any, *, now_s: float) -> None:
        told.append(("first", None))
        first(flight, now_s=now_s)

    for name, spy in (("done", on_done), ("failed", on_failed), ("first", on_first)):
        setattr(router, name, spy)
    return told


def late(clock: ManualClock, near: Near, seconds: float) -> None:
    """Let time pass."""

    def pass_time() -> None:
        clock.advance(seconds)
        near.gateway.sweep()

    near.do(pass_time)
