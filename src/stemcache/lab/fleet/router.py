"""One gateway in simulated time: the policy, what it believes of caches, the load that it sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from stemcache.lab.fleet.belief import Belief
from stemcache.lab.fleet.job import Job
from stemcache.lab.fleet.replica import Stay
from stemcache.policy.route.anchors import Anchors
from stemcache.policy.route.contract import Ask, RoutePolicy
from stemcache.policy.route.load import Load, Sent

__all__ = ["Router", "Sight"]


@dataclass(frozen=True, slots=True)
class Sight:
    """What a router sees of the fleet: its own, or shared by several."""

    belief: Belief
    loads: Sequence[Load]
    """One a replica."""
    anchors: Anchors
    capacity_blocks: int | None
    """What each replica says that it has room for."""


class Router:
    """Chooses, and is told what became of it. Costs O(replicas) a request."""

    def __init__(self, policy: RoutePolicy, sight: Sight, *, gateways: int, rng: Random) -> None:
        """`gateways`: loads seen here are taken so many times."""
        self._policy = policy
        self._sight = sight
        self._gateways = gateways
        self._rng = rng
        self._names = [f"replica-{number}" for number in range(len(sight.loads))]
        self._sent: dict[int, Sent] = {}

    def send(self, job: Job, *, now_s: float) -> Stay:
        """Choose a replica and count the request as sent there."""
        sight, visit = self._sight, job.visit
        blocks = [sight.belief.cached_blocks(job, seat) for seat in range(len(sight.loads))]
        room = None if sight.capacity_blocks is None else sight.capacity_blocks * visit.block_tokens
        views = [
            load.view(
                self._names[seat],
                cached_tokens=job.tokens(blocks[seat]),
                slow_tokens=0,
                now_s=now_s,
                held_tokens=sight.belief.held_blocks(seat) * visit.block_tokens,
                capacity_tokens=room,
                gateways=self._gateways,
            )
            for seat, load in enumerate(sight.loads)
        ]
        rungs = job.rungs
        anchor = sight.anchors.anchor(rungs, seats=len(views))
        anchor_tokens = job.tokens(1 << rungs.index(anchor)) if rungs else 0
        ask = Ask(visit.prompt_tokens, visit.session, job.head, anchor, anchor_tokens)
        choice = self._policy.choose(ask, views, now_s=now_s, rng=self._rng)
        seat = choice.seat
        predicted = blocks[seat]
        computed = visit.prompt_tokens - job.tokens(predicted)
        self._sent[job.number] = sight.loads[seat].sent(visit.prompt_tokens, computed, now_s=now_s)
        sight.belief.sent(job, seat)
        sight.anchors.seen(rungs, visit.prompt_tokens, now_s=now_s)
        return Stay(job, seat, now_s, choice, predicted)

    def first(self, stay: Stay, *, now_s: float) -> None:
        """Its first token came."""
        self._sight.loads[stay.replica].first(self._sent[stay.job.number], now_s=now_s)

    def done(self, stay: Stay, *, now_s: float) -> None:
        """Its answer is complete and says how many tokens were cached."""
        job = stay.job
        self._sight.loads[stay.replica].done(
            self._sent.pop(job.number),
            now_s=now_s,
            streamed=True,
            computed_tokens=job.visit.prompt_tokens - stay.cached_tokens,
            output_tokens=job.visit.output_tokens,
        )
        self._sight.belief.answered(
            job, stay.replica, predicted=stay.predicted_blocks, reported=stay.cached_blocks
        )
