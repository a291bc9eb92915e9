"""A toy model that fails on demand, behind the real worker and real HTTP."""

import asyncio
import os
import signal
from collections.abc import Coroutine, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
import numpy as np
import structlog

from stemcache.clock import MonotonicClock
from stemcache.engine.model import Logits, Model, ModelInfo, Step
from stemcache.server.run import Ready, bind, run_server
from stemcache.server.service import ServiceSettings
from stemcache.server.source import ToySource
from stemcache.server.worker import EngineSettings
from tests.server.stage import samples

__all__ = [
    "BREAKS_AT",
    "NOT_NUMBERS",
    "OUT_OF_MEMORY",
    "RAISED",
    "RAISES",
    "TURNS_TO_NAN",
    "FragileServer",
    "FragileSource",
    "cached",
    "error_of",
    "stem",
]

T = TypeVar("T")

RAISES = 1
"""A step with this token raises."""

TURNS_TO_NAN = 2
"""A sequence that ends with this token gets logits that are not numbers."""

BREAKS_AT = 200
"""A step that decodes the token at this position waits until the gate is opened, and raises."""

RAISED = "the engine failed on this request: ValueError: a token that hurts; send it again"
NOT_NUMBERS = (
    "the engine failed on this request: the model gave logits that are not numbers; send it again"
)
OUT_OF_MEMORY = "the engine failed on this request: MemoryError: no room; send it again"


class FragileModel:
    """The toy model, until it meets what it cannot bear."""

    def __init__(self, model: Model, gate: Path) -> None:
        self._model = model
        self._gate = gate

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    def allocate(self, pages: int, block_size: int) -> None:
        self._model.allocate(pages, block_size)

    def forward(self, steps: Sequence[Step]) -> Logits:
        for step in steps:
            if RAISES in step.tokens:
                raise ValueError("a token that hurts")
            if step.start == BREAKS_AT and len(step.tokens) == 1:
                self._gate.open().close()
                raise MemoryError("no room")
        logits = self._model.forward(steps)
        logits[:, [RAISES, TURNS_TO_NAN]] = 0.0  # the least of them: it hurts itself on demand only
        for row, step in zip(logits, [step for step in steps if step.sample], strict=True):
            if step.tokens[-1] == TURNS_TO_NAN:
                row[3] = np.nan
        return logits


@dataclass(frozen=True, slots=True, kw_only=True)
class FragileSource(ToySource):
    """Where the engine's process gets it from."""

    gate: Path
    """A named pipe: opening it to read waits until another opens it to write."""

    def load_model(self) -> Model:
        return FragileModel(ToySource.load_model(self), self.gate)


@dataclass
class FragileServer:
    """`run_server` in this process, its engine in another; a runner drives both ends."""

    engine: EngineSettings
    gate: Path
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)
    log: list[MutableMapping[str, Any]] = field(default_factory=list)
    url: str = ""

    def start(self) -> None:
        """Serve; returns when the server is ready."""
        os.mkfifo(self.gate)
        self.runner.run(self._start())

    async def _start(self) -> None:
        capture = structlog.testing.LogCapture()
        self.log = capture.entries
        ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._serving = asyncio.create_task(
            run_server(
                bind("127.0.0.1", 0),
                FragileSource(gate=self.gate),
                self.engine,
                ServiceSettings(model_name="toy"),
                grace_s=5.0,
                clock=MonotonicClock(),
                wall=lambda: 0.0,
                logger=structlog.wrap_logger(
                    structlog.testing.CapturingLogger(),
                    processors=[capture],
                    wrapper_class=structlog.make_filtering_bound_logger(0),
                ),
                on_ready=ready.set_result,
            )
        )
        waits: set[asyncio.Future[Any]] = {ready, self._serving}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        self.url = ready.result().url

    def stop(self) -> int:
        """End as a service manager ends it; the exit code."""

        async def end() -> int:
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL, "one server at a time"
            os.kill(os.getpid(), signal.SIGTERM)
            return await self._serving

        try:
            return self.runner.run(end())
        finally:
            self.runner.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something while the server goes on."""
        return self.runner.run(work)

    async def ask(self, client: httpx.AsyncClient, **fields: object) -> httpx.Response:
        """A completion that goes on to its limit."""
        body = {"model": "toy", "max_tokens": 2, "temperature": 0, "ignore_eos": True, **fields}
        return await client.post(f"{self.url}/v1/completions", json=body)

    def complete(self, *asked: Mapping[str, object]) -> list[httpx.Response]:
        """The answers to requests that are sent together."""

        async def all_of_them() -> list[httpx.Response]:
            async with httpx.AsyncClient(timeout=60) as client:
                return await asyncio.gather(*(self.ask(client, **fields) for fields in asked))

        return self.run(all_of_them())

    async def open_gate(self) -> None:
        """Let the model break once it has got to `BREAKS_AT`."""
        await asyncio.to_thread(lambda: self.gate.open("w").close())

    def metrics(self) -> dict[str, float]:
        """Samples, as `samples` names them, once nothing runs."""

        async def look() -> dict[str, float]:
            async with httpx.AsyncClient() as client:
                while True:
                    found = samples((await client.get(f"{self.url}/metrics")).content)
                    if not found["requests_running"] and not found["requests_waiting"]:
                        return found

        return self.run(look())


def stem(mark: str) -> list[int]:
    """Four blocks that no other test has."""
    return list(mark.encode().ljust(64, b"."))


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """The error object of an answer that is nothing else."""
    body = answer.json()
    assert list(body) == ["error"]
    return dict(body["error"])


def cached(answer: httpx.Response) -> int:
    """How much of the prompt was found."""
    assert answer.status_code == 200, answer.text
    return int(answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"])
