"""The gateway's choice and what it learns, without any I/O: `choose`, then tell what happened.

```
            choose                sent              first            done
  Prompt ────────────► Decision ────────► Flight ─────────► · ─────────────────► mirror, rates,
                          ▲                  └──────────── failed ──► another     self-check
          views of seats ─┘ mirror (events, else a guess) · load · state
```
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from stemcache.gateway.prompt import Prompt
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.settings import GatewaySettings
from stemcache.gateway.usage import AnswerUsage
from stemcache.policy.route.contract import Choice

__all__ = ["Decision", "Flight", "Router"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a request goes, and what the client is told of it."""

    seat: int
    """Number of the seat; stays with it as long as the replica is known."""
    replica: ReplicaSpec
    rank: int | None
    """Data-parallel rank to ask for; None where there is one."""
    choice: Choice
    predicted_cached: int
    """Tokens."""
    prompt_tokens: int
    """Exact or estimated."""
    runner_up: str | None
    """Name of the next best seat."""
    source: str
    """What the prediction rests on: events, guess or none."""

    def header(self) -> bytes:
        """The value of X-Stemcache-Decision."""
        raise NotImplementedError

    def as_json(self) -> dict[str, Any]:
        """For `route explain`."""
        raise NotImplementedError


@dataclass(slots=True)
class Flight:
    """A request at a seat, from `sent` to `done` or `failed`."""

    decision: Decision
    prompt: Prompt
    sent_s: float
    first_s: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)


class Router:
    """All seats, their state, loads and mirrors. Not thread-safe; every method is quick."""

    def __init__(self, settings: GatewaySettings, *, rng: Random) -> None:
        raise NotImplementedError

    def configure(self, settings: GatewaySettings, replicas: Iterable[ReplicaSpec]) -> None:
        """Take the settings and the set of replicas as they are now.

        Replicas that stay keep what was learned; new ones begin as up until a check says otherwise;
        others are forgotten once their last flight has ended.
        """
        raise NotImplementedError

    def choose(
        self, prompt: Prompt, *, now_s: float, exclude: frozenset[int] = frozenset()
    ) -> Decision | None:
        """Pure but for the policy's turn.

        None where no seat can take it (down, draining, full, or does not serve the model).
        """
        raise NotImplementedError

    def sent(self, decision: Decision, prompt: Prompt, *, now_s: float) -> Flight:
        """The request goes there now: counted as load, and as what the seat will hold."""
        raise NotImplementedError

    def first(self, flight: Flight, *, now_s: float) -> None:
        """The first byte of the answer's body came (status below 400)."""
        raise NotImplementedError

    def done(self, flight: Flight, usage: AnswerUsage | None, *, now_s: float) -> None:
        """The answer is complete."""
        raise NotImplementedError

    def failed(self, flight: Flight, kind: str, *, now_s: float, blame: bool) -> None:
        """It ended otherwise.

        `kind`: refused, timeout, dropped, status-503, client-left …; `blame`: whether it counts
        against the seat (a client that leaves does not).
        """
        raise NotImplementedError

    def checked(self, name: str, *, ok: bool, detail: str, now_s: float) -> None:
        """An active health check of a replica has ended."""
        raise NotImplementedError

    def drain(self, name: str, *, on: bool) -> bool:
        """Send it nothing new (or do so again). False where there is no such replica."""
        raise NotImplementedError

    def restarted(self, name: str, why: str, *, now_s: float) -> None:
        """What it held is gone: forget it, and say so."""
        raise NotImplementedError

    def fleet(self, *, now_s: float) -> Mapping[str, Any]:
        """`/v1/fleet`: every replica with state, load, rates, mirror, predicted and reported."""
        raise NotImplementedError
