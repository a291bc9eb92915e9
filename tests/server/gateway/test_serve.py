"""A gateway's life, from its first connection to its last."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random

import uvloop

from stemcache.clock import MonotonicClock
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


def test_what_does_not_finish_is_cut_when_somebody_is_in_a_hurry() -> None:
    """And counted."""
    with life(begin) as it, Client(it.port) as client:
        client.post(CHAT, {**ASK, "stream": True})
        client.until(b"[1]}\n\n")
        it.stop()
        it.hurry()
        client.rest()
        assert it.is_over()
        assert it.fake.calls[0].left.wait(10)
    assert it.cut == 1


def test_grace_has_an_end() -> None:
    """Without a word from anybody."""
    with life(begin, grace_s=0.01) as it, Client(it.port) as client:
        client.post(CHAT, {**ASK, "stream": True})
        client.until(b"[1]}\n\n")
        it.stop()
        client.rest()
        assert it.is_over()
    assert it.cut == 1
