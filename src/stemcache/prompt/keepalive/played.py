"""Which lifetime would have cost least: sessions of before, played under each of them.

```
sessions ─► marked for 5m ─► play, no pings       $4,181
                          └► play, planned pings  $3,850
         ─► marked for 1h ─► play, no pings       $3,831   ◄ least
                          └► play, planned pings  $3,831
```
`ttl.options` chooses by mean lengths, which is all that many programs know. But late requests may
be those of short prompts, and long ones may be written for nobody: who has kept sessions is told
here what each lifetime would have cost. A request is simulated once a row, in a quarter of a
millisecond.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stemcache.errors import UsageError
from stemcache.prompt.given import check_number, check_type, listed
from stemcache.prompt.keepalive.budget import Ledger
from stemcache.prompt.keepalive.gaps import GapEstimate
from stemcache.prompt.keepalive.life import Life, life
from stemcache.prompt.keepalive.plan import plan, stakes
from stemcache.prompt.keepalive.rates import rates
from stemcache.prompt.keepalive.simulate import Bill, Pinging, Visit, play
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Mark, Position

__all__ = ["Played", "marked_for", "planned", "played"]

_MOST_PINGS = 1_000
"""After one visit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """All sessions under one lifetime."""

    ttl: str | None
    """None where the provider offers no choice."""
    pinged: bool
    """Whether pings were sent as they are planned."""
    bill: Bill


def played(
    sessions: Sequence[Sequence[Visit]],
    *,
    rule: Rule,
    price: Price,
    gaps: GapEstimate,
    ttls: Sequence[str] | None = None,
    pinged: bool = True,
    margin_s: float = 15.0,
    gone_after_s: float | None = None,
    ping_output_tokens: int = 1,
) -> tuple[Played, ...]:
    """Every lifetime of the rule that has a price, with and without pings, the cheapest first.

    A session's visits stand in order of time; whatever lifetime they were marked for, they are
    played as marked for each. `gaps` is what pings are planned by. `ttls` are those that the API
    takes; all of the rule's unless given. `gone_after_s` is when entries of the default lifetime
    go, where the provider states no end. Raises UsageError for no session, and for a lifetime among
    `ttls` that the rule does not have or whose price is not known.
    """
    check_type(rule, Rule, "rule", "give the provider's Rule, as load_book().rule(...) has it")
    check_type(price, Price, "price", "give a Price, as load_book().price(...) has it")
    check_number(margin_s, "margin_s", low=0)
    use = "give lists of Visit, one a session"
    told = [
        listed(one, Visit, "sessions", use) for one in listed(sessions, object, "sessions", use)
    ]
    if not any(told):
        raise UsageError("sessions have no visits; give at least one that was made")
    if gone_after_s is not None:
        rule = _ended(rule, gone_after_s)
    asked = None if ttls is None else listed(ttls, str, "ttls", "give a list such as ['5m', '1h']")
    found: list[Played] = []
    names: list[str | None] = [*(asked or (one.name for one in rule.ttls))] or [None]
    for name in names:
        try:
            rates(rule, price, ttl=name)
        except UsageError:
            if asked is not None:
                raise
            continue
        default = name is None or name == rule.ttls[0].name
        visits = [marked_for(one, None if default else name) for one in told]
        ways: list[tuple[bool, Pinging]] = [(False, _never)]
        lasts = life(rule, ttl=name)
        if pinged and lasts is not None:
            ways.append((True, planned(rule, price, gaps, lasts, ttl=name, margin_s=margin_s)))
        for pings, pinging in ways:
            bill = Bill()
            for one in visits:
                bill.add(
                    play(
                        one,
                        rule=rule,
                        price=price,
                        pinging=pinging,
                        ledger=Ledger(share=math.inf),
                        ping_output_tokens=ping_output_tokens,
                    )
                )
            found.append(Played(ttl=name, pinged=pings, bill=bill))
    return tuple(sorted(found, key=lambda one: one.bill.usd))


def planned(
    rule: Rule,
    price: Price,
    gaps: GapEstimate,
    lasts: Life,
    *,
    ttl: str | None = None,
    margin_s: float = 15.0,
) -> Pinging:
    """Pings as `plan` has them for each visit, as many as the ledger affords."""

    def pinging(visit: Visit, ledger: Ledger) -> Sequence[float]:
        paid = rates(rule, price, ttl=ttl, prompt_tokens=visit.shape.tokens)
        stake = stakes(paid, visit.prefix_tokens)
        most = ledger.times(stake.ping, _MOST_PINGS)
        return plan(stake, gaps, lasts, margin_s=margin_s, most_pings=most).pings_s

    return pinging


def marked_for(visits: Sequence[Visit], ttl: str | None) -> tuple[Visit, ...]:
    """The same requests with every mark for another lifetime; None is the default one. Linear."""

    def position(one: Position) -> Position:
        return one if one.mark is None else replace(one, mark=Mark(ttl))

    return tuple(
        replace(
            visit,
            shape=replace(visit.shape, positions=tuple(map(position, visit.shape.positions))),
        )
        for visit in visits
    )


def _ended(rule: Rule, gone_after_s: float) -> Rule:
    """A rule whose default lifetime ends when somebody has seen it end."""
    check_number(gone_after_s, "gone_after_s", low=0)
    if not rule.ttls:
        return rule
    first = rule.ttls[0]
    ended = replace(first, low_s=min(first.low_s, gone_after_s), high_s=gone_after_s)
    return replace(rule, ttls=(ended, *rule.ttls[1:]))


def _never(_: Visit, __: Ledger) -> Sequence[float]:
    return ()
