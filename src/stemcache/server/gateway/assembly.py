"""The parts of a gateway, put together, and kept up to date with its configuration and replicas.

```
configuration ─┬─► LocalFleet ──┐
file, SIGHUP ──┤   Discovery  ──┼─► replicas ─► Router ◄─ Health, Followers (KV events), RedisShare
               └─► settings ────┘                 ▲
                                 clients ══► Gateway ══► replicas
```
"""

import ssl
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

from structlog.typing import FilteringBoundLogger

from stemcache.clock import Clock
from stemcache.errors import UsageError
from stemcache.gateway.deployment import Configuration
from stemcache.gateway.notice import Notice, NoticeKind
from stemcache.gateway.own_address import check_own_address
from stemcache.gateway.read_prompt import PromptReader
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.router import Flight, Router
from stemcache.gateway.settings import Agree, GatewaySettings
from stemcache.gateway.usage import AnswerUsage
from stemcache.server.gateway.discovery import Discovery, Source
from stemcache.server.gateway.events import seat_endpoint
from stemcache.server.gateway.followers import Followers
from stemcache.server.gateway.gateway import Gateway
from stemcache.server.gateway.health import Health
from stemcache.server.gateway.listening import fit_connections
from stemcache.server.gateway.local import LocalFleet
from stemcache.server.gateway.metrics import Metrics
from stemcache.server.gateway.pages import Pages
from stemcache.server.gateway.pool import Pool
from stemcache.server.gateway.share import RedisShare
from stemcache.server.gateway.zmq_socket import load_zmq
from stemcache.text.memo import PromptTokenizer

__all__ = ["Assembly", "check_events"]

_WARNINGS = frozenset(
    {NoticeKind.DOWN, NoticeKind.BREAKER_OPEN, NoticeKind.RESTARTED, NoticeKind.DISAGREES}
)


class _TimedRouter(Router):
    """Tells how long streams waited for their first byte, and counts answers that began."""

    def __init__(
        self, settings: GatewaySettings, *, rng: Random, on_notice: Callable[[Notice], None]
    ) -> None:
        super().__init__(settings, rng=rng, on_notice=on_notice)
        self.on_first: Callable[[str, float], None] = lambda _seat, _seconds: None
        self.begun: Counter[str] = Counter()
        """By name of the replica."""

    def first(self, flight: Flight, *, now_s: float) -> None:
        """As the router's; some 0.5 µs more."""
        begins = flight.first_s is None and not flight.landed
        super().first(flight, now_s=now_s)
        if begins:
            self.begun[flight.decision.replica.name] += 1
            if flight.prompt.stream:
                self.on_first(flight.decision.name, now_s - flight.sent_s)

    def done(self, flight: Flight, usage: AnswerUsage | None, *, now_s: float) -> None:
        """As the router's."""
        if flight.first_s is None and not flight.landed:
            self.begun[flight.decision.replica.name] += 1
        super().done(flight, usage, now_s=now_s)


class Assembly:
    """The parts. `apply` takes a configuration, `refresh` the replicas as they are now."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        tokenizing: PromptTokenizer | None,
        tls: ssl.SSLContext,
        clock: Clock,
        rng: Random,
        logger: FilteringBoundLogger,
        files: int | None = None,
    ) -> None:
        """`files`: how many may be open, if connections are to be fitted to it.

        Raises UsageError where a replica is the gateway itself.
        """
        check_own_address(configuration.listen, configuration.settings.replicas)
        self._files = files
        self._fitted: int | None = None
        self.configuration = configuration
        self._logger = logger
        self._clock = clock
        settings = configuration.settings
        self.router = _TimedRouter(settings, rng=rng, on_notice=self._on_notice)
        self._tokenizing = tokenizing
        self._reader = self._make_reader(settings)
        pool = Pool(clock, tls=tls)
        self.health = Health(
            self.router,
            answers=self.router.begun.__getitem__,
            tls=tls,
            clock=clock,
            rng=rng,
            logger=logger,
            heard_s=pool.heard_s,
        )
        self.local = LocalFleet(
            configuration.local, clock=clock, logger=logger, on_restart=self._on_local_restart
        )
        self.discovery = Discovery(
            self.refresh, on_replaced=self._on_replaced, tls=tls, rng=rng, logger=logger
        )
        self.pages = Pages(
            self.router,
            self._reader,
            models=self.health.models,
            metrics=self._metrics_page,
            clock=clock,
            loopback=configuration.listen.loopback,
        )
        self.gateway = Gateway(
            settings,
            router=self.router,
            reader=self._reader,
            pool=pool,
            pages=self.pages,
            clock=clock,
            log=logger,
            rng=rng,
        )
        self.metrics = Metrics(
            self.router, self.gateway.counters, clock=clock, gauges=self._gauges()
        )
        self.router.on_first = self.metrics.first_byte
        self.followers = Followers(self.router, most_bytes=settings.mirror_bytes, logger=logger)
        self.router.on_resync = lambda notice: self.followers.resync(notice.seat)
        self._drained: frozenset[str] = frozenset()
        self.share: RedisShare | None = None
        if settings.agree is Agree.REDIS:
            assert configuration.redis is not None, "the configuration was checked"
            self.share = RedisShare(
                configuration.redis,
                fleet=configuration.fleet,
                router=self.router,
                clock=clock,
                logger=logger,
            )

    async def start(self) -> None:
        """Begin all that goes on beside requests. Raises UsageError where something cannot."""
        await self.local.start()
        self.discovery.configure(self.configuration.sources)
        self.refresh()
        if self.share is not None:
            self.share.start()

    async def close(self) -> None:
        """End it all; local replicas last."""
        await self.discovery.close()
        await self.health.close()
        await self.followers.close()
        if self.share is not None:
            await self.share.close()
        await self.local.close()

    def apply(self, configuration: Configuration) -> None:
        """Take another configuration, but for what cannot change. Raises UsageError."""
        running = self.configuration
        before, after = _fixed(running), _fixed(configuration)
        fixed = [name for name in before if before[name] != after[name]]
        if fixed:
            self._logger.warning("this needs a restart to change; the rest is applied", what=fixed)
        settings = replace(
            configuration.settings,
            agree=running.settings.agree,
            tokenizer=running.settings.tokenizer,
            mirror_bytes=running.settings.mirror_bytes,
        )
        check_events(settings, configuration.sources)
        check_own_address(running.listen, settings.replicas)
        self.discovery.configure(configuration.sources)
        if settings.session_headers != running.settings.session_headers:
            self._reader = self._make_reader(settings)
            self.gateway.reader = self._reader
        self.configuration = replace(
            configuration,
            settings=settings,
            listen=running.listen,
            local=running.local,
            redis=running.redis,
            fleet=running.fleet,
        )
        self.refresh()

    def refresh(self) -> None:
        """Take the replicas as they are now: written down, started here, and found."""
        found: dict[str, ReplicaSpec] = {}
        urls: set[str] = set()
        for spec in (
            *self.configuration.settings.replicas,
            *self.local.replicas,
            *self.discovery.replicas,
        ):
            if spec.name not in found and spec.url not in urls:
                found[spec.name] = spec
                urls.add(spec.url)
        specs = tuple(found.values())
        settings = self._fit(replace(self.configuration.settings, replicas=specs))
        self.router.configure(settings, specs)
        self.followers.configure()
        self.health.configure(settings.health, specs)
        self.gateway.configure(settings)
        self.pages.configure(self.configuration.admin, settings, self._reader)
        draining = self.discovery.draining
        # All of them: one whose address or ranks have changed is another member by now. But what an
        # admin has drained is not put back by its coming and going.
        by_hand = {one.spec.name for one in self.router.members if one.draining} - self._drained
        for name in draining - by_hand:
            self.router.drain(name, on=True)
        for name in self._drained - draining:
            self.router.drain(name, on=False)
        self._drained = draining - by_hand

    def _fit(self, settings: GatewaySettings) -> GatewaySettings:
        """With no more connections than files allow."""
        asked = settings.limits.connections
        fitting = asked if self._files is None else fit_connections(asked, self._files)
        if fitting < asked and fitting != self._fitted:
            self._logger.warning(
                "fewer connections than configured: open files are limited; raise ulimit -n",
                connections=fitting,
                configured=asked,
                open_files=self._files,
            )
        self._fitted = fitting
        return replace(settings, limits=replace(settings.limits, connections=fitting))

    def _metrics_page(self) -> bytes:
        return self.metrics.page()

    def _make_reader(self, settings: GatewaySettings) -> PromptReader:
        return PromptReader(
            tokenizing=self._tokenizing,
            block_sizes=self.router.block_sizes,
            session_headers=settings.session_headers,
            adapters=self.router.adapter_of,
            reads=self.router.reads,
            whole_text=self._any_guessed,
        )

    def _any_guessed(self) -> bool:
        """Whether of some seat it is guessed what it holds, by the text of prompts. O(seats)."""
        follows = self.router.mirror.follows
        return not all(
            follows(seat.number) for member in self.router.members for seat in member.seats
        )

    def _on_notice(self, notice: Notice) -> None:
        ends = notice.kind is NoticeKind.DOWN and notice.seat in self._drained
        warns = notice.kind in _WARNINGS and not ends
        say = self._logger.warning if warns else self._logger.info
        detail = {"detail": notice.detail} if notice.detail else {}
        say(notice.kind.value, replica=notice.seat, **detail)
        self.metrics.noticed(notice)
        if notice.kind is NoticeKind.LEFT:
            del self.router.begun[notice.seat]  # no error where it is not there
        if notice.kind is NoticeKind.BREAKER_OPEN:
            self.health.poke(notice.seat)
        elif notice.kind is NoticeKind.RESTARTED:
            self.followers.resync(notice.seat)

    def _on_replaced(self, names: frozenset[str]) -> None:
        for name in sorted(names):
            self.router.restarted(name, "another has its address", now_s=self._clock.now())
            self.health.poke(name)

    def _on_local_restart(self, name: str) -> None:
        self.router.restarted(name, "it was started again", now_s=self._clock.now())
        self.health.poke(name)

    def _gauges(self) -> dict[str, tuple[str, Callable[[], float]]]:
        gateway = self.gateway
        return {
            "client_connections": (
                "Connections of clients that are open.",
                lambda: len(gateway.open),
            ),
            "replica_connections": (
                "Connections to replicas that are open, idle ones included.",
                lambda: gateway.pool.open,
            ),
            "buffered_bytes": (
                "Bodies that are kept for routing and retries.",
                lambda: gateway.buffered_bytes,
            ),
            "redis_connected": (
                "1 where other gateways are heard through Redis.",
                lambda: float(self.share is not None and self.share.connected),
            ),
        }


def check_events(settings: GatewaySettings, sources: tuple[Source, ...]) -> None:
    """Raise UsageError where KV events cannot be followed, or not matched without a tokenizer."""
    for spec in settings.replicas:
        if spec.events is not None and settings.tokenizer is not None:
            load_zmq(spec)
            for endpoint in filter(None, (spec.events, spec.replay)):
                seat_endpoint(endpoint, spec.ranks - 1)
    if settings.tokenizer is not None:
        return
    places = [f"replica {spec.name}" for spec in settings.replicas if spec.events is not None]
    places += ["a [[discover]] table" for one in sources if one.template.events_port is not None]
    if places:
        raise UsageError(
            f"{places[0]} has KV events, which are of token ids, and there is no --tokenizer; "
            "give the directory of the model's tokenizer.json, or leave the events out"
        )


def _fixed(configuration: Configuration) -> dict[str, object]:
    """What stays as it was at the start."""
    settings = configuration.settings
    return {
        "[listen]": configuration.listen,
        "[local]": configuration.local,
        "[agree]": (settings.agree, configuration.redis, configuration.fleet),
        "tokenizer": settings.tokenizer,
        "mirror_bytes": settings.mirror_bytes,
        "ca_file": configuration.ca_file,
    }
