"""Replicas that come and go: who is there now, from names in DNS or services of Kubernetes.

```
DnsSource ─────────► DnsFinder ───────┐
KubernetesSource ──► KubernetesFinder ┴─ sightings ─► Presence ─► Discovery ─on_change─► the fleet
```
What cannot be asked for a while is taken to be as it was: no answer is no news. Who is not seen for
a moment gets nothing new, and is remembered (see `stemcache.gateway.presence`).
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random
from typing import Protocol

from structlog.typing import FilteringBoundLogger

from stemcache.gateway.deployment import DnsSource, KubernetesSource
from stemcache.gateway.presence import ABSENT_S, Found, Presence, Sighting
from stemcache.gateway.replica import ReplicaSpec
from stemcache.server.gateway.kubernetes import KubernetesFinder

__all__ = ["Discovery", "DnsFinder", "Source"]

Source = DnsSource | KubernetesSource
Tell = Callable[[tuple[Sighting, ...]], None]
Sleep = Callable[[float], Awaitable[None]]
Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""Addresses of a host. Raises OSError."""

_JITTER = 0.1
_MOST_REPLICAS = 1024


class Finder(Protocol):
    """**Protocol**: looks for replicas until cancelled."""

    async def run(self, tell: Tell) -> None:
        """Tell of each change: all that is seen now."""
        ...


class DnsFinder:
    """Every address of a host, asked for again and again."""

    def __init__(
        self,
        source: DnsSource,
        *,
        rng: Random,
        logger: FilteringBoundLogger,
        sleep: Sleep = asyncio.sleep,
        resolve: Resolve | None = None,
    ) -> None:
        self._source = source
        self._rng = rng
        self._logger = logger
        self._sleep = sleep
        self._resolve = resolve or _addresses

    async def run(self, tell: Tell) -> None:
        """Ask, tell if it differs, rest."""
        source = self._source
        known: tuple[str, ...] = ()
        failing = False
        while True:
            try:
                hosts = await self._resolve(source.host, source.port)
            except (OSError, UnicodeError) as error:
                if not failing:
                    self._logger.warning(
                        "DNS does not answer; keeping the replicas that are known",
                        host=source.host,
                        error=getattr(error, "strerror", None) or type(error).__name__,
                        known=len(known),
                    )
                failing = True
            else:
                failing = False
                if hosts and hosts != known:
                    known = hosts
                    specs = (source.template.spec(host, source.port) for host in hosts)
                    tell(tuple(map(Sighting, specs)))
            spread = source.interval_s * _JITTER
            await self._sleep(source.interval_s + self._rng.uniform(-spread, spread))


class Discovery:
    """All sources together. `on_change` is called when anything is not as it was.

    `on_replaced`, before it, with the names of those behind which there is another now.
    """

    def __init__(
        self,
        on_change: Callable[[], None],
        *,
        on_replaced: Callable[[frozenset[str]], None] = lambda _names: None,
        tls: ssl.SSLContext,
        rng: Random,
        logger: FilteringBoundLogger,
        make: Callable[[Source], Finder] | None = None,
        absent_s: float = ABSENT_S,
    ) -> None:
        self._on_change = on_change
        self._on_replaced = on_replaced
        self._absent_s = absent_s
        self._tls = tls
        self._rng = rng
        self._logger = logger
        self._make = make or self._finder
        self._tasks: dict[Source, asyncio.Task[None]] = {}
        self._found: dict[Source, Found] = {}
        self._lapses: dict[Source, asyncio.TimerHandle] = {}
        """When it is looked who has been absent for too long."""

    @property
    def replicas(self) -> tuple[ReplicaSpec, ...]:
        """Who is there now; of two with one name the first."""
        found: dict[str, ReplicaSpec] = {}
        for source in self._tasks:
            for spec in self._found.get(source, Found()).replicas[:_MOST_REPLICAS]:
                found.setdefault(spec.name, spec)
        return tuple(found.values())

    @property
    def draining(self) -> frozenset[str]:
        """Names of those that should get nothing new."""
        return frozenset().union(*(found.draining for found in self._found.values()))

    def configure(self, sources: tuple[Source, ...]) -> None:
        """Look in these from now on; those that stay go on.

        Raises UsageError for one that is not usable here, and changes nothing then.
        """
        finders = {source: self._make(source) for source in sources if source not in self._tasks}
        for source in list(self._tasks):
            if source not in sources:
                self._tasks.pop(source).cancel()
                self._found.pop(source, None)
                self._cancel_lapse(source)
        for source, finder in finders.items():
            self._tasks[source] = asyncio.get_running_loop().create_task(self._run(source, finder))

    async def close(self) -> None:
        """Stop looking."""
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        for source in list(self._lapses):
            self._cancel_lapse(source)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, source: Source, finder: Finder) -> None:
        clock = asyncio.get_running_loop().time
        presence = Presence(self._absent_s)

        def tell(seen: tuple[Sighting, ...]) -> None:
            self._take(source, presence, presence.look(seen, now_s=clock()))

        try:
            await finder.run(tell)
        except Exception:
            self._logger.exception("looking for replicas has ended", source=_shown(source))

    def _take(self, source: Source, presence: Presence, found: Found) -> None:
        before = self._found.get(source)
        self._found[source] = found
        self._cancel_lapse(source)
        if presence.lapses_s is not None:
            loop = asyncio.get_running_loop()

            def lapse() -> None:
                self._take(source, presence, presence.lapse(now_s=loop.time()))

            self._lapses[source] = loop.call_at(presence.lapses_s, lapse)
        if before is not None and found == replace(before, replaced=frozenset()):
            return
        away = {"draining": sorted(found.draining)} if found.draining else {}
        names = [spec.name for spec in found.replicas]
        self._logger.info("replicas found", source=_shown(source), replicas=names, **away)
        if found.replaced:
            self._on_replaced(found.replaced)
        self._on_change()

    def _cancel_lapse(self, source: Source) -> None:
        lapse = self._lapses.pop(source, None)
        if lapse is not None:
            lapse.cancel()

    def _finder(self, source: Source) -> Finder:
        if isinstance(source, DnsSource):
            return DnsFinder(source, rng=self._rng, logger=self._logger)
        return KubernetesFinder(source, tls=self._tls, rng=self._rng, logger=self._logger)


def _shown(source: Source) -> str:
    if isinstance(source, DnsSource):
        return f"dns {source.host}:{source.port}"
    return f"kubernetes {source.service}"


async def _addresses(host: str, port: int) -> tuple[str, ...]:
    loop = asyncio.get_running_loop()
    entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(sorted({str(entry[4][0]) for entry in entries}))
