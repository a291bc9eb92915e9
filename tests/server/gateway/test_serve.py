"""A gateway's life, from its first connection to its last."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
import uvloop

from stemcache.clock import MonotonicClock
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.read_prompt import PromptReader
from stemcache.gateway.router import Router
from stemcache.gateway.settings import GatewaySettings
from stemcache.server.gateway.gateway import Gateway
from stemcache.server.gateway.pool import Pool
from stemcache.server.gateway.serve import serve_until
from tests.server.gateway.fakes import Call, FakeReplica, chat, event, json_answer, stream_head
from tests.server.gateway.near import Client, Logged, NoPages, spec_of

CHAT = "/v1/chat/completions"
ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


@dataclass
class Life:
    """A gateway that is served."""

    fake: FakeReplica
    port: int = 0
    gateway: Gateway | None = None
    cut: int | None = None
    stop: Callable[[], object] = lambda: None
    hurry: Callable[[], object] = lambda: None
    over: threading.Event = field(default_factory=threading.Event)

    def draining(self) -> bool:
        """Whether it has begun to, which it does within a moment."""

        async def wait() -> bool:
            assert self.gateway is not None
            while not self.gateway.draining:  # noqa: ASYNC110  # what is waited for is the product's
                await asyncio.sleep(0.001)
            return True

        assert self.fake.loop is not None
        return asyncio.run_coroutine_threadsafe(wait(), self.fake.loop).result(10)

    def is_over(self) -> bool:
        """Within a moment."""
        return self.over.wait(10)


@contextmanager
def life(script: Callable[[Call], None], *, grace_s: float = 10.0) -> Iterator[Life]:
    """Serve, and stop in the end at the latest."""
    fake = FakeReplica(script)
    it = Life(fake)
    ready = threading.Event()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        stop, hurry = asyncio.Event(), asyncio.Event()
        it.stop = lambda: loop.call_soon_threadsafe(stop.set)
        it.hurry = lambda: loop.call_soon_threadsafe(hurry.set)
        await fake.start()
        settings = GatewaySettings(replicas=(spec_of(fake),))
        router = Router(settings, rng=Random(1))
        router.configure(settings, settings.replicas)
        clock = MonotonicClock()
        gateway = Gateway(
            settings,
            router=router,
            reader=PromptReader(),
            pool=Pool(clock),
            pages=NoPages(),
            clock=clock,
            log=Logged(),
            rng=Random(1),
        )
        it.gateway = gateway
        sock = socket.create_server(("127.0.0.1", 0))
        it.port = sock.getsockname()[1]
        ready.set()
        it.cut = await serve_until(stop, hurry, sock, gateway, grace_s=grace_s)
        it.over.set()
        assert not gateway.open
        fake.stop()

    def run() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(main())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield it
    finally:
        with suppress(RuntimeError):  # it is over, and so is its loop
            it.stop()
            it.hurry()
        thread.join(10)
        assert not thread.is_alive()


def begin(call: Call) -> None:
    """A stream, of which more is to come."""
    call.transport.write(stream_head() + event({"choices": [1]}))


def test_what_runs_may_finish() -> None:
    """Idle connections are closed at once, and no new ones taken."""
    with life(begin) as it:
        idle, busy = Client(it.port), Client(it.port)
        with idle, busy:
            it.fake.script = chat
            idle.post(CHAT, ASK)
            idle.answer()
            it.fake.script = begin
            busy.post(CHAT, {**ASK, "stream": True})
            busy.until(b"[1]}\n\n")
            it.stop()
            assert idle.rest() == b""
            assert not it.over.is_set()
            it.fake.calls[-1].write(event("[DONE]") + event(b""))
            assert busy.rest().endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        assert it.is_over()
    assert it.cut == 0


def test_an_answer_that_begins_while_draining_is_the_last() -> None:
    """The client is told to connect anew."""
    with life(lambda _call: None) as it, Client(it.port) as client:
        client.post(CHAT, ASK)
        call = it.fake.wait_calls(1)[0]
        it.stop()
        assert it.draining()
        call.write(json_answer({"a": 1}))
        got = client.rest()
        assert b"\r\nConnection: close\r\n" in got
        assert json.loads(got.partition(b"\r\n\r\n")[2]) == {"a": 1}
        assert it.is_over()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (CHAT, b'data: {"error":{"message":"the gateway is stopping; send the request again",'),
        (
            "/v1/messages",
            b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error",',
        ),
    ],
)
@pytest.mark.parametrize("hurry", [True, False])
def test_a_stream_that_does_not_finish_ends_in_an_error_event(
    path: str, said: bytes, *, hurry: bool
) -> None:
    """When somebody is in a hurry, or without a word at the end of the grace; it is counted."""
    with life(begin, grace_s=10.0 if hurry else 0.01) as it, Client(it.port) as client:
        client.post(path, {**ASK, "stream": True, "max_tokens": 1})
        client.until(b"[1]}\n\n")
        it.stop()
        if hurry:
            it.hurry()
        rest = client.rest()
        assert said in rest
        assert rest.endswith(b"\n\n\r\n0\r\n\r\n")
        assert it.is_over()
        assert it.fake.calls[0].left.wait(10)
    assert it.cut == 1


def test_an_answer_that_has_not_begun_is_refused_in_the_end() -> None:
    """What has not been answered at all can be asked of another gateway."""
    with life(lambda _call: None, grace_s=0.01) as it, Client(it.port) as client:
        client.post(CHAT, ASK)
        it.fake.wait_calls(1)
        it.stop()
        got = client.rest()
        assert got.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"\r\nretry-after: 1\r\n" in got
        assert b"\r\nconnection: close\r\n" in got
        assert json.loads(got.partition(b"\r\n\r\n")[2])["error"]["code"] == "gateway_stopping"
        assert it.is_over()
    assert it.cut == 1


def test_a_request_that_is_still_read_is_refused_in_the_end() -> None:
    """A long one, in its thread, whose end nobody waits for."""
    reading, go_on = threading.Event(), threading.Event()

    class Slow(PromptReader):
        def read(self, *args: Any, **kwargs: Any) -> Prompt:
            reading.set()
            assert go_on.wait(10)
            return super().read(*args, **kwargs)

    with life(chat, grace_s=0.01) as it, Client(it.port) as client:
        assert it.gateway is not None
        it.gateway.reader = Slow()
        content = "x" * 300_000
        client.post(CHAT, {"model": "m", "messages": [{"role": "user", "content": content}]})
        assert reading.wait(10)
        it.stop()
        assert b'"code":"gateway_stopping"' in client.rest()
        go_on.set()
        assert it.is_over()
        assert it.fake.calls == []
        assert it.gateway.in_flight == it.gateway.buffered_bytes == 0
    assert it.cut == 1


def test_an_answer_that_is_no_stream_is_cut_in_the_end() -> None:
    """It cannot say that it is not whole, but for its length."""

    def half(call: Call) -> None:
        call.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc")

    with life(half, grace_s=0.01) as it, Client(it.port) as client:
        client.post(CHAT, ASK)
        client.until(b"abc")
        it.stop()
        assert client.rest() == b""
        assert it.is_over()
    assert it.cut == 1


def test_a_client_that_does_not_read_its_end_is_not_waited_for() -> None:
    """Not for longer than a moment."""

    def flood(call: Call) -> None:
        call.transport.write(stream_head() + event({"choices": ["x" * 60_000]}) * 400)

    with life(flood, grace_s=0.01) as it, Client(it.port) as client:
        client.post(CHAT, {**ASK, "stream": True})
        client.until(b"data: ")
        begun = time.monotonic()
        it.stop()
        assert it.is_over()
        assert time.monotonic() - begun < 8
    assert it.cut == 1
