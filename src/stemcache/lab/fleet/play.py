"""The requests of a trace through a fleet, event by event.

```
    arrivals ─► router ─► replica: waiting ─► prefill ─► first token ─► done
                   ▲                                         │            │
                   └────────────── learns ───────────────────┴────────────┘
```

At one moment answers end before prefills do, and both before requests arrive. Costs O(log events)
an event, and what the router and the caches cost.
"""

from collections.abc import Sequence
from heapq import heappop, heappush

from stemcache.lab.fleet.job import Job
from stemcache.lab.fleet.replica import Replica, Stay
from stemcache.lab.fleet.router import Router

__all__ = ["by_clients", "by_clock"]

_DONE, _FIRST = 0, 1


class _Fleet:
    """Replicas behind routers, and what will happen to those that are on their way."""

    def __init__(self, replicas: Sequence[Replica], routers: Sequence[Router]) -> None:
        self._replicas = replicas
        self._routers = routers
        self._events: list[tuple[float, int, int, Stay]] = []
        self._pushed = 0
        self.stays: list[Stay] = []

    def arrive(self, job: Job, now_s: float) -> None:
        """A request comes; routers take turns."""
        stay = self._routers[job.number % len(self._routers)].send(job, now_s=now_s)
        self.stays.append(stay)
        self._replicas[stay.replica].take(stay)
        self._begin(stay.replica, now_s)

    @property
    def next_s(self) -> float | None:
        """When something happens by itself; None where all is quiet."""
        return self._events[0][0] if self._events else None

    def step(self) -> bool:
        """Let the next thing happen; whether it was the end of an answer."""
        now_s, kind, _, stay = heappop(self._events)
        replica = self._replicas[stay.replica]
        router = self._routers[stay.job.number % len(self._routers)]
        if kind == _FIRST:
            replica.computed(stay)
            router.first(stay, now_s=now_s)
            self._push(stay.done_s, _DONE, stay)
        else:
            replica.finished(stay)
            router.done(stay, now_s=now_s)
        self._begin(stay.replica, now_s)
        return kind == _DONE

    def _begin(self, replica: int, now_s: float) -> None:
        stay = self._replicas[replica].begin(now_s=now_s)
        if stay is not None:
            self._push(stay.first_s, _FIRST, stay)

    def _push(self, at_s: float, kind: int, stay: Stay) -> None:
        self._pushed += 1  # the order in which they were scheduled breaks ties
        heappush(self._events, (at_s, kind, self._pushed, stay))


def by_clock(
    jobs: Sequence[Job],
    replicas: Sequence[Replica],
    routers: Sequence[Router],
    *,
    arrivals_s: Sequence[float],
) -> list[Stay]:
    """Requests come at their times, whatever the queues. Their stays, in that order."""
    fleet = _Fleet(replicas, routers)
    for job, now_s in zip(jobs, arrivals_s, strict=True):
        while (next_s := fleet.next_s) is not None and next_s <= now_s:
            fleet.step()
        fleet.arrive(job, now_s)
    while fleet.next_s is not None:
        fleet.step()
    return fleet.stays


def by_clients(
    jobs: Sequence[Job], replicas: Sequence[Replica], routers: Sequence[Router], *, clients: int
) -> list[Stay]:
    """So many clients each send the trace's next request when their last one is answered."""
    fleet = _Fleet(replicas, routers)
    for job in jobs[:clients]:
        fleet.arrive(job, 0.0)
    for job in jobs[clients:]:
        while True:
            now_s = fleet.next_s
            assert now_s is not None, "a client waits for an answer"
            if fleet.step():
                break
        fleet.arrive(job, now_s)
    while fleet.next_s is not None:
        fleet.step()
    return fleet.stays
