"""What a routing policy is asked, what it sees, and what it answers. Pure values.

```
Ask (one request) + View, View, … (each seat, now)  ──choose──►  Choice (a seat, why, the next best)
```
A *seat* is where KV can be: a replica, or one data-parallel rank of it. The gateway and the
simulator build the same views and call the same objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from random import Random
from typing import NamedTuple, Protocol, runtime_checkable

__all__ = ["Ask", "Choice", "Cost", "Rates", "Reads", "Reason", "RoutePolicy", "View", "Weighs"]


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast a seat answers, as learned from its streams or assumed before there were any."""

    base_s: float
    """Time to first token of an empty prompt on an idle seat: network, template, one step."""
    prefill_s: float
    """Per prompt token that is computed."""
    busy_s: float
    """Per other request in flight."""
    queue_s: float | None = None
    """Per prompt token that is to be computed before; None: the same as `prefill_s`. Less where a
    seat computes several prompts at a time."""


@dataclass(slots=True)
class Ask:
    """One request as routing sees it. Do not mutate; not frozen, as `View` is not."""

    prompt_tokens: int
    """Exact, or estimated from its bytes."""
    session: str | None = None
    """What the client says belongs together; the tenant is part of it already."""
    head: int = 0
    """Key of the prompt's first tokens (a fixed number), for hashing; the namespace is in it."""
    anchor: int = 0
    """Key of the longest beginning that is shared and yet not most of the traffic: what several
    gateways hash by when nobody is known to hold the prompt. `head` where nothing is known."""
    anchor_tokens: int = 0
    """Of the prompt, about, that the anchor stands for; 0 where that is not known."""


@dataclass(slots=True)
class View:
    """One seat that may be chosen, at one moment. Do not mutate, and do not keep.

    Not frozen, as who makes views may bring the same ones up to date for the next request.
    """

    name: str
    """Unique in the fleet, the same for every gateway: what hashing is done on."""
    cached_tokens: int
    """Prompt tokens whose KV it is believed to hold."""
    slow_tokens: int
    """Of the prompt tokens behind those, how many it holds in a slower tier."""
    in_flight: int
    """Requests sent and not finished; an estimate of all gateways' together."""
    waiting_tokens: int
    """Prompt tokens to be computed of requests whose first token has not come."""
    recent_s: float
    """Work given lately, in seconds of service, decayed: what tells idle seats apart."""
    fresh_tokens: float
    """Tokens newly computed there lately, decayed: how hard its cache is pressed."""
    utilization: float
    """Share of the last while that it had something to do, 0 to 1."""
    rates: Rates
    weight: float = 1.0
    """Relative size, as configured."""
    held_tokens: int = 0
    """Tokens believed to be in its cache."""
    capacity_tokens: int | None = None
    """Tokens its cache can hold; None where unknown."""
    tidy: bool = False
    """Whoever made it has seen to it that every figure makes sense."""


class Reason(StrEnum):
    """Why a seat was chosen; a word for the decision header, metrics and reports."""

    ONLY = "only"
    """Nobody else could be chosen."""
    TURN = "turn"
    RANDOM = "random"
    LEAST_LOADED = "least-loaded"
    SESSION = "session"
    """Where this session's requests go."""
    HASHED = "hashed"
    """Where the hash of its beginning points."""
    CACHED = "cached"
    """It holds (most of) the prompt, and waiting for it pays."""
    REPLICATED = "replicated"
    """Another holds more, but computing again here is sooner than waiting there."""
    SPREAD = "spread"
    """Computed here, although another would answer sooner: it costs the others less."""
    COLD = "cold"
    """Nobody holds a useful part."""


class Choice(NamedTuple):
    """Whom to send the request to."""

    seat: int
    """Index into the views."""
    reason: Reason
    runner_up: int | None
    """The next best; None where there is none."""
    ttft_s: float
    """Predicted time to first token there."""
    runner_up_ttft_s: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a policy reckons that one seat would cost, in seconds: of least sum is chosen."""

    wait_s: float
    """Of the request itself: its predicted time to first token."""
    copy_s: float
    """For computing again what another seat holds. Below 0 where the copy will be used so often
    that it costs less than the prefill that is in the wait already."""
    pressure_s: float
    """For what new tokens push out there, more than elsewhere; below 0 where they push out less."""
    turn_s: float
    """For work that was given to it lately."""
    place_s: float
    """For its place in the order that gateways hash by."""

    @property
    def sum_s(self) -> float:
        """The whole of it."""
        return self.wait_s + self.copy_s + self.pressure_s + self.turn_s + self.place_s


class Reads(Enum):
    """What a policy looks at of a request beside its load: what it does not, need not be read."""

    NOTHING = 0
    SESSION = 1
    """The session; the head of a prompt that has none."""
    PROMPT = 2
    """All of the prompt, and what seats hold of it."""


class RoutePolicy(Protocol):
    """**Protocol**: chooses. May keep state of its own (a turn, a session table), bounded."""

    reads: Reads
    """What it makes use of; of the rest, asks and views may say nothing."""

    def choose(self, ask: Ask, views: Sequence[View], *, now_s: float, rng: Random) -> Choice:
        """One of `views`, of which there is at least one.

        Must not assume the same views each time: seats come and go, and a retry leaves out those
        that have failed.
        """
        ...

    def fork(self) -> "RoutePolicy":
        """One that would choose next as this one would, and leaves this one as it is.

        For one choice, at once; itself where it keeps nothing. No more than O(seats).
        """
        ...


@runtime_checkable
class Weighs(Protocol):
    """**Protocol**: a policy that chooses by more than the wait, and can say by what."""

    def weigh(self, ask: Ask, views: Sequence[View], *, now_s: float) -> Sequence[Cost]:
        """What it would weigh of each seat if it chose now. For people: ask a fork of it."""
        ...
