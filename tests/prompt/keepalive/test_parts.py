"""Rates, lifetimes, budgets and the choice of a lifetime."""

import math
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.keepalive.budget import Ledger
from stemcache.prompt.keepalive.gaps import Gaps
from stemcache.prompt.keepalive.life import Life, life
from stemcache.prompt.keepalive.rates import rates
from stemcache.prompt.keepalive.ttl import options
from stemcache.provider.book import load_book
from stemcache.provider.rule import Rule

BOOK = load_book()


def rule(provider: str, model: str) -> Rule:
    """The provider's rule for marked requests."""
    found = BOOK.rule_for(provider, model, marked=True)
    assert found is not None
    return found


OPUS = rule("anthropic", "claude-opus-4-5")
OPUS_PRICE = BOOK.price("anthropic", "claude-opus-4-5")
GPT = rule("openai", "gpt-5.6")


def test_rates_are_those_of_the_list() -> None:
    """A token each, for the lifetime that was asked for."""
    default, hour = rates(OPUS, OPUS_PRICE), rates(OPUS, OPUS_PRICE, ttl="1h")
    assert default.write == pytest.approx(6.25e-6)
    assert hour.write == pytest.approx(10e-6)
    assert default.read == hour.read == pytest.approx(0.5e-6)
    assert default.output == pytest.approx(25e-6)


def test_long_prompts_have_rates_of_their_own() -> None:
    """Where the list says so."""
    sonnet, price = (
        rule("anthropic", "claude-sonnet-4-5"),
        BOOK.price("anthropic", "claude-sonnet-4-5"),
    )
    short, long = rates(sonnet, price), rates(sonnet, price, prompt_tokens=300_000)
    assert long.read == pytest.approx(2 * short.read)


def test_without_a_price_factors_stand_and_answers_are_not_counted() -> None:
    """In input tokens."""
    found = rates(OPUS, None, ttl="1h")
    assert (found.unit, found.plain, found.write, found.read) == ("input tokens", 1.0, 2.0, 0.1)
    assert found.output is None
    assert found.answer(100) == 0


@pytest.mark.parametrize("marked", [False, True])
def test_rates_are_the_lists_for_every_model(*, marked: bool) -> None:
    """Of every lifetime that has a price, and of no other: a millionth of a million tokens'."""
    seen = 0
    for price in BOOK.prices.values():
        found = BOOK.rule_for(price.provider, price.model, marked=marked)
        if found is None:
            continue
        for ttl in (None, *(one.name for one in found.ttls)):
            seen += 1
            write = price.paid_rate(written=True, ttl=ttl, rule=found)
            if write is None:
                with pytest.raises(UsageError, match="no price is known for writes of"):
                    rates(found, price, ttl=ttl)
                continue
            paid = rates(found, price, ttl=ttl)
            read = price.read_rate(rule=found)
            assert read is not None
            assert (1e6 * paid.plain, 1e6 * paid.read, 1e6 * paid.write) == pytest.approx(
                (price.input_usd_per_mtok, read, write)
            )
            output = price.output_usd_per_mtok
            assert paid.output == (None if output is None else pytest.approx(output / 1e6))
    assert seen > 200


@pytest.mark.parametrize("name", sorted(BOOK.rules))
def test_without_prices_rates_are_the_rules_factors(name: str) -> None:
    """For every lifetime that has one."""
    found = BOOK.rule(name)
    ttls: list[str | None] = [None, *(one.name for one in found.ttls)]
    for ttl in ttls:
        factors = found.write_factor
        factor = next(iter(factors.values())) if ttl is None else factors.get(ttl, factors.get(""))
        if factor is None:
            with pytest.raises(UsageError, match="no price is known for writes of"):
                rates(found, None, ttl=ttl)
        else:
            paid = rates(found, None, ttl=ttl)
            assert (paid.plain, paid.read, paid.write) == (1.0, found.read_factor, factor)


def test_a_prefix_below_the_minimum_is_plain() -> None:
    """Warm or cold; above it all of it is kept."""
    found = rates(OPUS, OPUS_PRICE)
    assert found.warm(4_095) == found.cold(4_095) == pytest.approx(4_095 * 5e-6)
    assert found.warm(4_096) == pytest.approx(4_096 * 0.5e-6)
    assert found.cold(4_096) == pytest.approx(4_096 * 6.25e-6)


def test_a_lifetime_that_the_rule_has_not_is_refused() -> None:
    """Also where it is asked how long it lasts."""
    with pytest.raises(
        UsageError, match="rule anthropic has no lifetime '2h'; take one of: 5m, 1h"
    ):
        rates(OPUS, OPUS_PRICE, ttl="2h")
    with pytest.raises(
        UsageError, match="rule anthropic has no lifetime '2h'; take one of: 5m, 1h"
    ):
        life(OPUS, ttl="2h")


def test_a_lifetime_without_a_price_is_refused() -> None:
    """No price is made up for the longer writes of a model that has none listed."""
    unpriced = replace(OPUS, write_factor={"5m": 1.25})
    with pytest.raises(UsageError, match="no price is known for writes of 1h under rule anthropic"):
        rates(unpriced, None, ttl="1h")


def test_lives_are_those_of_the_rule() -> None:
    """The default one first, and by name."""
    assert life(OPUS) == Life(300.0, 300.0)
    assert life(OPUS, ttl="1h") == Life(3_600.0, 3_600.0)


def test_a_stated_minimum_has_no_end_until_told() -> None:
    """Who has seen entries go says when; it bounds the safe part too."""
    assert life(GPT) == Life(1_800.0, math.inf)
    assert life(GPT, gone_after_s=3_000.0) == Life(1_800.0, 3_000.0)
    assert life(GPT, gone_after_s=600.0) == Life(600.0, 600.0)


def test_caches_that_reads_do_not_renew_have_no_life_to_keep() -> None:
    """Nor have objects, whose end the caller sets, nor rules without a lifetime."""
    assert life(replace(OPUS, refreshed_by_reads=False)) is None
    assert life(replace(OPUS, ttls=())) is None
    assert life(replace(OPUS, kind="objects")) is None
    assert life(replace(OPUS, kind="usage-only")) is None


@pytest.mark.parametrize(("safe_s", "gone_s"), [(0.0, 1.0), (2.0, 1.0), (-1.0, 1.0)])
def test_odd_lives_are_refused(safe_s: float, gone_s: float) -> None:
    """An end before it is sure to live."""
    with pytest.raises(UsageError, match="give more than 0 s, and no end before that"):
        Life(safe_s, gone_s)


def test_a_ledger_lets_no_more_be_lost_than_its_share() -> None:
    """Whatever happens, as long as risks are taken only while it affords them."""
    random = Random(1)
    for _ in range(200):
        ledger = Ledger(share=random.choice([0.0, 0.01, 0.2]))
        for _ in range(100):
            match random.randrange(3):
                case 0:
                    ledger = ledger.spend(random.random())
                case 1:
                    amount = random.random() * 0.05
                    ledger = ledger.risk(amount) if ledger.affords(amount) else ledger
                case _:
                    ledger = ledger.gain(random.random() * 0.02)
            assert ledger.risked - ledger.gained <= ledger.share * ledger.spent + 1e-9


def test_what_was_gained_may_be_risked_again() -> None:
    """And counts as what doing nothing would have cost."""
    ledger = Ledger(share=0.1).spend(1.0)
    assert ledger.left == pytest.approx(0.1)
    assert ledger.risk(0.1).left == pytest.approx(0.0, abs=1e-12)
    assert ledger.risk(0.1).gain(1.0).left == pytest.approx(1.1)
    assert ledger.times(0.03, 10) == 3
    assert ledger.times(0.0, 10) == 10
    assert ledger.risk(5.0).left == 0.0


def test_no_bound_is_a_share_without_an_end() -> None:
    """From the first moment on."""
    assert Ledger(share=math.inf).affords(1e9)
    assert Ledger(share=math.inf).times(1.0, 7) == 7


def test_a_negative_share_is_refused() -> None:
    """As is what is no number."""
    with pytest.raises(
        UsageError, match=r"share of a Ledger is .*; give a finite number from 0 on"
    ):
        Ledger(share=-0.1)
    with pytest.raises(
        UsageError, match=r"share of a Ledger is .*; give a finite number from 0 on"
    ):
        Ledger(share=math.nan)


def test_long_pauses_choose_the_longer_lifetime() -> None:
    """Every other pause is of 50 minutes: eleven pings cost more than the dearer write."""
    gaps = Gaps.of([30.0, 3_000.0])
    found = options(OPUS, OPUS_PRICE, gaps, prefix_tokens=100_000, written_tokens=1_000, turns=50)
    assert [one.ttl for one in found] == ["1h", "5m"]
    assert found[0].expected < found[1].expected
    assert found[0].plan.pings_s == ()


def test_short_pauses_choose_the_shorter_lifetime() -> None:
    """Nothing outlives it, so the dearer write is for nothing."""
    gaps = Gaps.of([30.0, 200.0], over=1)
    found = options(OPUS, OPUS_PRICE, gaps, prefix_tokens=100_000, written_tokens=1_000, turns=50)
    assert found[0].ttl == "5m"
    assert found[0].plan.pings_s == ()


def test_a_pause_of_one_ping_is_pinged_at_the_shorter_lifetime() -> None:
    """Which costs less than writing all that a turn adds for an hour."""
    gaps = Gaps.of([30.0] * 8 + [500.0] * 2)
    found = options(OPUS, OPUS_PRICE, gaps, prefix_tokens=50_000, written_tokens=20_000, turns=50)
    assert found[0].ttl == "5m"
    assert len(found[0].plan.pings_s) == 1
    unpinged = options(
        OPUS,
        OPUS_PRICE,
        gaps,
        prefix_tokens=50_000,
        written_tokens=20_000,
        turns=50,
        pinged=False,
    )
    assert unpinged[0].expected > found[0].expected


def test_an_option_costs_what_a_long_run_of_turns_costs() -> None:
    """Beside adding up turn by turn over drawn gaps, for both lifetimes and the plan's pings."""
    random = Random(5)
    seen = [30.0] * 6 + [500.0, 700.0, 2_000.0, 5_000.0, math.inf]
    gaps = Gaps.of(seen[:-1], over=1)
    turns = 40_000
    for option in options(
        OPUS, OPUS_PRICE, gaps, prefix_tokens=50_000, written_tokens=2_000, turns=turns
    ):
        paid = rates(OPUS, OPUS_PRICE, ttl=option.ttl, prompt_tokens=52_000)
        lasts = life(OPUS, ttl=option.ttl)
        assert lasts is not None
        usd, warm = 0.0, False
        for _ in range(turns):
            # A conversation that ended is followed by another, whose first turn is told by `turns`.
            usd += paid.warm(50_000) if warm else paid.cold(50_000)
            usd += 2_000 * paid.write
            gap_s = random.choice(seen)
            pings = [at_s for at_s in option.plan.pings_s if at_s < gap_s]
            usd += len(pings) * (paid.warm(50_000) + paid.answer(1))
            ended = math.isinf(gap_s)
            warm = ended or gap_s <= (pings[-1] if pings else 0.0) + lasts.safe_s
        assert option.expected == pytest.approx(usd / turns, rel=0.02)


def test_lifetimes_without_a_price_are_left_out_unless_asked_for() -> None:
    """What the API takes can be named."""
    unpriced = replace(OPUS, write_factor={"5m": 1.25})
    gaps = Gaps.of([400.0])
    found = options(unpriced, None, gaps, prefix_tokens=9_000, written_tokens=0, turns=5)
    assert [one.ttl for one in found] == ["5m"]
    with pytest.raises(UsageError, match="no price is known for writes of 1h"):
        options(unpriced, None, gaps, prefix_tokens=9_000, written_tokens=0, turns=5, ttls=("1h",))


def test_a_short_beginning_speaks_for_the_longer_lifetime() -> None:
    """Its dearer first write weighs less; nothing else changes."""
    gaps = Gaps.of([30.0] * 8 + [3_000.0] * 2)

    def cost(first: int | None) -> dict[str | None, float]:
        found = options(
            OPUS,
            OPUS_PRICE,
            gaps,
            prefix_tokens=100_000,
            written_tokens=1_000,
            turns=4,
            first_tokens=first,
        )
        return {one.ttl: one.expected for one in found}

    whole, short = cost(None), cost(10_000)
    assert cost(100_000) == whole
    assert whole["5m"] - short["5m"] == pytest.approx(90_000 * 5.75e-6 / 4)
    assert whole["1h"] - short["1h"] == pytest.approx(90_000 * 9.5e-6 / 4)


def test_fewer_than_one_turn_is_refused() -> None:
    """As are negative lengths."""
    for prefix, written, turns in ((1, 1, 0.5), (-1, 1, 2), (1, -1, 2)):
        with pytest.raises(UsageError, match=r"(turns|_tokens) is .*; give a finite number from"):
            options(
                OPUS,
                None,
                Gaps.of([1.0]),
                prefix_tokens=prefix,
                written_tokens=written,
                turns=turns,
            )


def test_a_model_without_a_rule_is_the_callers_error() -> None:
    """What the book has of it is None; the page's snippet hands that on."""
    book = load_book()
    none: Any = book.rule_for("acme", "x", marked=True)
    with pytest.raises(UsageError, match=r"rule is None; give the Rule that .* it finds None for"):
        rates(none, None)
    wrong: Any = 5.0
    with pytest.raises(UsageError, match="price is of type float; give a Price"):
        rates(OPUS, wrong)
