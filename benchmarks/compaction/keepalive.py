"""What pings save on the later sessions, planned from the gaps of the earlier ones.

Every way of pinging is played against the provider's cache, request by request. `foresight` knows
when the next request comes, and is what no plan can beat.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import Any

from benchmarks.compaction.sessions import Session
from stemcache.prompt.keepalive.budget import Ledger
from stemcache.prompt.keepalive.gaps import Gaps
from stemcache.prompt.keepalive.life import Life, life
from stemcache.prompt.keepalive.plan import stakes
from stemcache.prompt.keepalive.played import marked_for, planned
from stemcache.prompt.keepalive.rates import rates
from stemcache.prompt.keepalive.simulate import Bill, Pinging, Visit, play
from stemcache.prompt.keepalive.ttl import options
from stemcache.provider.price import Price
from stemcache.provider.rule import Rule

__all__ = ["Prior", "learned", "measured"]

SHARE = 0.01
MARGIN_S = 15.0
HOUR_S = 3_600.0
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prior:
    """What the earlier sessions tell."""

    gaps: Gaps
    prefix_tokens: int
    written_tokens: int
    turns: float
    first_tokens: int


@dataclass(frozen=True, slots=True)
class _World:
    rule: Rule
    """How the cache really behaves."""
    price: Price
    lasts: Life
    """What the planner is told of the default lifetime."""
    gone_after_s: float | None
    sessions: Sequence[Session]
    prior: Prior


def learned(sessions: Sequence[Session]) -> Prior:
    """Gaps, lengths and growth of what was seen so far."""
    seen: list[float] = []
    over = 0
    prefixes: list[int] = []
    grown: list[int] = []
    firsts: list[int] = []
    for session in sessions:
        gaps_s, ended = session.gaps_s()
        seen += gaps_s
        over += ended
        for visits in session.threads().values():
            prefixes += [visit.prefix_tokens for visit in visits]
            firsts.append(visits[0].prefix_tokens)
            grown += [
                max(later.prefix_tokens - before.prefix_tokens, 0)
                for before, later in pairwise(visits)
            ]
    return Prior(
        gaps=Gaps.of(seen, over=over),
        prefix_tokens=round(mean(prefixes)),
        written_tokens=round(mean(grown)),
        turns=len(prefixes) / over,
        first_tokens=round(mean(firsts)),
    )


def measured(
    rule: Rule,
    price: Price,
    *,
    gone_after_s: float | None,
    sessions: Sequence[Session],
    prior: Prior,
) -> list[Row]:
    """A row for each way of pinging, the first of which does nothing."""
    lasts = life(rule, gone_after_s=gone_after_s)
    assert lasts is not None, "the rule has a lifetime that reads renew"
    world = _World(rule, price, lasts, gone_after_s, sessions, prior)
    step_s = lasts.safe_s - MARGIN_S
    free = Ledger(share=math.inf)
    undone = _each(world, sessions, lambda _: _never, free)
    rows = [_row("nothing", undone, undone)]

    def add(name: str, pinging: Callable[[Session], Pinging], ledger: Ledger) -> None:
        rows.append(_row(name, _each(world, sessions, pinging, ledger), undone))

    add("always, an hour", lambda _: _every(step_s, HOUR_S), free)
    add("always, to the end", lambda session: _to_the_end(session, step_s), free)
    add("planned", lambda _: _planned(world, lasts, None), free)
    for share in (SHARE, 0.02, 0.05):
        bound = Ledger(share=share)
        add(f"planned, {share:.0%} a session", lambda _: _planned(world, lasts, None), bound)
    pooled = _pooled(world, sessions, _planned(world, lasts, None))
    rows.append(_row(f"planned, {SHARE:.0%} of all", pooled, undone))
    add("foresight", lambda session: _foresight(world, session, step_s), free)
    rows += _lifetimes(world, undone)
    return rows


def _lifetimes(world: _World, undone: Sequence[Bill]) -> list[Row]:
    """The longer write, with and without pings, and what the planner chooses of all."""
    rows = []
    free = Ledger(share=math.inf)
    prior = world.prior
    chosen = options(
        world.rule,
        world.price,
        prior.gaps,
        prefix_tokens=prior.prefix_tokens,
        written_tokens=prior.written_tokens,
        turns=prior.turns,
        first_tokens=prior.first_tokens,
        margin_s=MARGIN_S,
        gone_after_s=world.gone_after_s,
    )
    for ttl in world.rule.ttls[1:]:
        if all(one.ttl != ttl.name for one in chosen):
            continue
        marked = [Session(one.name, marked_for(one.visits, ttl.name)) for one in world.sessions]
        rows.append(
            _row(f"{ttl.name} written", _each(world, marked, lambda _: _never, free), undone)
        )
        lasts = life(world.rule, ttl=ttl.name)
        assert lasts is not None, "it has a lifetime"
        done = _each(world, marked, _same(_planned(world, lasts, ttl.name)), free)
        rows.append(_row(f"{ttl.name} written, planned", done, undone))
    rows.append({"name": "chosen beforehand", "ttl": chosen[0].ttl, "pings": chosen[0].plan.why})
    return rows


def _each(
    world: _World,
    sessions: Sequence[Session],
    pinging: Callable[[Session], Pinging],
    ledger: Ledger,
) -> list[Bill]:
    return [
        play(
            session.visits,
            rule=world.rule,
            price=world.price,
            pinging=pinging(session),
            ledger=ledger,
        )
        for session in sessions
    ]


def _pooled(world: _World, sessions: Sequence[Session], pinging: Pinging) -> list[Bill]:
    """One ledger that goes from session to session."""
    ledger = Ledger(share=SHARE)
    bills = []
    for session in sessions:
        bill = play(
            session.visits, rule=world.rule, price=world.price, pinging=pinging, ledger=ledger
        )
        ledger = bill.ledger
        bills.append(bill)
    return bills


def _never(_: Visit, __: Ledger) -> Sequence[float]:
    return ()


def _same(pinging: Pinging) -> Callable[[Session], Pinging]:
    return lambda _: pinging


def _every(step_s: float, most_s: float) -> Pinging:
    ages_s = [step_s * (number + 1) for number in range(int(most_s // step_s))]
    return lambda _visit, _ledger: ages_s


def _to_the_end(session: Session, step_s: float) -> Pinging:
    """As long as the session lasts, whose end is known."""
    end_s = session.visits[-1].at_s
    return lambda visit, _: _every(step_s, max(end_s - visit.at_s, 0.0))(visit, Ledger())


def _planned(world: _World, lasts: Life, ttl: str | None) -> Pinging:
    return planned(world.rule, world.price, world.prior.gaps, lasts, ttl=ttl, margin_s=MARGIN_S)


def _foresight(world: _World, session: Session, step_s: float) -> Pinging:
    follows: dict[int, float] = {}
    last: dict[int, Visit] = {}
    for visit in session.visits:
        if visit.thread in last:
            follows[id(last[visit.thread])] = visit.at_s
        last[visit.thread] = visit

    def pinging(visit: Visit, _: Ledger) -> Sequence[float]:
        gap_s = follows.get(id(visit), math.inf) - visit.at_s
        if not world.lasts.gone_s < gap_s < math.inf:
            return ()
        count = math.ceil((gap_s - world.lasts.safe_s) / step_s)
        paid = rates(world.rule, world.price, prompt_tokens=visit.shape.tokens)
        stake = stakes(paid, visit.prefix_tokens)
        if count * stake.ping >= stake.cold:
            return ()
        return [step_s * (number + 1) for number in range(count)]

    return pinging


def _row(name: str, bills: Sequence[Bill], undone: Sequence[Bill]) -> Row:
    total = Bill()
    for bill in bills:
        total.add(bill)
    base_usd = sum(bill.usd for bill in undone)
    return {
        "name": name,
        "usd": round(total.usd, 2),
        "beside_nothing": round(total.usd / base_usd - 1, 5),
        "worst_session": round(
            max(bill.usd / before.usd - 1 for bill, before in zip(bills, undone, strict=True)), 5
        ),
        "pings": total.pings,
        "ping_usd": round(total.ping_usd, 2),
        "hit_rate": round(total.read_tokens / total.prompt_tokens, 5),
    }
