"""Active checks: whether a replica is up, what it is, and whether it is still the same process.

```
       check ok                         check failed, down_after times in a row
 ┌─► up ────────────────────────────────────────────────────────────► down ─┐
 │    └─ asked what it is: engine, models, adapters, KV, start             │
 └───────────────────────── up_after checks in a row ◄─────────────────────┘
```
A check that runs out of time says nothing of a replica that answers requests meanwhile, or goes on
with an answer: it is busy. Nor does one that was looked at too late, as this process stood still.
A refused connection, or a 503, does. After a failure the next check is not long in coming, and one
is enough where requests have failed too.
"""

import asyncio
import math
import ssl
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from structlog.typing import FilteringBoundLogger

from stemcache.clock import Clock
from stemcache.gateway.engine_pages import (
    Capacity,
    ModelPage,
    read_metrics,
    read_models,
    read_props,
    read_server_info,
)
from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.gateway.settings import HealthSettings
from stemcache.server.gateway.ask import AskError, Reply, ask
from stemcache.wire.origin import Origin, parse_origin

__all__ = ["Health", "Watching"]

_ASK_EVERY = 6
"""Checks between two looks at what a replica is."""
_JITTER = 0.1
_STALL_S = 0.5
"""A check that ends so much after its time was not looked at."""
_SOON_S = 0.25
"""Until the next check while it is not well for sure; twice as long after each that fails."""
_NOT_THERE = frozenset({401, 403, 404, 405, 501})
"""A server that says so is up; it only lacks the page, or wants a key for it."""
_SAYS_NO = 503


class Watching(Protocol):
    """**Protocol**: who is told. The router."""

    def checked(self, name: str, *, ok: bool, detail: str, now_s: float) -> None:
        """Whether a replica is up."""
        ...

    def learned(
        self,
        name: str,
        *,
        now_s: float,
        engine: Engine | None = None,
        models: Iterable[str] | None = None,
        adapters: Iterable[str] | None = None,
        kv_tokens: int | None = None,
        block_tokens: int | None = None,
        started: float | None = None,
    ) -> None:
        """What it is; None: it did not say."""
        ...


@dataclass(slots=True)
class _Watched:
    """One replica's checks."""

    spec: ReplicaSpec
    origin: Origin
    task: "asyncio.Task[None]"
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    up: bool | None = None
    """None: not checked yet."""
    failures: int = 0
    successes: int = 0
    checks: int = 0
    answers: int = 0
    """That requests had got at the last check."""
    poked: bool = False
    """Requests have failed there."""
    suspicious: bool = True
    """Whether it should be asked what it is, whenever it next answers."""
    engine: Engine = Engine.AUTO
    models: ModelPage | None = None
    started: float | None = None

    def process(self, started: float | None) -> float | None:
        """When its process began.

        An older one than is known is another behind the same address, which answers in turn with
        it: no restart.
        """
        if started is not None and (self.started is None or started > self.started):
            self.started = started
        return self.started


class Health:
    """Checks replicas, each in a task of its own, until closed."""

    def __init__(
        self,
        watching: Watching,
        *,
        answers: Callable[[str], int],
        tls: ssl.SSLContext,
        clock: Clock,
        rng: Random,
        logger: FilteringBoundLogger,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        heard_s: Callable[[str], float] = lambda _name: -math.inf,
    ) -> None:
        """`answers` tells how many requests a replica has answered so far, by its name.

        `heard_s` tells when bytes of an answer of its last came.
        """
        self._heard_s = heard_s
        self._watching = watching
        self._answers = answers
        self._tls = tls
        self._clock = clock
        self._rng = rng
        self._logger = logger
        self._sleep = sleep
        self._settings = HealthSettings()
        self._watched: dict[str, _Watched] = {}

    def configure(self, settings: HealthSettings, replicas: Iterable[ReplicaSpec]) -> None:
        """Check these from now on; those whose specs are unchanged go on as they were."""
        self._settings = settings
        wanted = {spec.name: spec for spec in replicas}
        for name, watched in list(self._watched.items()):
            if wanted.get(name) != watched.spec:
                watched.task.cancel()
                del self._watched[name]
        for name, spec in wanted.items():
            if name not in self._watched:
                self._begin(spec)

    def poke(self, name: str) -> None:
        """Check this one now: something about it looks wrong."""
        watched = self._watched.get(name)
        if watched is not None:
            watched.suspicious = watched.poked = True
            watched.wake.set()

    def models(self, name: str) -> ModelPage | None:
        """What a replica serves, as it last said; None while unknown."""
        watched = self._watched.get(name)
        return None if watched is None else watched.models

    async def settled(self) -> None:
        """Wait until each replica has been checked once."""
        while any(watched.up is None for watched in self._watched.values()):
            await self._sleep(0.01)

    async def close(self) -> None:
        """Stop."""
        tasks = [watched.task for watched in self._watched.values()]
        self._watched.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, spec: ReplicaSpec) -> None:
        task = asyncio.get_running_loop().create_task(self._watch(spec.name))
        origin = parse_origin(spec.url, f"the URL of replica {spec.name}")
        self._watched[spec.name] = _Watched(spec, origin, task, engine=spec.engine)

    async def _watch(self, name: str) -> None:
        watched = self._watched[name]
        while True:
            watched.wake.clear()
            try:
                await self._round(watched)
            except Exception:  # checks go on, whatever one page does
                self._logger.exception("a health check broke off", replica=name)
            rest_s = self._settings.interval_s
            if watched.failures or not watched.up:
                # It may be back in a moment, as after a restart, or not for long.
                rest_s = min(rest_s, _SOON_S * 2 ** min(max(watched.failures - 1, 0), 16))
            await self._rest(watched, rest_s * self._rng.uniform(1 - _JITTER, 1 + _JITTER))

    async def _rest(self, watched: _Watched, rest_s: float) -> None:
        sleeping = asyncio.ensure_future(self._sleep(rest_s))
        waking = asyncio.ensure_future(watched.wake.wait())
        try:
            await asyncio.wait({sleeping, waking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            waking.cancel()

    async def _round(self, watched: _Watched) -> None:
        poked, watched.poked = watched.poked, False
        ok, detail, sure = await self._check(watched)
        watched.checks += 1
        if ok:
            watched.failures = 0
            watched.successes += 1
            if watched.suspicious or watched.checks % _ASK_EVERY == 0:
                # Before it is said to be up: what it serves decides who is sent there.
                await self._learn(watched)
            if watched.up is not False or watched.successes >= self._settings.up_after:
                self._tell(watched, ok=True, detail=detail)
            return
        watched.suspicious = True  # it may come back as another process
        watched.successes = 0
        watched.failures += 1
        first = watched.up is None
        if sure or first or poked or watched.failures >= self._settings.down_after:
            self._tell(watched, ok=False, detail=detail)

    def _tell(self, watched: _Watched, *, ok: bool, detail: str) -> None:
        watched.up = ok
        self._watching.checked(watched.spec.name, ok=ok, detail=detail, now_s=self._clock.now())

    async def _check(self, watched: _Watched) -> tuple[bool, str, bool]:
        """Whether it is up, in words, and whether one such answer is enough."""
        before = watched.answers
        begun_s = self._clock.now()
        try:
            try:
                reply = await self._ask(watched, self._settings.path)
            except AskError as error:
                late_s = self._clock.now() - begun_s - self._settings.timeout_s
                if error.kind != "timeout" or late_s < _STALL_S:
                    raise
                reply = await self._ask(watched, self._settings.path)
        except AskError as error:
            name = watched.spec.name
            watched.answers = self._answers(name)
            goes_on = watched.answers > before or self._heard_s(name) > begun_s
            if error.kind == "timeout" and goes_on:
                return True, "busy: it answers requests, but not its health check in time", False
            return False, str(error), False
        watched.answers = self._answers(watched.spec.name)
        if reply.status < 300:
            return True, "ok", False
        if reply.status in _NOT_THERE:
            return True, f"{self._settings.path} says {reply.status}", False
        return False, f"{self._settings.path} says {reply.status}", reply.status == _SAYS_NO

    async def _learn(self, watched: _Watched) -> None:
        """Ask what it is. What cannot be found out stays as it was."""
        models = await self._page(watched, "/v1/models")
        page = None if models is None else read_models(models.body)
        if page is not None:
            watched.models = page
            if watched.spec.engine is Engine.AUTO and page.engine is not None:
                watched.engine = page.engine
        capacity = await self._capacity(watched)
        if watched.spec.engine is Engine.AUTO and watched.engine is Engine.AUTO:
            watched.engine = capacity.engine or Engine.AUTO
        started = capacity.started
        if started is None and watched.engine is Engine.STEMCACHE and page is not None:
            # Its models were created when it began to serve them.
            created = [entry.created for entry in page.entries if entry.created is not None]
            started = float(min(created)) if created else None
        watched.suspicious = False
        self._watching.learned(
            watched.spec.name,
            now_s=self._clock.now(),
            engine=None if watched.engine is Engine.AUTO else watched.engine,
            models=None if page is None else page.names,
            adapters=None if page is None else page.adapters,
            kv_tokens=capacity.kv_tokens,
            block_tokens=capacity.block_tokens,
            started=watched.process(started),
        )

    async def _capacity(self, watched: _Watched) -> Capacity:
        metrics = await self._page(watched, "/metrics")
        found = Capacity() if metrics is None else read_metrics(metrics.body)
        engine = watched.engine if watched.engine is not Engine.AUTO else found.engine
        if found.kv_tokens is not None:
            return found
        if engine is Engine.SGLANG:
            for path in ("/server_info", "/get_server_info"):
                page = await self._page(watched, path)
                if page is not None:
                    own = read_server_info(page.body)
                    return Capacity(engine, own.kv_tokens, own.block_tokens, found.started)
        elif engine is Engine.LLAMA_CPP:
            page = await self._page(watched, "/props")
            if page is not None:
                own = read_props(page.body)
                return Capacity(engine, own.kv_tokens, own.block_tokens, found.started)
        return found

    async def _page(self, watched: _Watched, path: str) -> Reply | None:
        with suppress(AskError):
            reply = await self._ask(watched, path)
            if reply.status == 200:
                return reply
        return None

    async def _ask(self, watched: _Watched, path: str) -> Reply:
        key = watched.spec.api_key
        headers = [] if key is None else [("authorization", f"Bearer {key}")]
        return await ask(
            watched.origin,
            path,
            headers=headers,
            tls=self._tls,
            timeout_s=self._settings.timeout_s,
        )
