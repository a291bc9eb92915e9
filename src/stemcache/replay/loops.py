"""The two ways to pace a run: by the clock, or by the answers. Both end early when told to."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from stemcache.clock import Clock
from stemcache.replay.ahead import Ahead, make_in_steps
from stemcache.replay.body import BodyMaker
from stemcache.replay.schedule import Arrivals, Session, Think, next_due_s
from stemcache.replay.selection import Planned
from stemcache.replay.sender import Sender

__all__ = ["ClosedLoop", "OpenLoop", "Pacer"]

_TIMER_S = 0.001
"""Timers of the event loop count in this. The rest of a wait is spent looking at the clock, while
the loop goes on, or half of it would be measured as latency."""


class Pacer:
    """Waits for moments, and ends all waiting when the run is ended."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.ended = False
        self._waiting: set[asyncio.Future[None]] = set()

    def end(self) -> None:
        """Nothing more is sent."""
        self.ended = True
        for waiter in list(self._waiting):
            _wake(waiter)

    async def until(self, moment_s: float) -> None:
        """Wait for a moment of the clock, or the end."""
        while not self.ended and (left_s := moment_s - self.clock.now()) > 0:
            if left_s < _TIMER_S:
                await asyncio.sleep(0)
            else:
                await self._sleep(left_s // _TIMER_S * _TIMER_S)

    async def wake(self, waiter: asyncio.Future[None]) -> None:
        """Wait for somebody to set this, or the end."""
        self._waiting.add(waiter)
        try:
            if not self.ended:
                await waiter
        finally:
            self._waiting.discard(waiter)

    async def _sleep(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(seconds, _wake, waiter)
        try:
            await self.wake(waiter)
        finally:
            timer.cancel()


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLoop:
    """Every request at its own time, whatever became of those before it."""

    arrivals: Arrivals
    duration_s: float | None = None
    """Requests due later than this are not sent."""
    max_in_flight: int | None = None

    async def run(self, sender: Sender, bodies: BodyMaker, pacer: Pacer, origin_s: float) -> None:
        """Send them all, then return; answers may still be on the way."""
        ahead = Ahead(bodies, iter(self.arrivals.planned))
        room_since_s = origin_s
        for planned, due_s in zip(self.arrivals.planned, self.arrivals.due_s, strict=True):
            if self.duration_s is not None and due_s >= self.duration_s:
                return
            moment_s = origin_s + due_s
            # ASYNC110 suggests an event, but work goes on here: nothing is waited for.
            while not pacer.ended and pacer.clock.now() < moment_s and ahead.step():  # noqa: ASYNC110
                await asyncio.sleep(0)
            await pacer.until(moment_s)
            if self.max_in_flight is not None and sender.in_flight >= self.max_in_flight:
                await self._room(self.max_in_flight, sender, pacer)
                room_since_s = pacer.clock.now()
            if pacer.ended:
                return
            # Those that became due behind one that the cap held back were held back too.
            held = moment_s < room_since_s
            sender.launch(planned, ahead.take(), due_s=moment_s, held=held)

    async def _room(self, most: int, sender: Sender, pacer: Pacer) -> None:
        """Wait until there are fewer than `most` in flight, or for the end."""
        while sender.in_flight >= most and not pacer.ended:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            sender.on_landing = partial(_wake, waiter)
            await pacer.wake(waiter)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoop:
    """So many sessions at once, each a turn at a time."""

    sessions: tuple[Session, ...]
    concurrency: int
    think: Think = 0.0
    max_think_s: float | None = None
    speed: float = 1.0
    duration_s: float | None = None
    """After this long no turn is begun."""

    async def run(self, sender: Sender, bodies: BodyMaker, pacer: Pacer, origin_s: float) -> None:
        """Return when every session has had its last answer."""
        left = iter(self.sessions)
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self.concurrency, len(self.sessions))):
                group.create_task(self._user(left, sender, bodies, pacer, origin_s))

    async def _user(
        self,
        left: Iterator[Session],
        sender: Sender,
        bodies: BodyMaker,
        pacer: Pacer,
        origin_s: float,
    ) -> None:
        """One after another of the sessions that nobody else has taken."""
        end_s = float("inf") if self.duration_s is None else origin_s + self.duration_s
        for session in left:
            first = session.turns[0]
            body = await _made(bodies, first)
            # The session begins when there is a free place, and its body, for it.
            before, due_s, answered_s = first, pacer.clock.now(), 0.0
            for at, turn in enumerate(session.turns):
                if at:
                    due_s = next_due_s(
                        before,
                        turn,
                        before_due_s=due_s,
                        answered_s=answered_s,
                        think=self.think,
                        speed=self.speed,
                        max_think_s=self.max_think_s,
                    )
                if due_s >= end_s:
                    return
                await pacer.until(due_s)
                if pacer.ended:
                    return
                answer = sender.launch(turn, body, due_s=due_s)
                before = turn
                if at + 1 < len(session.turns):
                    body = await _made(bodies, session.turns[at + 1])
                answered_s = origin_s + (await answer).end_s


async def _made(bodies: BodyMaker, planned: Planned) -> list[bytes]:
    """A body, made in steps between which the event loop runs."""
    body: list[bytes] = []
    for _ in make_in_steps(bodies, planned, body):
        await asyncio.sleep(0)
    return body
