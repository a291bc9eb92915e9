"""What came of a routing: sums over the requests that count."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from stemcache.lab.fleet.replica import Replica, Stay
from stemcache.lab.visit import Tally
from stemcache.policy.route.contract import Reason

__all__ = ["Outcome", "Share", "Waits", "outcome"]


@dataclass(slots=True)
class Share:
    """What one replica got."""

    requests: int = 0
    prompt_tokens: int = 0
    computed_tokens: int = 0
    busy_s: float = 0.0
    """Time spent on prefill, of all requests, those of the warm-up among them."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Times to first token, seconds, from the shortest to the longest."""

    ordered_s: Sequence[float]

    @property
    def mean_s(self) -> float:
        """Their mean."""
        return sum(self.ordered_s) / len(self.ordered_s)

    def percentile_s(self, percent: float) -> float:
        """The shortest that is no shorter than so many of them (nearest rank)."""
        return self.ordered_s[max(0, ceil(percent / 100 * len(self.ordered_s)) - 1)]


@dataclass(slots=True)
class Outcome:
    """One routing's answer. Only requests that are scored count, but for `busy_s` and `end_s`."""

    routing: str
    total: Tally = field(default_factory=Tally)
    shares: list[Share] = field(default_factory=list)
    """One a replica."""
    waits: Waits = Waits(())
    reasons: dict[Reason, int] = field(default_factory=dict)
    predicted_tokens: int = 0
    """What the routers thought that they would find where they sent requests to."""
    mispredicted_tokens: int = 0
    """Sum over requests of how far that was from what was found."""
    end_s: float = 0.0
    """When the last answer was complete, from the first request on."""

    @property
    def requests_over_mean(self) -> float:
        """Requests of the replica that got most, over the mean."""
        return _over_mean([share.requests for share in self.shares])

    @property
    def computed_over_mean(self) -> float:
        """Tokens computed by the replica that computed most, over the mean."""
        return _over_mean([share.computed_tokens for share in self.shares])


def outcome(routing: str, stays: Sequence[Stay], replicas: Sequence[Replica]) -> Outcome:
    """Add up. O(requests)."""
    made = Outcome(routing, shares=[Share(busy_s=replica.busy_s) for replica in replicas])
    waits: list[float] = []
    reasons: Counter[Reason] = Counter()
    for stay in stays:
        made.end_s = max(made.end_s, stay.done_s)
        job = stay.job
        if not job.visit.scored:
            continue
        made.total.add(job.visit.size, stay.cached_blocks)
        share = made.shares[stay.replica]
        share.requests += 1
        share.prompt_tokens += job.visit.prompt_tokens
        share.computed_tokens += job.visit.prompt_tokens - stay.cached_tokens
        waits.append(stay.first_s - stay.arrived_s)
        reasons[stay.choice.reason] += 1
        predicted = job.tokens(stay.predicted_blocks)
        made.predicted_tokens += predicted
        made.mispredicted_tokens += abs(predicted - stay.cached_tokens)
    waits.sort()
    made.waits = Waits(waits)
    made.reasons = {reason: reasons[reason] for reason in Reason if reasons[reason]}
    return made


def _over_mean(values: Sequence[int]) -> float:
    total = sum(values)
    return max(values) * len(values) / total if total else 1.0
