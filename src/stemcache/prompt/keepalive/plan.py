"""Pings while they pay: when a prefix is to be read again only so that it stays in the cache.

```
request            ping 1          ping 2        request        without pings gone at 300
   ├──────── 285 ─────┼────── 285 ────┼──── 100 ────┤ warm      with two of them at 870
   0                                                670
```
Nothing is learned while nobody comes, so a plan is a number of pings, each as late as is safe:
an earlier one costs as much, is more often needless and keeps for less long. With `S(t)` the
probability that the next request comes later than `t`, `n` pings at `a₁ … aₙ` are worth

    cold · (S(gone) - S(aₙ + safe))  -  ping · (S(a₁) + … + S(aₙ))

The sum is looked at for every `n`, not up to the first that does not pay: one ping may be a loss
that the third makes good. The search ends where the pings alone cost more than all that can be
saved. What is best stays best as time goes by: a plan made again after its first ping is its rest.
"""

import math
from dataclasses import dataclass

from stemcache.errors import UsageError
from stemcache.prompt.given import check_callable, check_number, check_type
from stemcache.prompt.keepalive.gaps import GapEstimate
from stemcache.prompt.keepalive.life import Life
from stemcache.prompt.keepalive.ping import Ping
from stemcache.prompt.keepalive.rates import Rates, Unit

__all__ = ["Plan", "Stakes", "plan", "stakes", "worth"]

_MOST_PINGS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stakes:
    """What is at stake for one prefix, in `unit`."""

    ping: float
    """Price of one ping: the prefix read, what stands behind it, and its answer."""
    cold: float
    """What the next request pays more where it finds nothing."""
    unit: Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do while no request comes. Void as soon as one does."""

    pings_s: tuple[float, ...]
    """When to ping, in seconds since the start of the last request."""
    expected: float
    """What that is expected to save, in `unit`; 0 without pings."""
    unit: Unit
    why: str
    """A sentence."""


def stakes(
    rates: Rates,
    prefix_tokens: int,
    *,
    behind_tokens: int = 0,
    ping: Ping | None = None,
    output_tokens: int | None = None,
) -> Stakes:
    """`behind_tokens` are those a ping sends behind the prefix, `ping` what is sent.

    Its answer counts with the most that it can cost: a thinking budget may be all paid for.
    `output_tokens` says what answers are known to cost instead; without either it is one token,
    which is right only where the API answers as little. A prefix below the provider's minimum has
    nothing at stake. Raises UsageError for what is negative or no number, and for both.
    """
    check_type(rates, Rates, "rates", "give what rates(rule, price) makes")
    check_number(prefix_tokens, "prefix_tokens", low=0)
    check_number(behind_tokens, "behind_tokens", low=0)
    answer_tokens = _answer_tokens(ping, output_tokens)
    warm = rates.warm(prefix_tokens)
    return Stakes(
        ping=warm + behind_tokens * rates.plain + rates.answer(answer_tokens),
        cold=max(rates.cold(prefix_tokens) - warm, 0.0),
        unit=rates.unit,
    )


def _answer_tokens(ping: Ping | None, output_tokens: int | None) -> int:
    check_type(ping, Ping | None, "ping", "give what ping(body, api) makes of the last request")
    if output_tokens is None:
        return 1 if ping is None else ping.most_output_tokens
    check_number(output_tokens, "output_tokens", low=0)
    if ping is not None:
        raise UsageError(
            f"ping and output_tokens ({output_tokens}) are both given; give the ping, or what its "
            "answers are known to cost"
        )
    return output_tokens


def plan(
    stakes: Stakes,
    gaps: GapEstimate,
    life: Life | None,
    *,
    idle_s: float = 0.0,
    used_s: float | None = None,
    margin_s: float = 15.0,
    most_pings: int = _MOST_PINGS,
) -> Plan:
    """The pings that save most. Costs O(pings looked at).

    `idle_s` is how long ago the last request started, `used_s` how long ago the prefix was last
    read or written, by a ping or by somebody else's request; the same unless said. `margin_s` is
    kept for the ping's way to the provider. `most_pings` is what a budget leaves.
    """
    check_type(stakes, Stakes, "stakes", "give what stakes(rates, prefix_tokens) makes")
    check_callable(
        getattr(gaps, "later", None),
        "gaps.later",
        "give an estimate of gaps, as Gaps.of(...) makes one",
    )
    check_type(life, Life | None, "life", "give what life(rule) makes")
    check_number(most_pings, "most_pings", low=0)
    used_s = idle_s if used_s is None else used_s
    for seconds, name in ((idle_s, "idle_s"), (used_s, "used_s"), (margin_s, "margin_s")):
        check_number(seconds, name, low=0)
    if life is None:
        return _none(stakes, "the provider states no lifetime that reads renew")
    if not 0 <= margin_s < life.safe_s:
        raise UsageError(
            f"a margin of {margin_s:g} s in a lifetime of {life.safe_s:g} s; "
            "give one from 0 s to less than the lifetime"
        )
    if stakes.cold <= 0:
        return _none(stakes, "a cold write costs no more than a read")
    if used_s >= life.safe_s:
        return _none(stakes, "the prefix may be gone already; a ping would write it")
    if math.isinf(life.gone_s):
        return _none(stakes, "the provider states no end of the lifetime; tell when entries go")
    if most_pings < 1:
        return _none(stakes, "the budget is spent")
    if gaps.later(idle_s) <= 0:
        return _none(stakes, "no request has ever come so late")
    spacing_s = life.safe_s - margin_s
    first_s = idle_s + max(spacing_s - used_s, 0.0)
    count, expected = _best(
        stakes,
        gaps,
        life,
        first_s=first_s,
        spacing_s=spacing_s,
        idle_s=idle_s,
        used_s=used_s,
        most=most_pings,
    )
    if not count:
        return _none(stakes, "the next request is too unlikely to come in time")
    return Plan(
        pings_s=tuple(first_s + number * spacing_s for number in range(count)),
        expected=expected,
        unit=stakes.unit,
        why=f"{count} ping{'s' if count > 1 else ''}, then the session is likely over",
    )


def worth(
    stakes: Stakes,
    gaps: GapEstimate,
    life: Life,
    pings_s: tuple[float, ...],
    *,
    idle_s: float = 0.0,
    used_s: float | None = None,
) -> float:
    """What any rising list of pings is expected to save, from the definition. Costs O(pings).

    A ping that finds the prefix gone is taken to read nothing and keep nothing.
    """
    left = gaps.later(idle_s)
    if left <= 0:
        return 0.0
    started_s = idle_s - (idle_s if used_s is None else used_s)
    spent, alive_s = 0.0, started_s + life.safe_s
    for at_s in pings_s:
        spent += stakes.ping * gaps.later(at_s)
        if at_s <= alive_s:
            alive_s = at_s + life.safe_s
    gone_s = started_s + life.gone_s
    saved = max(gaps.later(max(gone_s, idle_s)) - gaps.later(max(alive_s, idle_s)), 0.0)
    return (stakes.cold * saved - spent) / left


def _best(
    stakes: Stakes,
    gaps: GapEstimate,
    life: Life,
    *,
    first_s: float,
    spacing_s: float,
    idle_s: float,
    used_s: float,
    most: int,
) -> tuple[int, float]:
    """How many pings, and what they are expected to save."""
    left = gaps.later(idle_s)
    gone = gaps.later(max(idle_s - used_s + life.gone_s, idle_s))
    best, count, spent = 0.0, 0, 0.0
    for number in range(1, most + 1):
        at_s = first_s + (number - 1) * spacing_s
        spent += stakes.ping * gaps.later(at_s)
        if stakes.cold * gone - spent <= best:
            break
        value = stakes.cold * (gone - gaps.later(at_s + life.safe_s)) - spent
        if value > best:
            best, count = value, number
    return count, best / left


def _none(stakes: Stakes, why: str) -> Plan:
    return Plan(pings_s=(), expected=0.0, unit=stakes.unit, why=f"no ping: {why}")
