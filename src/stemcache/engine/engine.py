"""The engine's face: submit, cancel, reset, and one synchronous step at a time.

```
    submit ──► waiting ──► running ──step, step, ...──► last Progress
    cancel ──────┴────────────┴───────────────────────►  finish = cancelled
```

Published KV is KV that was computed: full blocks after a successful step. A failed step publishes
nothing; the requests that were in it end with an error and the others go on.
"""

from collections.abc import Iterator
from collections.abc import Sequence as Rows
from dataclasses import dataclass
from random import Random

import numpy as np

from stemcache.clock import Clock
from stemcache.core.namespace import Namespace
from stemcache.core.tokens import Chain
from stemcache.engine.config import EngineConfig
from stemcache.engine.kv_cache import KVCache
from stemcache.engine.model import Model, Step
from stemcache.engine.request import FinishReason, GenerationRequest, Progress, TokenLogprobs
from stemcache.engine.sampling import Row, choose, logprobs
from stemcache.engine.scheduler import Part, Scheduler
from stemcache.engine.sequence import Sequence
from stemcache.engine.stats import EngineStats
from stemcache.errors import ContextOverflowError, QueueFullError, RequestError, worded

__all__ = ["Engine"]

_PUBLISH_TOKENS = 16  # a decoding request publishes once this many tokens are new
_RETRY_AFTER_S = 1.0


@dataclass(slots=True)
class _Counters:
    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    recomputed_tokens: int = 0
    completion_tokens: int = 0
    steps: int = 0
    failed_steps: int = 0
    cancelled: int = 0
    resets: int = 0


class Engine:
    """Continues prompts, sharing the KV of equal prefixes. **Not** thread-safe."""

    def __init__(
        self, model: Model, config: EngineConfig, *, clock: Clock, random: Random | None = None
    ) -> None:
        """`random` draws the seeds of requests that bring none."""
        model.allocate(config.pages, config.block_size)
        self._model = model
        self._config = config
        self._clock = clock
        self._random = random or Random()  # noqa: S311  sampling is not a secret
        self._cache = KVCache(config)
        self._scheduler = Scheduler(config, self._cache)
        self._live: dict[str, Sequence] = {}
        self._ended: list[Progress] = []
        self._epoch = 0
        self._count = _Counters()

    @property
    def context_tokens(self) -> int:
        """Prompt and answer together: the model's limit, or what the KV memory holds."""
        return min(self._model.info.context_tokens, self._config.pages * self._config.block_size)

    @property
    def idle(self) -> bool:
        """Whether `step` has nothing to do or to tell."""
        return not self._live and not self._ended

    def submit(self, request: GenerationRequest) -> None:
        """Queue a request. If it raises, nothing has happened."""
        self._refuse(request)
        info = self._model.info
        namespace = Namespace(
            model=info.name,
            revision=info.revision,
            kv_dtype=info.kv_dtype,
            salt=request.salt,
            epoch=self._epoch,
        )
        seed = request.sampling.seed
        sequence = Sequence(
            request=request,
            chain=Chain(
                request.prompt,
                block_size=self._config.block_size,
                namespace=namespace.encode(),
            ),
            arrived_s=self._clock.now(),
            epoch=self._epoch,
            seed=self._random.getrandbits(64) if seed is None else seed,
        )
        self._live[request.request_id] = sequence
        self._scheduler.waiting.append(sequence)

    def cancel(self, request_id: str) -> None:
        """End a request wherever it is; its last `Progress` comes with the next step.

        Harmless if the request is unknown or has ended. What it computed stays published.
        """
        sequence = self._live.get(request_id)
        if sequence is None:
            return
        self._count.cancelled += 1
        self._end(sequence, FinishReason.CANCELLED)

    def reset(self) -> int:
        """Drop every cached prefix; blocks dropped at once.

        Running requests go on with what they hold, but no request submitted from now on is served
        anything computed before; what they held is dropped when they end.
        """
        self._epoch += 1
        self._count.resets += 1
        empty = Chain([], block_size=self._config.block_size, namespace=b"")
        return self._cache.drop(empty)

    def step(self) -> list[Progress]:
        """Compute one batch; what it brought each request that it concerned."""
        parts = self._scheduler.plan(now=self._clock.now())
        for part in parts:
            self._admitted(part.sequence)
        told: list[Progress] = []
        if parts:
            self._count.steps += 1
            told = list(self._compute(parts))
        ended, self._ended = self._ended, []
        return ended + told

    def stats(self) -> EngineStats:
        """Counters and gauges of this moment."""
        cache, count = self._cache, self._count
        running = self._scheduler.running
        return EngineStats(
            waiting=len(self._scheduler.waiting),
            running=len(running),
            pages_total=cache.pool.total,
            pages_free=cache.pool.free,
            pages_owned=sum(each.owned_pages for each in running),
            pages_indexed=len(cache.index),
            pages_pinned=cache.index.pinned,
            requests=count.requests,
            prompt_tokens=count.prompt_tokens,
            cached_tokens=count.cached_tokens,
            computed_tokens=count.prompt_tokens - count.cached_tokens,
            recomputed_tokens=count.recomputed_tokens,
            completion_tokens=count.completion_tokens,
            preemptions=self._scheduler.preemptions,
            evicted_blocks=cache.evicted_blocks,
            steps=count.steps,
            failed_steps=count.failed_steps,
            cancelled=count.cancelled,
            resets=count.resets,
        )

    def check(self) -> None:
        """Verify every invariant; for tests and idle moments. O(pages)."""
        running, waiting = self._scheduler.running, self._scheduler.waiting
        queued = {id(each) for each in (*running, *waiting)}
        assert queued == {id(each) for each in self._live.values()}, "a request is lost or kept"
        assert len(queued) == len(running) + len(waiting), "a request waits and runs"
        assert not any(len(each.pages) or each.lease for each in waiting), "a waiter holds pages"
        self._cache.check(running)

    def _refuse(self, request: GenerationRequest) -> None:
        if request.request_id in self._live:
            raise RequestError(f"request id {request.request_id!r} is in use; choose another")
        if not len(request.prompt):
            raise RequestError("the prompt is empty; send at least one token", param="prompt")
        if request.max_tokens < 1:
            raise RequestError(
                f"max_tokens is {request.max_tokens}; use 1 or more", param="max_tokens"
            )
        vocabulary = self._model.info.vocabulary
        low, high = int(request.prompt.min()), int(request.prompt.max())
        if low < 0 or high >= vocabulary:
            raise RequestError(
                f"token id {low if low < 0 else high} in the prompt is outside the vocabulary; "
                f"use 0 to {vocabulary - 1}",
                param="prompt",
            )
        whole = len(request.prompt) + request.max_tokens
        if whole > self.context_tokens:
            raise ContextOverflowError(
                f"{len(request.prompt)} prompt tokens and max_tokens {request.max_tokens} are "
                f"{whole}, over the limit of {self.context_tokens}; shorten one of them",
                param="max_tokens",
            )
        if len(self._scheduler.waiting) >= self._config.max_waiting:
            raise QueueFullError(
                f"{self._config.max_waiting} requests wait already; try again later",
                retry_after_s=_RETRY_AFTER_S,
            )

    def _admitted(self, sequence: Sequence) -> None:
        """Count an admission once, and what a later one has to compute again."""
        if sequence.cached_tokens is None:
            sequence.cached_tokens = sequence.computed
            sequence.reached = sequence.computed
            self._count.requests += 1
            self._count.prompt_tokens += len(sequence.request.prompt)
            self._count.cached_tokens += sequence.computed

    def _compute(self, parts: Rows[Part]) -> Iterator[Progress]:
        samples = [part for part in parts if part.tokens == part.sequence.missing]
        steps = [
            Step(
                tokens=part.sequence.chain.tokens()[
                    part.sequence.computed : part.sequence.computed + part.tokens
                ].astype("int32"),
                start=part.sequence.computed,
                pages=part.sequence.pages.pages,
                sample=part.tokens == part.sequence.missing,
            )
            for part in parts
        ]
        try:
            logits = self._model.forward(steps)
            assert logits.shape == (len(samples), self._model.info.vocabulary), (
                f"the model gave logits of shape {logits.shape} for {len(samples)} rows"
            )
        except Exception as error:  # noqa: BLE001  whatever it was, these requests failed
            self._fail(parts, worded(error))
            return
        best = logits.argmax(1)
        # The largest of a row is NaN if anything in it is; such KV must not be shared.
        sound = np.isfinite(logits[np.arange(len(best)), best]).tolist()
        broken = [part for part, well in zip(samples, sound, strict=True) if not well]
        if broken:
            self._fail(broken, "the model gave logits that are not numbers")
        now = self._clock.now()
        for part in parts:
            if part not in broken:
                self._advance(part, now)
        for part, row, token, well in zip(samples, logits, best.tolist(), sound, strict=True):
            if not well:
                continue
            try:
                chosen, shown = _choose(part.sequence, row, token)
            except Exception as error:  # noqa: BLE001  one row must not end the others
                self._fail([part], worded(error))
                continue
            yield self._chosen(part.sequence, chosen, shown)

    def _advance(self, part: Part, now: float) -> None:
        sequence = part.sequence
        before = sequence.computed
        sequence.computed += part.tokens
        again = min(sequence.computed, sequence.reached) - before
        if again > 0:
            sequence.recomputed_tokens += again
            self._count.recomputed_tokens += again
        sequence.reached = max(sequence.reached, sequence.computed)
        new_tokens = self._cache.unpublished(sequence) * self._config.block_size
        if part.tokens > 1 or new_tokens >= _PUBLISH_TOKENS:
            self._cache.publish(sequence, now=now)

    def _chosen(self, sequence: Sequence, token: int, shown: tuple[TokenLogprobs, ...]) -> Progress:
        """Append a token, or end at it."""
        request = sequence.request
        model_stop = frozenset() if request.ignore_model_stop else self._model.info.stop_tokens
        if token in model_stop or token in request.stop_tokens:
            return self._end(sequence, FinishReason.STOP, tell=True)
        sequence.chain.extend([token])
        sequence.generated += 1
        self._count.completion_tokens += 1
        if not sequence.remaining:
            return self._end(sequence, FinishReason.LENGTH, (token,), shown, tell=True)
        return Progress(sequence.request_id, (token,), shown, sequence.usage, None)

    def _fail(self, parts: Rows[Part], error: str) -> None:
        self._count.failed_steps += 1
        for part in parts:
            # `computed` did not move, so nothing of this step is published.
            self._end(part.sequence, FinishReason.ERROR, error=error)

    def _end(
        self,
        sequence: Sequence,
        finish: FinishReason,
        tokens: tuple[int, ...] = (),
        shown: tuple[TokenLogprobs, ...] = (),
        *,
        tell: bool = False,
        error: str | None = None,
    ) -> Progress:
        """Take a request out of the engine; its last message, kept for the next step or told."""
        del self._live[sequence.request_id]
        if sequence in self._scheduler.running:
            self._scheduler.leave(sequence, now=self._clock.now())
        else:
            self._scheduler.waiting.remove(sequence)
        if sequence.epoch != self._epoch and sequence.chain.blocks:
            self._cache.drop(sequence.chain.head(1))
        progress = Progress(sequence.request_id, tokens, shown, sequence.usage, finish, error=error)
        if not tell:
            self._ended.append(progress)
        return progress


def _choose(sequence: Sequence, row: Row, best: int) -> tuple[int, tuple[TokenLogprobs, ...]]:
    """The next token, `best` unless chance is asked for, and what is shown of it."""
    sampling = sequence.request.sampling
    token = best
    if sampling.temperature:
        token = choose(row, sampling, seed=sequence.seed, number=sequence.generated)
    if sampling.logprobs is None:
        return token, ()
    return token, (logprobs(row, token, sampling.logprobs),)
