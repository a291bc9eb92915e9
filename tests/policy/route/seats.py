"""Seats as tests see them, and a fleet in simulated time that is small enough to read."""

import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random

from stemcache.policy import route
from stemcache.policy.route.anchors import Anchors
from stemcache.policy.route.contract import Ask, Rates, RoutePolicy, View
from stemcache.policy.route.load import Load, Sent
from stemcache.policy.route.rates import FleetRates

__all__ = ["RATES", "Fleet", "Outcome", "groups", "seat"]

RATES = Rates(base_s=0.01, prefill_s=1e-4, busy_s=0.001)

_TOKENS = 16  # a block


def seat(name: str, **fields: object) -> View:
    """An idle seat that holds nothing, but for the fields given."""
    defaults: dict[str, object] = {
        "cached_tokens": 0,
        "slow_tokens": 0,
        "in_flight": 0,
        "waiting_tokens": 0,
        "recent_s": 0.0,
        "fresh_tokens": 0.0,
        "utilization": 0.0,
        "rates": RATES,
    }
    return View(name=name, **(defaults | fields))  # type: ignore[arg-type]


def groups(requests: int, *, of: int, seed: int, shared: int = 31, own: int = 3) -> list[list[int]]:
    """Prompts of groups that share a beginning, in blocks; popularity falls as rank^-.8."""
    rng = Random(seed)
    weights = [(rank + 1) ** -0.8 for rank in range(of)]
    fresh = count(1 << 40)
    return [
        [group << 20 | block for block in range(shared)] + [next(fresh) for _ in range(own)]
        for group in rng.choices(range(of), weights, k=requests)
    ]


@dataclass(slots=True)
class _Cache:
    """Blocks, least recently used first; the end of a chain leaves before its beginning."""

    room: int
    blocks: OrderedDict[int, None] = field(default_factory=OrderedDict)

    def match(self, chain: list[int]) -> int:
        return next((at for at, key in enumerate(chain) if key not in self.blocks), len(chain))

    def put(self, chain: list[int]) -> None:
        for key in reversed(chain):
            self.blocks[key] = None
            self.blocks.move_to_end(key)
        while len(self.blocks) > self.room:
            self.blocks.popitem(last=False)


@dataclass(slots=True)
class _Replica:
    cache: _Cache
    queue: deque["_Job"] = field(default_factory=deque)
    busy: int = 0


@dataclass(slots=True, eq=False)
class _Job:
    chain: list[int]
    arrived_s: float
    gateway: "_Gateway"
    seat: int
    sent: Sent
    computed: int = 0


@dataclass(slots=True)
class _Gateway:
    loads: list[Load]
    beliefs: list[_Cache]
    policy: RoutePolicy
    anchors: Anchors
    rng: Random


@dataclass(slots=True)
class Outcome:
    """What a run came to."""

    cached: int = 0
    blocks: int = 0
    requests: list[int] = field(default_factory=list)
    ttft_s: list[float] = field(default_factory=list)
    end_s: float = 0.0

    @property
    def hit_rate(self) -> float:
        return self.cached / self.blocks

    @property
    def imbalance(self) -> float:
        """Most requests of a seat over the mean."""
        return max(self.requests) * len(self.requests) / sum(self.requests)

    @property
    def rate(self) -> float:
        """Requests a second."""
        return sum(self.requests) / self.end_s


@dataclass(slots=True)
class Fleet:
    """Replicas with a cache and places, behind gateways that do not talk to each other.

    A request takes a place for base + blocks to compute + answer; the next waits for a place.
    """

    policy: str = "auto"
    seats: int = 4
    room: int = 800
    places: int = 8
    base_s: float = 0.004
    block_s: float = 0.001
    answer_s: float = 0.02
    gateways: int = 1
    by_hash: bool = False
    streams: bool = True
    slowness: Callable[[int, float], float] = lambda seat, now_s: 1.0  # noqa: ARG005
    seed: int = 1

    def run(self, chains: list[list[int]], *, at_a_time: int) -> Outcome:
        """All prompts, so many at a time, each sent when one before it has ended."""
        replicas = [_Replica(_Cache(self.room)) for _ in range(self.seats)]
        gateways = [self._gateway(number) for number in range(self.gateways)]
        out = Outcome(requests=[0] * self.seats)
        events: list[tuple[float, int, Callable[[float], None]]] = []
        order = count()
        prompts: Iterator[list[int]] = iter(chains)

        def at(when_s: float, what: Callable[[float], None]) -> None:
            heapq.heappush(events, (when_s, next(order), what))

        def arrive(now_s: float) -> None:
            chain = next(prompts, None)
            if chain is not None:
                job = self._send(chain, gateways[sum(out.requests) % self.gateways], now_s)
                out.requests[job.seat] += 1
                replicas[job.seat].queue.append(job)
                begin(job.seat, now_s)

        def begin(number: int, now_s: float) -> None:
            replica = replicas[number]
            while replica.queue and replica.busy < self.places:
                job = replica.queue.popleft()
                replica.busy += 1
                cached = replica.cache.match(job.chain)
                replica.cache.put(job.chain)
                job.computed = len(job.chain) - cached
                out.cached += cached
                out.blocks += len(job.chain)
                took = (self.base_s + self.block_s * job.computed) * self.slowness(number, now_s)
                at(now_s + took, lambda then, job=job: first(job, then))  # type: ignore[misc]

        def first(job: _Job, now_s: float) -> None:
            out.ttft_s.append(now_s - job.arrived_s)
            if self.streams:
                job.gateway.loads[job.seat].first(job.sent, now_s=now_s)
            at(now_s + self.answer_s, lambda then: done(job, then))

        def done(job: _Job, now_s: float) -> None:
            replicas[job.seat].busy -= 1
            job.gateway.loads[job.seat].done(
                job.sent,
                now_s=now_s,
                streamed=self.streams,
                computed_tokens=job.computed * _TOKENS,
                output_tokens=20,
            )
            out.end_s = now_s
            begin(job.seat, now_s)
            arrive(now_s)

        for _ in range(at_a_time):
            at(0.0, arrive)
        while events:
            now_s, _, what = heapq.heappop(events)
            what(now_s)
        return out

    def _gateway(self, number: int) -> _Gateway:
        rates = FleetRates()
        return _Gateway(
            [Load(rates) for _ in range(self.seats)],
            [_Cache(self.room) for _ in range(self.seats)],
            route.make(self.policy, by_hash=self.by_hash),
            Anchors(),
            Random(self.seed + number),
        )

    def _send(self, chain: list[int], gateway: _Gateway, now_s: float) -> _Job:
        tokens = len(chain) * _TOKENS
        held = [belief.match(chain) * _TOKENS for belief in gateway.beliefs]
        views = [
            load.view(
                f"replica-{number}",
                cached_tokens=held[number],
                slow_tokens=0,
                now_s=now_s,
                held_tokens=len(gateway.beliefs[number].blocks) * _TOKENS,
                capacity_tokens=self.room * _TOKENS,
                gateways=self.gateways,
            )
            for number, load in enumerate(gateway.loads)
        ]
        rungs = [chain[depth - 1] for depth in (4, 8, 16, 32, 64, 128) if depth <= len(chain)]
        ask = Ask(tokens, head=rungs[0], anchor=gateway.anchors.anchor(rungs, seats=self.seats))
        choice = gateway.policy.choose(ask, views, now_s=now_s, rng=gateway.rng)
        gateway.anchors.seen(rungs, tokens, now_s=now_s)
        gateway.beliefs[choice.seat].put(chain)
        sent = gateway.loads[choice.seat].sent(
            tokens, tokens - held[choice.seat], now_s=now_s, streams=self.streams
        )
        return _Job(chain, now_s, gateway, choice.seat, sent)
