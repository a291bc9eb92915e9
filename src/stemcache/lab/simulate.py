"""One trace through every cache that was asked about, in one reading.

`lru` at any capacity and time to live comes from the pass in `survey`; every other policy is
played, `min` after the reading, when the future is known.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from stemcache.errors import UsageError
from stemcache.lab.curve import LruCurve
from stemcache.lab.flat import FLAT, FlatCache
from stemcache.lab.optimum import Future, optimum
from stemcache.lab.policy_cache import PolicyCache
from stemcache.lab.question import OPTIMA, Question
from stemcache.lab.survey import Cell, Survey
from stemcache.lab.visit import Size, Tally, Times, Visit, visits
from stemcache.policy import evict
from stemcache.trace.record import TraceRequest

__all__ = ["Result", "Simulation", "simulate"]

_CURVE_POINTS = 200
_AUTO_STEPS = 7


@dataclass(frozen=True, slots=True)
class Result:
    """One cache's answer."""

    policy: str
    capacity_blocks: int | None
    ttl_s: float | None
    total: Tally
    tenants: dict[str, Tally]
    """By tenant, where the trace has any."""
    refresh: bool = True
    second_tier_blocks: int = 0
    second_tier_hit_blocks: int = 0
    """Of the hits, those that came from the second tier."""
    second_tier_hit_tokens: int = 0
    keep_alive: int = 0
    pings: int = 0
    pinged_tokens: int = 0

    def count(self, tenant: str | None, size: Size, hit_blocks: int) -> None:
        """Add a request."""
        self.total.add(size, hit_blocks)
        self.tenants.setdefault(tenant or "", Tally()).add(size, hit_blocks)


@dataclass(frozen=True, slots=True)
class Simulation:
    """Everything that one reading gave."""

    survey: Survey
    results: tuple[Result, ...]
    block_tokens: int
    alone: bool
    """Each session had a cache of its own, as the trace has no clock in common."""
    span_s: float
    times: Times

    @property
    def curve_capacities(self) -> list[int]:
        """Capacities that draw the LRU curve, in blocks, evenly spaced on a log scale."""
        largest = max(1, self.survey.curve.largest)
        steps = (largest ** (i / (_CURVE_POINTS - 1)) for i in range(_CURVE_POINTS))
        return sorted({round(step) for step in steps})

    def lru_needs(self, share: float) -> int | None:
        """The smallest capacity at which LRU finds that share of what the ideal finds; blocks."""
        curve, wanted = self.survey.curve, share * self.survey.ideal.hit_tokens
        if not wanted:
            return None
        return bisect_left(
            range(curve.largest),
            wanted,
            lo=1,
            key=lambda blocks: int(curve.token_hits([blocks], self.block_tokens)[0]),
        )


def simulate(requests: Iterable[TraceRequest], question: Question) -> Simulation:
    """Read a trace once and answer. Memory: O(distinct blocks), and O(requests) with `min`."""
    question.check()
    stream = _Stream(requests, question)
    visits_to_come = iter(stream)
    first = next(visits_to_come, None)
    if first is None:
        raise UsageError("the trace has no requests; there is nothing to simulate")
    block_tokens = stream.block_tokens
    capacities: Sequence[int | None] = [
        each.in_blocks(block_tokens, question.bytes_per_token) for each in question.capacities or ()
    ]
    cells = _cells(question, capacities)
    survey = Survey(list(cells.values()), alone=stream.alone)
    played = {
        (policy, capacity): _Played(policy, capacity)
        for policy in question.policies
        for capacity in capacities
        if capacity is not None and _is_played(policy, question)
    }
    knowing = any(policy in OPTIMA for policy in question.policies)
    futures: dict[str | None, Future] = {}
    for visit in chain([first], visits_to_come):
        survey.feed(visit)
        cache = visit.session if stream.alone else None
        for contender in played.values():
            contender.feed(cache, visit)
        if knowing:
            futures.setdefault(cache, Future()).feed(visit)
    survey.finish()
    if not survey.ideal.requests:
        raise UsageError(
            f"--warmup {question.warmup_requests} leaves nothing to count: the trace has "
            f"{stream.requests} requests; give fewer"
        )
    if question.capacities is None:
        capacities = _telling(survey)
    second = question.second_tier
    second_blocks = second.in_blocks(block_tokens, question.bytes_per_token) if second else None
    results: list[Result] = []
    for policy in question.policies:
        for capacity in capacities:
            if policy == "lru":
                for ttl_s in question.ttls_s:
                    if ttl_s is None and (policy, capacity) in played:
                        assert capacity is not None, "only bounded caches are played"
                        results.append(played[policy, capacity].result)
                    elif ttl_s is None:
                        results.append(_from_curve(survey, capacity, block_tokens, second_blocks))
                    else:
                        results.append(_from_cell(cells[capacity, ttl_s]))
            elif capacity is None:
                results.append(Result(policy, None, None, survey.ideal, survey.tenants))
            elif policy in OPTIMA:
                results.append(_best(policy, futures, capacity))
            else:
                results.append(played[policy, capacity].result)
    return Simulation(
        survey,
        tuple(results),
        block_tokens,
        stream.alone,
        stream.span_s,
        stream.times,
    )


def _is_played(policy: str, question: Question) -> bool:
    """Whether a policy is played request by request.

    `lru` follows from the curve, except where an engine's rules are asked for: the block that holds
    a known prompt's last token is computed again, in a page of its own for as long as it takes, and
    is no use of the one that was there. With a second tier the two are told by the curve all the
    same, as an engine has one tier.
    """
    if policy == "lru":
        return question.engine_rules and question.second_tier is None
    return policy not in OPTIMA


def _telling(survey: Survey) -> Sequence[int]:
    """Capacities up to the largest that helps, each twice the one before it."""
    largest = max(1, survey.curve.largest)
    return sorted({max(1, largest >> step) for step in range(_AUTO_STEPS)})


def _cells(
    question: Question, capacities: Sequence[int | None]
) -> dict[tuple[int | None, float], Cell]:
    """What the curve does not tell: one for each capacity and time to live."""
    if "lru" not in question.policies:
        return {}
    return {
        (capacity, ttl_s): Cell(
            capacity, ttl_s, refresh=question.refresh, keep_alive=question.keep_alive
        )
        for capacity in capacities
        for ttl_s in question.ttls_s
        if ttl_s is not None
    }


def _from_cell(cell: Cell) -> Result:
    return Result(
        "lru",
        cell.capacity_blocks,
        cell.ttl_s,
        cell.tally,
        cell.tenants,
        refresh=cell.refresh,
        keep_alive=cell.keep_alive,
        pings=cell.pings,
        pinged_tokens=cell.pinged_tokens,
    )


def _from_curve(
    survey: Survey, capacity: int | None, block_tokens: int, second_tier: int | None
) -> Result:
    """Without a time to live the curve knows all: in one tier, or in two.

    What LRU evicts goes to the front of the second tier, so the two are one LRU list cut in two.
    """
    if capacity is None:
        return Result("lru", None, None, survey.ideal, survey.tenants)

    def at(size: int, curve: LruCurve, asked: Tally) -> Tally:
        (blocks,), (tokens,) = curve.block_hits([size]), curve.token_hits([size], block_tokens)
        return replace(asked, hit_blocks=int(blocks), hit_tokens=int(tokens))

    whole = capacity + (second_tier or 0)
    total, first = (at(size, survey.curve, survey.ideal) for size in (whole, capacity))
    return Result(
        "lru",
        capacity,
        None,
        total,
        {
            tenant: at(whole, survey.tenant_curves.get(tenant, LruCurve()), asked)
            for tenant, asked in survey.tenants.items()
            if tenant
        },
        second_tier_blocks=second_tier or 0,
        second_tier_hit_blocks=total.hit_blocks - first.hit_blocks,
        second_tier_hit_tokens=total.hit_tokens - first.hit_tokens,
    )


class _Stream:
    """Visits, and what is only known once they have passed."""

    def __init__(self, requests: Iterable[TraceRequest], question: Question) -> None:
        self.times = Times()
        self.block_tokens = 0
        self.alone = False
        self.span_s = 0.0
        self.requests = 0
        self._timed = any(ttl_s is not None for ttl_s in question.ttls_s)
        self._visits = visits(
            requests,
            regroup=question.regroup,
            split=question.split,
            engine_rules=question.engine_rules,
            isolate_tenants=question.isolate_tenants,
            warmup_requests=question.warmup_requests,
            times=self.times,
        )

    def __iter__(self) -> Iterator[Visit]:
        first_s: float | None = None
        timed = self._timed
        for number, visit in enumerate(self._visits, start=1):
            self.requests = number
            if first_s is None:
                first_s = visit.now_s
                self.block_tokens, self.alone = visit.block_tokens, visit.session_clock
            if visit.block_tokens != self.block_tokens or visit.session_clock != self.alone:
                raise UsageError(
                    f"request {number} has {visit.block_tokens} tokens a block, those before it "
                    f"{self.block_tokens}; simulate one kind of trace at a time"
                    if visit.block_tokens != self.block_tokens
                    else f"request {number} and those before it do not count time from the same "
                    "kind of zero; simulate one kind of trace at a time"
                )
            if self.times.missing and timed:
                raise UsageError(
                    f"request {number} has no time, and a --ttl counts time; leave the flag out"
                )
            self.span_s = max(self.span_s, visit.now_s - first_s)
            yield visit


class _Played:
    """A policy at one capacity: one cache, or one for each session."""

    def __init__(self, policy: str, capacity: int) -> None:
        self.policy = policy
        self.capacity = capacity
        self.result = Result(policy, capacity, None, Tally(), {})
        self._caches: dict[str | None, FlatCache | PolicyCache] = {}

    def feed(self, cache: str | None, visit: Visit) -> None:
        if cache not in self._caches:
            self._caches[cache] = (
                FlatCache(FLAT[self.policy](self.capacity))
                if self.policy in FLAT
                else PolicyCache(
                    evict.make(self.policy, block_tokens=visit.block_tokens), self.capacity
                )
            )
        hits = self._caches[cache].feed(visit)
        if visit.scored:
            self.result.count(visit.tenant, visit.size, hits)


def _best(policy: str, futures: dict[str | None, Future], capacity: int) -> Result:
    result = Result(policy, capacity, None, Tally(), {})
    for future in futures.values():
        for tenant, size, hits in optimum(future, capacity, bypass=policy == "min-bypass"):
            result.count(tenant, size, hits)
    return result
