import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from stemcache.engine.request import FinishReason, GenerationRequest
from stemcache.errors import EngineError, ModelError, QueueFullError, RequestError, UsageError
from stemcache.server.engine_client import EngineClient
from stemcache.server.source import DirectorySource, ToySource
from stemcache.server.worker import EngineSettings, pages_that_fit

SETTINGS = EngineSettings(kv_memory_bytes=2**16, max_waiting=3, max_running=1)


def run(body: Callable[[EngineClient], Awaitable[None]]) -> None:
    """Run with an engine in a process of its own."""

    async def with_client() -> None:
        client = await EngineClient.start(ToySource(), SETTINGS)
        try:
            await body(client)
        finally:
            await client.close()

    asyncio.run(with_client())


def request(number: int, max_tokens: int = 2) -> GenerationRequest:
    """A request with a prompt of its own."""
    return GenerationRequest(
        f"r{number}", np.full(40, number, np.int32), max_tokens, ignore_model_stop=True
    )


def test_a_flight_ends_when_all_its_requests_have() -> None:
    """Every request's tokens arrive, then nothing more; the stats agree."""

    async def body(client: EngineClient) -> None:
        tokens = {"r1": 0, "r2": 0}
        finishes = []
        async with client.submit([request(1, 3), request(2, 5)]) as flight:
            while arrived := await flight.arrivals():
                for progress in arrived:
                    tokens[progress.request_id] += len(progress.tokens)
                    finishes.append(progress.finish)
            assert await flight.arrivals() == []
        assert tokens == {"r1": 3, "r2": 5}
        assert finishes.count(FinishReason.LENGTH) == 2
        assert client.stats.completion_tokens == 8
        assert client.waiting == 0

    run(body)


def test_what_is_cancelled_before_it_left_is_never_sent() -> None:
    """A client that is gone at once costs the engine nothing."""

    async def body(client: EngineClient) -> None:
        async with client.submit([request(1, 100)]):
            pass
        async with client.submit([request(2)]) as flight:
            while await flight.arrivals():
                pass
        assert client.stats.requests == 1
        assert client.stats.cancelled == 0

    run(body)


def test_leaving_a_flight_cancels_what_runs() -> None:
    """The engine gives its pages back."""

    async def body(client: EngineClient) -> None:
        async with client.submit([request(1, 900)]) as flight:
            await flight.arrivals()
        async with client.submit([request(2)]) as flight:
            while await flight.arrivals():
                pass
        assert client.stats.cancelled == 1
        assert client.stats.pages_owned == client.stats.pages_pinned == 0

    run(body)


def test_all_requests_of_a_flight_fit_the_queue_or_none_is_sent() -> None:
    """A full queue is told at once; more than it could ever take is the request's mistake."""

    async def body(client: EngineClient) -> None:
        with pytest.raises(RequestError, match="asks for 4 answers, and the queue takes 3"):
            client.submit([request(n) for n in range(4)])
        async with client.submit([request(1), request(2)]) as flight:
            with pytest.raises(QueueFullError, match="2 requests wait, and the queue takes 3"):
                client.submit([request(3), request(4)])
            while await flight.arrivals():
                pass
        assert client.stats.requests == 2

    run(body)


def test_what_the_engine_refuses_comes_out_of_the_flight() -> None:
    """The error is the engine's own, with its field."""

    async def body(client: EngineClient) -> None:
        bad = GenerationRequest("bad", np.array([999], np.int32), 2)
        async with client.submit([bad]) as flight:
            with pytest.raises(RequestError, match="outside the vocabulary") as caught:
                await flight.arrivals()
        assert caught.value.param == "prompt"

    run(body)


def test_resets_answer_in_order() -> None:
    """The first drops what is cached, the second finds nothing."""

    async def body(client: EngineClient) -> None:
        async with client.submit([request(1)]) as flight:
            while await flight.arrivals():
                pass
        first, second = await asyncio.gather(client.reset(), client.reset())
        assert first == 2
        assert second == 0

    run(body)


def test_after_its_process_is_gone_everything_fails_at_once() -> None:
    """Nobody waits for an engine that will never answer."""

    async def body(client: EngineClient) -> None:
        async with client.submit([request(1, 900)]) as flight:
            await flight.arrivals()
            client._process.kill()
            await client.ended.wait()
            with pytest.raises(EngineError, match="the engine's process has ended; restart"):
                await flight.arrivals()
        assert not client.alive
        with pytest.raises(EngineError, match="the engine's process has ended"):
            client.submit([request(2)])
        with pytest.raises(EngineError, match="the engine's process has ended"):
            await client.reset()

    run(body)


@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        (
            ToySource(),
            EngineSettings(kv_memory_bytes=100),
            "--kv-memory is 100 bytes, less than one page of 384 bytes; give more memory",
        ),
        (
            ToySource(),
            EngineSettings(kv_memory_bytes=2**16, eviction="lruu"),
            "unknown policy 'lruu' from --eviction; did you mean 'lru'?",
        ),
    ],
)
def test_what_cannot_be_loaded_is_told_in_one_line(
    source: ToySource | DirectorySource, settings: EngineSettings, message: str
) -> None:
    """The process's own words arrive as the user's error."""

    async def start() -> None:
        await EngineClient.start(source, settings)

    with pytest.raises(UsageError) as caught:
        asyncio.run(start())
    assert message in str(caught.value)


class Broken(ToySource):
    """A model whose files are not what they seem."""

    def load_model(self) -> NoReturn:
        """Fail as a library would."""
        raise ValueError("tensor 7 is upside down")


class Dying(ToySource):
    """A model that takes its process along."""

    def load_model(self) -> NoReturn:
        """Die as when memory runs out."""
        os._exit(9)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            Broken(name="b"),
            "the model 'b' cannot be loaded: ValueError: tensor 7 is upside down; see the",
        ),
        (
            Dying(name="d"),
            "the engine's process ended with 9 while loading 'd'; see its messages above",
        ),
    ],
)
def test_a_model_that_breaks_while_loading_is_told(source: ToySource, message: str) -> None:
    """Whatever went wrong, the user gets one line."""

    async def start() -> None:
        await EngineClient.start(source, SETTINGS)

    with pytest.raises(UsageError) as caught:
        asyncio.run(start())
    assert message in str(caught.value)


def test_without_torch_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base install has none."""
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "stemcache.engine.torch.model", raising=False)
    source = DirectorySource(path=tmp_path, name="m", dtype="auto")
    with pytest.raises(ModelError, match=r"needs the package torch, .* 'stemcache\[engine\]'"):
        source.load_model()


def test_a_model_that_is_no_model_is_told(tmp_path: Path) -> None:
    """An empty directory has no weights."""

    async def start() -> None:
        source = DirectorySource(path=tmp_path, name="empty", dtype="auto")
        await EngineClient.start(source, SETTINGS)

    with pytest.raises(UsageError, match=f"{tmp_path}"):
        asyncio.run(start())


def test_pages_fill_the_memory() -> None:
    """As many whole pages as fit."""
    assert pages_that_fit(EngineSettings(kv_memory_bytes=1000, block_size=4), 24) == 10
