"""Where a request goes, and how a client is told of it."""

from enum import StrEnum
from typing import Any

import msgspec

from stemcache.gateway.replica import ReplicaSpec
from stemcache.policy.route.contract import Choice

__all__ = ["Decision", "Source"]


class Source(StrEnum):
    """What a prediction of cached tokens rests on."""

    EVENTS = "events"
    GUESS = "guess"
    NONE = "none"
    """There is no prediction: no prompt that could be read, or a policy that looks at none."""


# A plain name: to name a member of an enumeration takes six times as long.
_NONE = Source.NONE


class Decision(msgspec.Struct, frozen=True):
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

        Names are the fleet's own, and nothing of a prompt is in it; but times tell what others do.
        Without `cached` where nobody looked for what is cached. About 0.5 µs.
        """
        _, _, _, ttft_s, other_s = self.choice
        shown = f'replica="{self.name}"; {self._own()}; ttft={ttft_s * 1000.0:.1f}ms'
        if self.runner_up is not None:
            shown += f'; runner-up="{self.runner_up}"'
            if other_s is not None:
                shown += f"; runner-up-ttft={other_s * 1000.0:.1f}ms"
        return shown.encode("ascii", "replace")

    def own_header(self) -> bytes:
        """As `header`, of the request itself alone: for clients that are strangers to each other.

        Of who answers, and how soon who else would have, there is nothing in it: that is the load
        of others.
        """
        return self._own().encode("ascii", "replace")

    def _own(self) -> str:
        # The value of a StrEnum is a plain string, which is quicker to format.
        cached = "" if self.source is _NONE else f"cached={self.predicted_cached}; "
        return (
            f"reason={self.choice.reason._value_}; {cached}"
            f"prompt={self.prompt_tokens}; source={self.source._value_}"
        )

    def as_json(self) -> dict[str, Any]:
        """For `route explain`."""
        choice = self.choice
        return {
            "replica": self.name,
            "url": self.replica.url,
            "rank": self.rank,
            "reason": str(choice.reason),
            "predicted_cached_tokens": (None if self.source is _NONE else self.predicted_cached),
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
