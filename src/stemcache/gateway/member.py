"""One replica at run time, and its seats."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stemcache.gateway.breaker import Breaker
from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.gateway.self_check import SelfCheck
from stemcache.policy.route.contract import View
from stemcache.policy.route.load import Load

__all__ = ["Able", "Member", "OtherLoad", "Seat"]


@dataclass(frozen=True, slots=True)
class OtherLoad:
    """What another gateway has at a seat."""

    in_flight: int
    waiting_tokens: int
    told_s: float


@dataclass(slots=True)
class Seat:
    """A replica, or one of its data-parallel ranks: what a policy chooses."""

    number: int
    """Never used again for another."""
    name: str
    rank: int | None
    load: Load
    view: View
    """Of the load, as of the last look; what policies see. Used again by the next."""
    check: SelfCheck = field(default_factory=SelfCheck)
    reasons: Counter[str] = field(default_factory=Counter)
    """Requests sent, by the reason of the choice."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Flights ended, by how: done, client-left, refused, status-503 …"""
    others: dict[str, "OtherLoad"] = field(default_factory=dict)
    """What other gateways have here, by gateway, as they last told."""
    resets: int = 0
    gaps: int = 0


@dataclass(slots=True)
class Member:
    """What is known of a replica beside its spec."""

    spec: ReplicaSpec
    seats: list[Seat]
    breaker: Breaker
    engine: Engine
    up: bool = True
    detail: str = "not checked yet"
    draining: bool = False
    leaving: bool = False
    """Not configured any more; forgotten when its last flight has ended."""
    models: frozenset[str] = frozenset()
    """Base models and adapters; empty: unknown, so anything."""
    adapters: frozenset[str] = frozenset()
    started: float | None = None
    """When its process began, in seconds of the wall clock, as it says itself."""

    @property
    def in_flight(self) -> int:
        """Over all seats."""
        return sum(seat.load.in_flight for seat in self.seats)

    def takes(self, model: str | None, per_replica: int) -> bool:
        """Whether `refuses` would find no reason but the breaker. About 0.2 µs."""
        return (
            self.up
            and not self.draining
            and not self.leaving
            and (not self.models or model is None or model in self.models)
            and not (per_replica and self.in_flight >= per_replica)
        )

    def refuses(self, model: str | None, now_s: float, per_replica: int) -> str | None:
        """Why it cannot be chosen for this model now; None where it can. O(ranks)."""
        if self.leaving:
            return "removed"
        if self.draining:
            return "draining"
        if not self.up:
            return f"down: {self.detail}"
        if busy_s := self.breaker.busy_left_s(now_s):
            return f"busy, as it says, for {busy_s:.1f} s more"
        if open_s := self.breaker.open_left_s(now_s):
            return f"its breaker is open for {open_s:.1f} s more"
        if not self.breaker.allows(now_s):
            return "its breaker is half-open, and one request tries"
        if per_replica and self.in_flight >= per_replica:
            return f"{per_replica} requests are in flight"
        if model is not None and self.models and model not in self.models:
            return "does not serve the model"
        return None


class Able(NamedTuple):
    """Seats that may be chosen, in the order of their replicas."""

    seats: Sequence[tuple[Member, Seat]]
    numbers: Sequence[int]
    """Theirs, in the same order; so with what follows."""
    loads: Sequence[Load]
    views: Sequence[View]

    @classmethod
    def of(cls, seats: Sequence[tuple[Member, Seat]]) -> "Able":
        """These. To be made anew where a seat gets another view."""
        return cls(
            seats,
            [seat.number for _, seat in seats],
            [seat.load for _, seat in seats],
            [seat.view for _, seat in seats],
        )
