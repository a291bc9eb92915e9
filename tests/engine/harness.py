"""An engine over the toy model, and what tests ask of it again and again."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from stemcache.clock import ManualClock
from stemcache.engine.config import EngineConfig, IndexForm
from stemcache.engine.engine import Engine
from stemcache.engine.model import Logits, ModelInfo, Step
from stemcache.engine.request import FinishReason, GenerationRequest, Progress, Sampling, Usage
from stemcache.engine.toy import ToyModel

GREEDY = Sampling(temperature=0)


class FailingModel:
    """The toy model, except that `fails` may make a step raise or give NaN."""

    def __init__(self, toy: ToyModel, fails: Callable[[], str | None]) -> None:
        self.toy = toy
        self.fails = fails

    @property
    def info(self) -> ModelInfo:
        return self.toy.info

    def allocate(self, pages: int, block_size: int) -> None:
        self.toy.allocate(pages, block_size)

    def forward(self, steps: Sequence[Step]) -> Logits:
        how = self.fails()
        logits = self.toy.forward(steps)
        if how == "raise":
            raise RuntimeError("out of luck")
        if how == "nan" and len(logits):
            logits[0, 3] = np.nan
        return logits


@dataclass
class Answer:
    tokens: list[int] = field(default_factory=list)
    finish: FinishReason | None = None
    usage: Usage | None = None
    error: str | None = None


class Harness:
    """Steps an engine, checks it after each step, and gathers answers."""

    def __init__(
        self,
        *,
        pages: int = 64,
        block_size: int = 4,
        index: IndexForm = "hash",
        fails: Callable[[], str | None] = lambda: None,
        toy: ToyModel | None = None,
        chunk_tokens: int = 64,
        max_running: int = 128,
        max_waiting: int = 1000,
        schedule: str = "fcfs",
        eviction: str = "lru",
        prefix_caching: bool = True,
    ) -> None:
        self.toy = toy or ToyModel()
        self.clock = ManualClock()
        config = EngineConfig(
            pages=pages,
            block_size=block_size,
            index=index,
            chunk_tokens=chunk_tokens,
            max_running=max_running,
            max_waiting=max_waiting,
            schedule=schedule,
            eviction=eviction,
            prefix_caching=prefix_caching,
        )
        self.engine = Engine(
            FailingModel(self.toy, fails), config, clock=self.clock, random=Random(1)
        )
        self.answers: dict[str, Answer] = {}

    def submit(
        self,
        name: str,
        prompt: Iterable[int],
        max_tokens: int = 4,
        *,
        sampling: Sampling = GREEDY,
        salt: str | None = None,
        priority: int = 0,
    ) -> None:
        """Submit and expect an answer."""
        self.engine.submit(
            GenerationRequest(
                name,
                np.array(list(prompt), np.int32),
                max_tokens,
                sampling,
                salt=salt,
                priority=priority,
            )
        )
        self.answers[name] = Answer()

    def step(self) -> list[Progress]:
        """One step, its answers kept, every invariant verified."""
        self.clock.advance(0.1)
        told = self.engine.step()
        for progress in told:
            answer = self.answers[progress.request_id]
            assert answer.finish is None, f"{progress.request_id} went on after its end"
            answer.tokens += progress.tokens
            answer.usage = progress.usage
            answer.finish = progress.finish
            answer.error = progress.error
        self.engine.check()
        stats = self.engine.stats()
        total = stats.pages_free + stats.pages_owned + stats.pages_indexed
        assert total == stats.pages_total
        return told

    def drain(self, limit: int = 10_000) -> None:
        """Step until idle."""
        for _ in range(limit):
            if self.engine.idle:
                return
            self.step()
        raise AssertionError(f"not idle after {limit} steps")

    def ask(
        self, name: str, prompt: Iterable[int], max_tokens: int = 4, **options: object
    ) -> Answer:
        """Submit, drain, and return the answer."""
        self.submit(name, prompt, max_tokens, **options)  # type: ignore[arg-type]
        self.drain()
        return self.answers[name]


def uncached(prompt: Iterable[int], max_tokens: int, sampling: Sampling = GREEDY) -> list[int]:
    """What the toy model answers without a cache, alone."""
    harness = Harness(pages=2000, prefix_caching=False, chunk_tokens=10_000)
    return harness.ask("alone", prompt, max_tokens, sampling=sampling).tokens
