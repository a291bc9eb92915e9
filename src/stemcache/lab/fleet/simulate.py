"""One trace through the same fleet under each routing, next to one large cache and the ideal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

from stemcache.errors import UsageError
from stemcache.lab.fleet.arrivals import arrivals
from stemcache.lab.fleet.belief import Belief, Exact, Guess
from stemcache.lab.fleet.cache import ReplicaCache
from stemcache.lab.fleet.job import Job, jobs
from stemcache.lab.fleet.outcome import Outcome, outcome
from stemcache.lab.fleet.play import by_clients, by_clock
from stemcache.lab.fleet.replica import Replica
from stemcache.lab.fleet.router import Router, Sight
from stemcache.lab.fleet.setup import Agreement, FleetSetup, Knowledge
from stemcache.lab.question import Capacity, Question
from stemcache.lab.simulate import Simulation, simulate
from stemcache.lab.visit import visits
from stemcache.policy import evict, route
from stemcache.policy.route.anchors import Anchors
from stemcache.policy.route.contract import RoutePolicy
from stemcache.policy.route.load import Load
from stemcache.policy.route.rates import FleetRates
from stemcache.trace.record import TraceRequest

__all__ = ["FleetSimulation", "play_fleet", "simulate_fleet"]


@dataclass(frozen=True, slots=True)
class FleetSimulation:
    """Everything that was asked."""

    setup: FleetSetup
    capacity_blocks: int | None
    """Of each replica."""
    one_cache: Simulation
    """The trace, one request after the other, through one cache as large as all of them; its first
    result, and the ideal."""
    output_tokens: int
    """Of the requests that count; 0 where the trace has none."""
    outcomes: tuple[Outcome, ...]
    """One for each routing, in the order asked."""


def simulate_fleet(
    requests: Iterable[TraceRequest], setup: FleetSetup, reading: Question
) -> FleetSimulation:
    """Play a trace, which is held in memory (16 bytes a block). Raises UsageError.

    Of `reading` what it says of blocks, tenants, warm-up and engines' rules counts; capacity and
    eviction are the fleet's.
    """
    setup.check()
    held = list(requests)
    came = list(
        visits(
            held,
            regroup=reading.regroup,
            split=reading.split,
            engine_rules=reading.engine_rules,
            isolate_tenants=reading.isolate_tenants,
            warmup_requests=reading.warmup_requests,
        )
    )
    if not came:
        raise UsageError("the trace has no requests; there is nothing to simulate")
    _check_times(held, setup)
    capacity = setup.capacity.in_blocks(came[0].block_tokens, reading.bytes_per_token)
    whole = Capacity(None if capacity is None else capacity * setup.replicas)
    one_cache = simulate(held, replace(reading, capacities=(whole,), policies=(setup.eviction,)))
    ready = jobs(came)
    outcomes = tuple(
        play_fleet(ready, setup, routing, capacity_blocks=capacity) for routing in setup.routings
    )
    output_tokens = sum(visit.output_tokens or 0 for visit in came if visit.scored)
    return FleetSimulation(setup, capacity, one_cache, output_tokens, outcomes)


def play_fleet(
    ready: Sequence[Job],
    setup: FleetSetup,
    routing: str,
    *,
    capacity_blocks: int | None,
    policies: Sequence[RoutePolicy] | None = None,
) -> Outcome:
    """One routing. The same every time for one seed; `policies`, one a router, replace `routing`'s.

    Policies draw from a generator of their own, so what one draws does not depend on which others
    are tried.
    """
    block_tokens = ready[0].visit.block_tokens if ready else 1
    replicas = [
        Replica(
            ReplicaCache(evict.make(setup.eviction, block_tokens=block_tokens), capacity_blocks),
            setup.speeds,
        )
        for _ in range(setup.replicas)
    ]
    if policies is None:
        by_hash = setup.routers > 1 and setup.agreement is Agreement.HASH
        policies = [
            route.make(routing, by_hash=by_hash, source="--routing") for _ in range(setup.routers)
        ]
    sights = _sights(setup, replicas, capacity_blocks)
    gateways = setup.routers if setup.agreement is Agreement.HASH else 1
    rng = Random(f"{setup.seed}/{routing}")  # noqa: S311  # nothing here is a secret
    routers = [
        Router(policy, sights[number % len(sights)], gateways=gateways, rng=rng)
        for number, policy in enumerate(policies)
    ]
    if setup.concurrency is None:
        times = arrivals(ready, speed=setup.speed, spread_s=setup.spread_s)
        stays = by_clock(ready, replicas, routers, arrivals_s=times)
    else:
        stays = by_clients(ready, replicas, routers, clients=setup.concurrency)
    return outcome(routing, stays, replicas)


def _sights(
    setup: FleetSetup, replicas: Sequence[Replica], capacity_blocks: int | None
) -> list[Sight]:
    """One a router, or one for all where they share."""
    count = 1 if setup.agreement is Agreement.SHARED else setup.routers
    caches = [replica.cache for replica in replicas]
    made = []
    for _ in range(count):
        belief: Belief = (
            Exact(caches)
            if setup.knowledge is Knowledge.EXACT
            else Guess(setup.replicas, capacity_blocks)
        )
        rates = FleetRates()
        loads = [Load(rates) for _ in replicas]
        made.append(Sight(belief, loads, Anchors(), capacity_blocks))
    return made


def _check_times(requests: Sequence[TraceRequest], setup: FleetSetup) -> None:
    for number, request in enumerate(requests, start=1):
        if request.session_clock:
            raise UsageError(
                "times count from the start of each session, but the replicas of --replicas live "
                "on one clock; add --multiplex N"
            )
        if request.arrival_s is None and setup.concurrency is None:
            raise UsageError(
                f"request {number} has no time, and --replicas lets requests come by the clock; "
                "add --concurrency N for N clients that wait for their answers"
            )
