"""What fleet to simulate."""

from dataclasses import dataclass
from enum import StrEnum

from stemcache.errors import UsageError, unknown_choice
from stemcache.lab.question import Capacity
from stemcache.policy import evict, route

__all__ = ["EVICTIONS", "Agreement", "FleetSetup", "Knowledge", "Speeds"]

EVICTIONS = evict.NAMES
"""What a replica may evict by: what engines can do."""


class Knowledge(StrEnum):
    """What a router knows of the caches."""

    EXACT = "exact"
    """Every block, at once, as from KV events without delay."""
    GUESS = "guess"
    """What it has sent there, corrected by the cached tokens that answers report."""


class Agreement(StrEnum):
    """How several routers in front of the same replicas agree."""

    ALONE = "alone"
    """Each behaves as if it were the only one."""
    HASH = "hash"
    """Each knows how many there are, and a prompt that nobody is known to hold is hashed."""
    SHARED = "shared"
    """All have one memory of what was sent where."""


@dataclass(frozen=True, slots=True)
class Speeds:
    """How fast a replica works."""

    prefill_tokens_per_s: float = 8_000.0
    overhead_s: float = 0.02
    """Of each prefill, whatever its length."""
    decode_tokens_per_s: float = 50.0
    """Of each answer; infinity makes answers take no time."""
    slots: int = 64
    """Requests that run at once."""

    def prefill_s(self, tokens: int) -> float:
        """Seconds to compute that many prompt tokens."""
        return self.overhead_s + tokens / self.prefill_tokens_per_s

    def decode_s(self, output_tokens: int | None) -> float:
        """Seconds from the first token to the last; none where the trace has no length."""
        return max(0, (output_tokens or 0) - 1) / self.decode_tokens_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSetup:
    """Replicas, routers and how requests come."""

    replicas: int
    capacity: Capacity
    """Of each replica."""
    routings: tuple[str, ...] = ("auto", "round-robin")
    eviction: str = "lru"
    speeds: Speeds = Speeds()
    knowledge: Knowledge = Knowledge.EXACT
    routers: int = 1
    """Gateways; requests go to them in turn."""
    agreement: Agreement = Agreement.ALONE
    speed: float = 1.0
    """Times of the trace are divided by this."""
    spread_s: float = 0.0
    """Requests of one moment are spread over so many of the trace's seconds."""
    concurrency: int | None = None
    """So many clients that each send the next request when one is answered; None: by the clock."""
    seed: int = 0

    def check(self) -> None:
        """Raise UsageError if parts do not go together."""
        for name in self.routings:
            if name not in route.NAMES:
                raise UsageError(unknown_choice("policy", name, "--routing", route.NAMES))
        if self.eviction not in EVICTIONS:
            raise UsageError(
                f"--policy {self.eviction} cannot run in a replica; use one of "
                f"{', '.join(EVICTIONS)}"
            )
