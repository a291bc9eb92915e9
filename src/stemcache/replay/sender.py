"""Puts requests on connections and keeps count. Runs on one event loop; sends and never waits."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from stemcache.clock import Clock
from stemcache.replay.body import head_of
from stemcache.replay.credentials import Credentials
from stemcache.replay.events import READERS
from stemcache.replay.flight import Flight
from stemcache.replay.outcome import UNFINISHED, Outcome
from stemcache.replay.pool import ConnectError, Pool
from stemcache.replay.selection import Planned
from stemcache.replay.target import Target

__all__ = ["Sender", "Tally"]

_LINGER_S = 0.01
"""For the end of a response after its last event, in which its connection can be kept."""
_USAGE_S = 0.25
"""The same for usage that has not come yet."""


@dataclass(slots=True)
class Tally:
    """Running counts, for who watches. Mutable; read it on the event loop."""

    sent: int = 0
    ok: int = 0
    failed: int = 0
    in_flight: int = 0
    output_tokens: int = 0
    prompt_tokens: int = 0
    """Of answers that say how many were cached."""
    cached_tokens: int = 0


class Sender:
    """All requests of one run. `origin_s` is the moment from which outcomes count."""

    def __init__(
        self,
        pool: Pool,
        target: Target,
        credentials: Credentials,
        *,
        clock: Clock,
        timeout_s: float,
        origin_s: float,
    ) -> None:
        self.tally = Tally()
        self.outcomes: list[Outcome] = []
        self.retries = 0
        self.on_landing: Callable[[], None] = lambda: None
        """Called whenever a request has ended."""
        self._pool = pool
        self._target = target
        self._credentials = credentials
        self._clock = clock
        self._timeout_s = timeout_s
        self._origin_s = origin_s
        self._reader = READERS[target.api]
        self._loop = asyncio.get_running_loop()
        self._flights: dict[Flight, asyncio.Future[Outcome]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def in_flight(self) -> int:
        """Requests that were launched and have not ended."""
        return len(self._flights)

    def launch(
        self, planned: Planned, body: list[bytes], *, due_s: float, held: bool = False
    ) -> asyncio.Future[Outcome]:
        """Send a request now; it was due at `due_s` of the clock. The future never fails."""
        flight = Flight(
            planned,
            due_s=due_s,
            origin_s=self._origin_s,
            held=held,
            reader=self._reader,
            on_end=self._landed,
            on_stale=self._again,
            on_last=self._linger,
            redact=self._credentials.redacted,
        )
        headers = self._credentials.headers
        head = head_of("POST", self._target.path, self._target, headers, sum(map(len, body)))
        flight.parts = [head, *body]
        future: asyncio.Future[Outcome] = self._loop.create_future()
        self._flights[flight] = future
        self.tally.sent += 1
        self.tally.in_flight = len(self._flights)
        connection = self._pool.take()
        if connection is None:
            self._connect(flight)
        else:
            now_s = self._clock.now()
            flight.sent(connection, now_s)
            flight.timer = self._loop.call_later(self._timeout_s, self._expire, flight)
            connection.send(flight.parts, flight)
        return future

    def give_up(self) -> None:
        """End everything under way; it counts as unfinished."""
        for flight in list(self._flights):
            flight.cancel(UNFINISHED, "the run was ended before the answer was", self._clock.now())

    def _connect(self, flight: Flight) -> None:
        task = self._loop.create_task(self._send_on_fresh(flight))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_on_fresh(self, flight: Flight) -> None:
        try:
            connection = await self._pool.connect()
        except ConnectError as error:
            flight.cancel(error.kind, str(error), self._clock.now())
            return
        if flight.outcome is not None:
            connection.close()
            return
        flight.sent(connection, self._clock.now())
        if flight.timer is None:
            flight.timer = self._loop.call_later(self._timeout_s, self._expire, flight)
        connection.send(flight.parts, flight)

    def _again(self, flight: Flight) -> None:
        self.retries += 1
        self._connect(flight)

    def _expire(self, flight: Flight) -> None:
        flight.cancel(
            "timeout", f"not answered in full within {self._timeout_s:g} s", self._clock.now()
        )

    def _linger(self, flight: Flight) -> None:
        if flight.timer is not None:
            flight.timer.cancel()
        wait_s = _LINGER_S if flight.usage_came else _USAGE_S
        flight.timer = self._loop.call_later(wait_s, self._settle, flight)

    def _settle(self, flight: Flight) -> None:
        flight.settle(self._clock.now())

    def _landed(self, flight: Flight) -> None:
        outcome = flight.outcome
        assert outcome is not None, "a flight that has ended has an outcome"
        self.outcomes.append(outcome)
        tally, usage = self.tally, outcome.usage
        if outcome.error is None:
            tally.ok += 1
            tally.output_tokens += usage.output_tokens or 0
            if usage.prompt_tokens is not None and usage.cached_tokens is not None:
                tally.prompt_tokens += usage.prompt_tokens
                tally.cached_tokens += usage.cached_tokens
        else:
            tally.failed += 1
        future = self._flights.pop(flight)
        tally.in_flight = len(self._flights)
        if not future.done():
            future.set_result(outcome)
        self.on_landing()
