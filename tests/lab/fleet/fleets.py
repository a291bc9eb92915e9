"""Small fleets and traces for tests."""

from collections.abc import Sequence
from random import Random

import numpy as np

from stemcache.lab.fleet.cache import ReplicaCache
from stemcache.lab.fleet.job import Job, jobs
from stemcache.lab.fleet.replica import Replica
from stemcache.lab.fleet.setup import FleetSetup, Speeds
from stemcache.lab.question import Capacity
from stemcache.lab.visit import visits
from stemcache.policy.evict import Lru
from stemcache.policy.route.contract import Ask, Choice, Reads, Reason, View
from stemcache.trace.record import TraceRequest

__all__ = ["SPEEDS", "Scripted", "made", "replica", "request", "setup"]


SPEEDS = Speeds(100.0, 0.0, 10.0, 4)
"""100 tokens a second, no overhead, answers of 10 a second in 4 slots."""


class Scripted:
    """Sends requests where it was told to, in turn."""

    reads = Reads.PROMPT

    def __init__(self, seats: Sequence[int]) -> None:
        self._seats = list(seats)
        self.asked: list[tuple[Ask, list[View]]] = []

    def fork(self) -> "Scripted":
        """With the same script, from its beginning."""
        return Scripted(self._seats)

    def choose(self, ask: Ask, views: Sequence[View], *, now_s: float, rng: Random) -> Choice:
        """The next of the script."""
        del now_s, rng
        seat = self._seats[len(self.asked) % len(self._seats)]
        self.asked.append((ask, list(views)))
        return Choice(seat, Reason.TURN, None, 0.0, None)


def request(
    at_s: float | None,
    *ids: int,
    tokens: int | None = None,
    output: int | None = None,
    scope: str = "",
    session: str | None = None,
    tenant: str | None = None,
) -> TraceRequest:
    """Blocks of 100 tokens."""
    return TraceRequest(
        np.array(ids, np.int64),
        100,
        100 * len(ids) if tokens is None else tokens,
        output,
        at_s,
        scope,
        session,
        tenant=tenant,
    )


def made(*requests: TraceRequest, warmup: int = 0) -> Sequence[Job]:
    """Ready to be played."""
    return jobs(visits(requests, warmup_requests=warmup))


def replica(capacity: int | None = 100, speeds: Speeds = SPEEDS) -> Replica:
    """An empty one."""
    return Replica(ReplicaCache(Lru(), capacity), speeds)


def setup(**changes: object) -> FleetSetup:
    """Two replicas of 100 blocks; 100 tokens a second, no overhead, answers at once."""
    settings: dict[str, object] = {
        "replicas": 2,
        "capacity": Capacity(100),
        "routings": ("round-robin",),
        "speeds": SPEEDS,
    }
    return FleetSetup(**{**settings, **changes})  # type: ignore[arg-type]  # by keyword
