"""One run from the first look at the target to the last answer.

```
reachable? model? ─► probe ─► reset ─► /metrics ─► load ─► last answers ─► /metrics
      └── UsageError ──┴─────────┘                  └── end(): what is under way is given up
```
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import numpy as np

from stemcache.clock import Clock
from stemcache.errors import UsageError
from stemcache.replay.body import BodyMaker
from stemcache.replay.credentials import Credentials
from stemcache.replay.fetch import Fetcher
from stemcache.replay.isolation import Isolation
from stemcache.replay.loops import ClosedLoop, OpenLoop, Pacer
from stemcache.replay.outcome import Outcome
from stemcache.replay.pool import Pool, resolve
from stemcache.replay.probe import (
    NoCountersError,
    check_answer,
    find_model,
    reset_cache,
    scrape,
)
from stemcache.replay.prompts import PromptMaker
from stemcache.replay.scrape import Counters
from stemcache.replay.selection import Planned
from stemcache.replay.sender import Sender, Tally
from stemcache.replay.target import Target
from stemcache.trace.record import TraceRequest

__all__ = ["Job", "Run", "Runner"]

_TICK_S = 0.5
_PROBE_NUMBER = -1
_CONTROL_S = 5.0
"""For an answer beside the load: each is quick, or the target has none."""
_PARTING_S = 1.0
"""The same once the run was ended: somebody waits for it to be over."""
_NO_MODEL = "not known"
"""Of a run that was ended before it learned the name."""
_LEAD_S = 0.1
"""Before an open loop's first request is due, to make the first bodies in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """All that a run depends on."""

    target: Target
    credentials: Credentials
    model: str | None
    """None to take the one that the target lists."""
    prompts: PromptMaker
    isolation: Isolation
    extra: Mapping[str, object] = field(default_factory=dict)
    loop: OpenLoop | ClosedLoop
    timeout_s: float = 600.0
    connect_timeout_s: float = 10.0
    metrics: Target | None = None
    """The page of the server's counters, as `parse_place` makes it; None to do without."""
    probe: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of it."""

    model: str
    outcomes: tuple[Outcome, ...]
    """In the order in which they ended."""
    window_s: float
    """From the start to the last end."""
    ended_by: str | None
    """What ended it before its time; None if it ran to its end."""
    reset_path: str | None
    before: Counters | None
    after: Counters | None
    connections: int
    no_counters: str | None = None
    """Why `before` or `after` is unknown, to follow the name of the page; None if both are known,
    or nobody asked."""


class Runner:
    """Runs one job. `end` may be called from a signal handler of the event loop."""

    def __init__(
        self,
        job: Job,
        *,
        clock: Clock,
        on_tick: Callable[[float, Tally], None] = lambda _elapsed_s, _tally: None,
    ) -> None:
        self._job = job
        self._clock = clock
        self._on_tick = on_tick
        self._pacer = Pacer(clock)
        self._sender: Sender | None = None
        self._ended_by: str | None = None
        self._asking: asyncio.Timeout | None = None
        self._no_counters: str | None = None

    def end(self, reason: str) -> None:
        """Send nothing more and give up what is under way."""
        self._ended_by = reason
        self._pacer.end()
        if self._sender is not None:
            self._sender.give_up()
        if self._asking is not None:
            self._asking.reschedule(0.0)
            self._asking = None

    async def run(self) -> Run:
        """Send everything and wait for the answers. Raises UsageError before the first request."""
        job = self._job
        pool = Pool(await resolve(job.target), self._clock, timeout_s=job.connect_timeout_s)
        patience_s = min(job.timeout_s, _CONTROL_S)
        fetcher = Fetcher(pool, job.target, job.credentials, timeout_s=patience_s)
        try:
            return await self._run(pool, fetcher)
        finally:
            pool.close()

    async def _run(self, pool: Pool, fetcher: Fetcher) -> Run:
        job = self._job
        model = job.model or _NO_MODEL
        if job.probe or job.model is None:
            async with self._until_ended():
                model = await find_model(fetcher, job.model)
        bodies = BodyMaker(
            api=job.target.api,
            model=model,
            prompts=job.prompts,
            cache_salt=job.isolation.cache_salt,
            extra=job.extra,
        )
        if job.probe and not self._pacer.ended:
            await self._probe(pool, bodies)
        reset_path = None
        if job.isolation.kind == "reset" and not self._pacer.ended:
            async with self._until_ended():
                reset_path = await reset_cache(fetcher)
        before = None if self._pacer.ended else await self._counters()
        made = pool.made
        with _few_collections():
            lead_s = _LEAD_S if isinstance(job.loop, OpenLoop) else 0.0
            origin_s = self._clock.now() + lead_s
            sender = self._sender = self._new_sender(pool, origin_s)
            ticking = asyncio.create_task(self._tick(sender, origin_s))
            try:
                await job.loop.run(sender, bodies, self._pacer, origin_s)
                await self._answers(sender)
            finally:
                ticking.cancel()
        outcomes, connections = tuple(sender.outcomes), pool.made - made
        after = None if before is None else await self._counters()
        return Run(
            model=model,
            outcomes=outcomes,
            window_s=max((each.end_s for each in outcomes), default=0.0),
            ended_by=self._ended_by,
            reset_path=reset_path,
            before=before,
            after=after,
            connections=connections,
            no_counters=self._no_counters,
        )

    @asynccontextmanager
    async def _until_ended(self) -> AsyncIterator[None]:
        """What is awaited within is left where it is when the run is ended."""
        try:
            async with asyncio.timeout(None) as self._asking:
                yield
        except TimeoutError:
            pass  # ended
        finally:
            self._asking = None

    def _new_sender(self, pool: Pool, origin_s: float) -> Sender:
        job = self._job
        return Sender(
            pool,
            job.target,
            job.credentials,
            clock=self._clock,
            timeout_s=job.timeout_s,
            origin_s=origin_s,
        )

    async def _probe(self, pool: Pool, bodies: BodyMaker) -> None:
        now_s = self._clock.now()
        before, after = bodies.around(1)
        nothing = TraceRequest(np.empty(0, np.int64), block_tokens=1, prompt_tokens=1)
        body = [before, bodies.prompts.probe(), after]
        sender = self._sender = self._new_sender(pool, now_s)
        outcome = await sender.launch(Planned(_PROBE_NUMBER, nothing, 1), body, due_s=now_s)
        if not self._pacer.ended:
            check_answer(self._job.target, outcome)

    async def _counters(self) -> Counters | None:
        job = self._job
        place = job.metrics
        if place is None:
            return None
        # A key is for the target alone.
        keys = job.credentials if place.origin == job.target.origin else Credentials((), ())
        bound_s = _PARTING_S if self._pacer.ended else _CONTROL_S
        self._no_counters = "was not read: the run was ended"
        async with self._until_ended():
            try:
                pool = Pool(
                    await resolve(place),
                    self._clock,
                    timeout_s=min(job.connect_timeout_s, bound_s),
                )
                fetcher = Fetcher(pool, place, keys, timeout_s=min(job.timeout_s, bound_s))
                counters = await scrape(fetcher, place.base + place.query)
            except UsageError as error:
                self._no_counters = f"could not be read ({error})"
            except NoCountersError as error:
                self._no_counters = str(error)
            else:
                self._no_counters = None
                return counters
        return None

    async def _answers(self, sender: Sender) -> None:
        """Wait for what is still on the way; each has its timeout."""
        landed = asyncio.Event()
        sender.on_landing = landed.set
        while sender.in_flight:
            landed.clear()
            await landed.wait()

    async def _tick(self, sender: Sender, origin_s: float) -> None:
        while True:
            self._on_tick(max(0.0, self._clock.now() - origin_s), sender.tally)
            await asyncio.sleep(_TICK_S)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Spare the run long pauses of the garbage collector, which would be measured as latency."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
