"""The whole of what is said where a server, or its engine, does not go on."""

import asyncio
import os
import signal
from typing import NoReturn

import httpx
import pytest

from stemcache.errors import ModelError
from stemcache.server.engine_client import EngineClient
from stemcache.server.source import ToySource
from stemcache.server.worker import EngineSettings
from tests.cli.test_serve import fails
from tests.server.live_server import serve


class Dying(ToySource):
    """A model that takes its process along."""

    def load_model(self) -> NoReturn:
        """Die as when memory runs out."""
        os._exit(9)


def test_an_engine_that_dies_while_loading_is_told() -> None:
    """With its exit code, and what it may mean."""

    async def start() -> None:
        await EngineClient.start(Dying(name="d"), EngineSettings(kv_memory_bytes=2**16))

    with pytest.raises(ModelError) as caught:
        asyncio.run(start())

    assert (
        "the engine's process ended with 9 while loading 'd'; see its messages above (out of "
        "memory?)"
    ) == str(caught.value)


def test_an_answer_that_takes_longer_than_the_grace_is_told() -> None:
    """With the flag that decides it, and when to come back."""
    with serve("--chunk-tokens", "1", "--grace", "0.05", "--max-running", "1") as server:
        body = {"model": "toy", "prompt": "Go", "max_tokens": 3000, "ignore_eos": True, "n": 60}

        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(timeout=60) as client:
                asking = asyncio.create_task(client.post(f"{server.url}/v1/completions", json=body))
                await asyncio.to_thread(server.wait_for, "stemcache_requests_running", 1)
                server.process.send_signal(signal.SIGTERM)
                return await asking

        answer = asyncio.run(ask())
        assert server.process.wait(60) == 0

    assert (503, "5", "close") == (
        answer.status_code,
        answer.headers["retry-after"],
        answer.headers["connection"],
    )
    assert {
        "message": (
            "the server is shutting down and the answer took longer than its --grace; send the "
            "request to another server, or again later"
        ),
        "type": "service_unavailable_error",
        "param": None,
        "code": "shutting_down",
    } == answer.json()["error"]


def test_a_model_that_is_nowhere_is_told() -> None:
    """With all that can be given instead."""
    assert (
        "stemcache: --model /no/such does not exist; give a directory with weights and tokenizer, "
        "a .gguf file, 'toy', or nothing for the embedded model"
    ) == fails("--model", "/no/such", "--port", "0")
