"""Pings played against the provider's cache: what they cost and save, counted by hand."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from stemcache.prompt.keepalive.budget import Ledger
from stemcache.prompt.keepalive.gaps import Gaps
from stemcache.prompt.keepalive.life import life
from stemcache.prompt.keepalive.plan import plan, stakes
from stemcache.prompt.keepalive.rates import rates
from stemcache.prompt.keepalive.simulate import Bill, Pinging, Visit, play
from stemcache.provider.book import load_book
from stemcache.provider.shape import Mark, Position, Shape
from stemcache.wire.api import Api
from stemcache.wire.section import Section

BOOK = load_book()
_RULE = BOOK.rule_for("anthropic", "claude-opus-4-5", marked=True)
_PRICE = BOOK.price("anthropic", "claude-opus-4-5")
assert _RULE is not None
assert _PRICE is not None
RULE, PRICE = _RULE, _PRICE
FREE = Ledger(share=math.inf)
READ, WRITE, OUT = 0.5e-6, 6.25e-6, 25e-6


def visit(at_s: float, *, thread: int = 0, tokens: int = 10_000, chain: int = 1) -> Visit:
    """A request whose prompt is one marked piece."""
    position = Position(
        chain=chain,
        end_tokens=tokens,
        section=Section.MESSAGES,
        role="user",
        ends_message=True,
        mark=Mark(),
    )
    return Visit(
        at_s=at_s,
        thread=thread,
        shape=Shape(
            positions=(position,),
            fine_chain=np.empty(0, dtype=np.uint64),
            fine_tokens=np.empty(0, dtype=np.int64),
            api=Api.MESSAGES,
        ),
        prefix_tokens=tokens,
        output_tokens=100,
    )


def never(_: Visit, __: Ledger) -> Sequence[float]:
    """Does nothing."""
    return ()


def every(*ages_s: float) -> Pinging:
    """The same moments after each visit."""
    return lambda _visit, _ledger: ages_s


def billed(visits: Sequence[Visit], pinging: Pinging, ledger: Ledger = FREE) -> Bill:
    """What a session comes to."""
    return play(visits, rule=RULE, price=PRICE, pinging=pinging, ledger=ledger)


def test_without_pings_a_late_request_writes_again() -> None:
    """Behind five minutes; before that it reads."""
    early = billed([visit(0), visit(290)], never)
    late = billed([visit(0), visit(310)], never)
    assert early.usd == pytest.approx(10_000 * (WRITE + READ) + 200 * OUT)
    assert late.usd == pytest.approx(10_000 * 2 * WRITE + 200 * OUT)
    assert (early.read_tokens, late.read_tokens) == (10_000, 0)
    assert early.prompt_tokens == late.prompt_tokens == 20_000


def test_a_ping_reads_answers_a_token_and_keeps() -> None:
    """The late request reads, and the ledger has what that saved."""
    bill = billed([visit(0), visit(500)], every(285.0))
    # The second visit is pinged for as well, once, for nobody.
    ping = 10_000 * READ + OUT
    assert bill.pings == 2
    assert bill.ping_usd == pytest.approx(2 * ping)
    assert bill.usd == pytest.approx(10_000 * (WRITE + READ) + 200 * OUT + 2 * ping)
    assert bill.ledger.gained == pytest.approx(10_000 * (WRITE - READ))
    assert bill.ledger.risked == pytest.approx(2 * ping)
    assert bill.ledger.spent == pytest.approx(10_000 * 2 * WRITE + 200 * OUT)


def test_pings_behind_the_next_visit_are_not_sent() -> None:
    """Nor at its very moment."""
    assert billed([visit(0), visit(200), visit(285)], every(285.0)).pings == 1


def test_threads_are_pinged_apart_and_share_one_cache() -> None:
    """One visit of another thread voids no plan of this one, and may keep its prefix warm."""
    visits = [visit(0), visit(200, thread=1), visit(400)]
    bill = billed(visits, never)
    assert bill.read_tokens == 20_000
    apart = [visit(0), visit(200, thread=1, chain=2), visit(400)]
    assert billed(apart, never).read_tokens == 0
    assert billed(apart, every(285.0)).read_tokens == 10_000


def test_a_ping_that_comes_too_late_writes() -> None:
    """As any request would; so a runner must not send it."""
    bill = billed([visit(0)], every(310.0))
    assert bill.ping_usd == pytest.approx(10_000 * WRITE + OUT)


def test_the_ledger_stops_pings_that_it_cannot_afford() -> None:
    """Whatever the planner says: no session loses more than its share."""
    visits = [visit(at_s) for at_s in range(0, 20_000, 1_000)]
    undone = billed(visits, never)
    bound = billed(visits, every(285.0), Ledger(share=0.01))
    unbound = billed(visits, every(285.0))
    assert unbound.usd > undone.usd * 1.01
    assert undone.usd < bound.usd <= undone.usd * 1.01


def test_planned_pings_save_on_average_what_the_plan_expects() -> None:
    """The plan's expectation beside the simulated cache, gap by gap."""
    lasts = life(RULE)
    stake = stakes(rates(RULE, PRICE), 10_000)
    seen = [20.0, 50.0, 400.0, 550.0, 700.0, 4_000.0]
    found = plan(stake, Gaps.of(seen), lasts)
    assert found.pings_s
    saved = 0.0
    for gap_s in seen:
        visits = [visit(0), visit(gap_s)]
        pinged = billed(visits, lambda one, _: found.pings_s if one.at_s == 0 else ())
        saved += billed(visits, never).usd - pinged.usd
    assert saved / len(seen) == pytest.approx(found.expected)


def test_bills_add_up() -> None:
    """And the later ledger stands."""
    one, two = billed([visit(0)], every(285.0)), billed([visit(0), visit(10)], never)
    total = Bill()
    total.add(one)
    total.add(two)
    assert total.usd == pytest.approx(one.usd + two.usd)
    assert (total.requests, total.pings) == (3, 1)
    assert total.prompt_tokens == one.prompt_tokens + two.prompt_tokens
    assert total.read_tokens == two.read_tokens == 10_000
    assert total.ledger is two.ledger
