"""Pings played against a provider's cache: what they cost and save, request by request.

```
visits   a────a──b───────────────────a────      threads a and b of one session
pings        ·  ·    a·    a·     ✕             planned after each visit, void with the next one
cache    the provider's, as `provider.cache` has it; pings are requests to it like any other
```
The planner sees what has been until the visit and nothing else.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stemcache.prompt.keepalive.budget import Ledger
from stemcache.provider.cache.simulate import Outcome, PromptCache
from stemcache.provider.price import Price, cost
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape
from stemcache.provider.usage import Usage

__all__ = ["Bill", "Pinging", "Visit", "play", "priced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One request of a session."""

    at_s: float
    """Start of the request."""
    thread: int
    """Which conversation of the session it goes on with."""
    shape: Shape
    prefix_tokens: int
    """What a later request of the thread would read."""
    output_tokens: int


@dataclass(slots=True)
class Bill:
    """Sums over what was played. `+=` by `add`."""

    usd: float = 0.0
    """All requests and pings, with their answers."""
    ping_usd: float = 0.0
    pings: int = 0
    requests: int = 0
    prompt_tokens: int = 0
    """Of requests; pings do not count."""
    read_tokens: int = 0
    ledger: Ledger = field(default_factory=Ledger)

    def add(self, other: "Bill") -> None:
        """Sum in place; the ledger becomes the other's."""
        self.usd += other.usd
        self.ping_usd += other.ping_usd
        self.pings += other.pings
        self.requests += other.requests
        self.prompt_tokens += other.prompt_tokens
        self.read_tokens += other.read_tokens
        self.ledger = other.ledger


class Pinging(Protocol):
    """**Protocol**: decides after a visit when to ping, in seconds from its start."""

    def __call__(self, visit: Visit, ledger: Ledger, /) -> Sequence[float]:
        """Rising. Pings after the thread's next visit are not sent."""
        ...


def play(
    visits: Sequence[Visit],
    *,
    rule: Rule,
    price: Price,
    pinging: Pinging,
    ledger: Ledger,
    ping_output_tokens: int = 1,
) -> Bill:
    """One session, its visits in order of time. Costs O((visits + pings) · positions).

    `ledger` is what stood in it before. A ping is sent only while the ledger affords it. What was
    gained is told by a second cache that gets the same visits and no pings.
    """
    cache, without = PromptCache(rule), PromptCache(rule)
    bill = Bill(ledger=ledger)
    last: dict[int, int] = {}
    # Time, whether it is a ping (visits go first where both are due), number of the visit.
    queue = [(visit.at_s, False, number) for number, visit in enumerate(visits)]
    heapq.heapify(queue)
    while queue:
        at_s, is_ping, number = heapq.heappop(queue)
        visit = visits[number]
        if not is_ping:
            usd, outcome = _send(cache, visit, at_s, visit.output_tokens, price)
            undone_usd, _ = _send(without, visit, at_s, visit.output_tokens, price)
            bill.usd += usd
            bill.requests += 1
            bill.prompt_tokens += visit.shape.tokens
            bill.read_tokens += outcome.read_tokens
            bill.ledger = bill.ledger.spend(usd).gain(undone_usd - usd)
            last[visit.thread] = number
            for age_s in pinging(visit, bill.ledger):
                heapq.heappush(queue, (at_s + age_s, True, number))
        elif last[visit.thread] == number:
            outcome = cache.look(visit.shape, now_s=at_s, scope="")
            due = priced(visit.shape, outcome, ping_output_tokens, price, rule)
            if not bill.ledger.affords(due):
                continue
            cache.keep(visit.shape, outcome, now_s=at_s, readable_s=at_s, scope="")
            bill.usd += due
            bill.ping_usd += due
            bill.pings += 1
            bill.ledger = bill.ledger.risk(due)
    return bill


def priced(shape: Shape, outcome: Outcome, output_tokens: int, price: Price, rule: Rule) -> float:
    """USD of one request. The price has to say what reads, writes and answers cost."""
    usage = Usage(
        prompt_tokens=shape.tokens,
        read_tokens=outcome.read_tokens,
        written_tokens=outcome.written_tokens,
        written_by_ttl=outcome.written_by_ttl,
        output_tokens=output_tokens,
    )
    found = cost(usage, price, rule=rule)
    assert found is not None, f"no whole price for {price.model}"
    assert found.output_usd is not None, f"no price of answers for {price.model}"
    return found.input_usd + found.output_usd


def _send(
    cache: PromptCache, visit: Visit, at_s: float, output_tokens: int, price: Price
) -> tuple[float, Outcome]:
    outcome = cache.look(visit.shape, now_s=at_s, scope="")
    cache.keep(visit.shape, outcome, now_s=at_s, readable_s=at_s, scope="")
    return priced(visit.shape, outcome, output_tokens, price, cache.rule), outcome
