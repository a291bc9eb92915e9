"""Where a request goes, and how a client is told of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stemcache.gateway.replica import ReplicaSpec
from stemcache.policy.route.contract import Choice

__all__ = ["Decision", "Source"]


class Source(StrEnum):
    """What a prediction of cached tokens rests on."""

    EVENTS = "events"
    GUESS = "guess"
    NONE = "none"
    """The request has no prompt that could be read."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice of the router's."""

    seat: int
    """Number of the seat; stays with it as long as the replica is known."""
    name: str
    """The seat's."""
    replica: ReplicaSpec
    rank: int | None
    """Data-parallel rank to ask for; None where there is one."""
    choice: Choice
    predicted_cached: int
    """Tokens."""
    prompt_tokens: int
    """Exact or estimated."""
    exact: bool
    """Whether tokens were counted, not estimated from bytes."""
    runner_up: str | None
    """Name of the next best seat."""
    source: Source

    def header(self) -> bytes:
        """The value of X-Stemcache-Decision, in the form of a structured field's parameters.

        Names are the fleet's own; nothing of the prompt, of another request or of a tenant is in
        it. About 2 µs.
        """
        choice = self.choice
        parts = [
            f'replica="{self.name}"',
            f"reason={choice.reason}",
            f"cached={self.predicted_cached}",
            f"prompt={self.prompt_tokens}",
            f"source={self.source}",
            f"ttft={choice.ttft_s * 1000:.1f}ms",
        ]
        if self.runner_up is not None:
            parts.append(f'runner-up="{self.runner_up}"')
            if choice.runner_up_ttft_s is not None:
                parts.append(f"runner-up-ttft={choice.runner_up_ttft_s * 1000:.1f}ms")
        return "; ".join(parts).encode("ascii", "replace")

    def as_json(self) -> dict[str, Any]:
        """For `route explain`."""
        choice = self.choice
        return {
            "replica": self.name,
            "url": self.replica.url,
            "rank": self.rank,
            "reason": str(choice.reason),
            "predicted_cached_tokens": self.predicted_cached,
            "prompt_tokens": self.prompt_tokens,
            "tokens_exact": self.exact,
            "source": str(self.source),
            "predicted_ttft_ms": round(choice.ttft_s * 1000, 3),
            "runner_up": self.runner_up,
            "runner_up_ttft_ms": (
                None
                if choice.runner_up_ttft_s is None
                else round(choice.runner_up_ttft_s * 1000, 3)
            ),
        }
