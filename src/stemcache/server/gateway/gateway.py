"""What all connections of a gateway share."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from stemcache.clock import Clock
from stemcache.gateway.made import Responses
from stemcache.gateway.prompt import Prompt
from stemcache.gateway.router import Router
from stemcache.gateway.settings import GatewaySettings
from stemcache.gateway.tenants import Tenants
from stemcache.server.gateway.counters import Counters
from stemcache.server.gateway.pool import Pool
from stemcache.server.gateway.request import Request

if TYPE_CHECKING:
    from stemcache.server.gateway.connection import ClientConnection  # which imports this

__all__ = ["Gateway", "LocalPages", "Log", "Page", "Reader"]

_ASIDE_BYTES = 256 * 1024
_ASIDE_TOKENS_BYTES = 32 * 1024
"""Where prompts are tokenized: an unknown one of this size takes some 10 ms."""
_AT_ONCE_S = 1.0
_READERS = 2
"""Tokenizing is what runs beside the event loop; the rest of a reading takes turns with it."""


class Page(Protocol):
    """**Protocol**: an answer of the gateway's own."""

    @property
    def status(self) -> int:
        """HTTP's."""
        ...

    @property
    def content_type(self) -> str:
        """Of the body."""
        ...

    @property
    def body(self) -> bytes:
        """All of it."""
        ...


class LocalPages(Protocol):
    """**Protocol**: the gateway's own pages."""

    def answer(
        self, method: str, path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes
    ) -> Page | None:
        """The page, or None for what is to be relayed. Quick, and does not raise."""
        ...


class Reader(Protocol):
    """**Protocol**: reads of a request's body what routing needs."""

    def read(
        self,
        path: bytes | str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        *,
        tenant: str | None,
        salt: str | None,
    ) -> Prompt:
        """Never raises, whatever the body is."""
        ...


class Log(Protocol):
    """**Protocol**: a structured logger."""

    def warning(self, event: str, **fields: Any) -> object:
        """Say what went wrong."""
        ...

    def exception(self, event: str, **fields: Any) -> object:
        """Say what was raised, with its traceback."""
        ...


class Gateway:
    """Settings, parts and counts. What is in it may be replaced between two requests."""

    def __init__(
        self,
        settings: GatewaySettings,
        *,
        router: Router,
        reader: Reader,
        pool: Pool,
        pages: LocalPages,
        clock: Clock,
        log: Log,
        rng: Random,
    ) -> None:
        self.configure(settings)
        self.router = router
        self.reader = reader
        self.pool = pool
        self.pages = pages
        self.clock = clock
        self.log = log
        self.rng = rng
        self.hop = b"%016x" % rng.getrandbits(64)
        """What this gateway is called in the header that says where a request has been."""
        self.responses = Responses()
        """Who made which; survives other settings."""
        self.counters = Counters()
        self.open: set[ClientConnection] = set()
        self.draining = False
        self.settled = asyncio.Event()
        """Set when a client's connection has closed."""
        self.in_flight = 0
        """Requests between their choice, or the reading of a long one, and the end of their
        answer."""
        self.buffered_bytes = 0
        """Of bodies that are kept for routing and retries."""
        self._readers: ThreadPoolExecutor | None = None
        self._timeouts: dict[str, float] = {}
        """When a connection to a replica last could not be made in time."""

    def configure(self, settings: GatewaySettings) -> None:
        """Take other settings, for requests from now on. The router has to be told apart."""
        self.settings = settings
        self.tenants = Tenants(settings)
        self.has_keys = bool(settings.api_keys)
        """Whether clients need a key of the gateway's."""
        self.aside_bytes = _ASIDE_BYTES if settings.tokenizer is None else _ASIDE_TOKENS_BYTES
        """Bodies above this are read in a thread, so that other requests go on meanwhile."""

    @property
    def readers(self) -> ThreadPoolExecutor:
        """Threads for that."""
        if self._readers is None:
            self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="stemcache-read")
        return self._readers

    def close(self) -> None:
        """Let go of connections and threads; who is being read is not waited for."""
        self.pool.close()
        if self._readers is not None:
            self._readers.shutdown(wait=False, cancel_futures=True)

    def is_alone_with(self, name: str, now_s: float) -> bool:
        """Whether replicas are not to blame for a connection that was not made in time.

        Where most of them cannot be reached at once it is this machine, or its network; to close
        them all would help nobody. O(replicas), for failures only.
        """
        self._timeouts[name] = now_s
        names = {member.spec.name for member in self.router.members}
        self._timeouts = {
            each: when_s
            for each, when_s in self._timeouts.items()
            if each in names and now_s - when_s < _AT_ONCE_S
        }
        return len(names) > 1 and len(self._timeouts) * 2 > len(names)

    def stood_still(self, seconds: float) -> None:
        """Give clients and replicas the time that this process did not look at them."""
        self.log.warning("the event loop stood still", seconds=round(seconds, 2))
        for connection in self.open:
            connection.deadline_s += seconds

    def seats_of(self, name: str) -> frozenset[int]:
        """Numbers of a replica's seats; not for every request, as it costs O(replicas)."""
        return frozenset(
            seat.number
            for member in self.router.members
            if member.spec.name == name
            for seat in member.seats
        )

    def all_seats(self) -> frozenset[int]:
        """Numbers of all seats; O(seats)."""
        return frozenset(seat.number for member in self.router.members for seat in member.seats)

    def release(self, request: Request) -> None:
        """A request's body is kept no more."""
        self.buffered_bytes -= request.held_bytes
        request.held_bytes = 0
        request.body = b""

    def sweep(self) -> None:
        """End what has gone on without progress for too long; call it about once a second.

        O(connections), about 0.1 µs each: cheaper than a timer for each part of a stream.
        """
        now_s = self.clock.now()
        for connection in list(self.open):
            if connection.deadline_s <= now_s:
                connection.late()
        self.pool.retain(frozenset(member.spec.name for member in self.router.members))
        self.pool.sweep()
