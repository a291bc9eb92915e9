"""What a call cost, and what each of its tokens cost more for not being read."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.lint.spend import Spend, spend
from stemcache.provider.price import Factor, Price
from stemcache.provider.rule import Range, Rule
from stemcache.provider.usage import Usage
from stemcache.trace.calls.call import Call, Fidelity, Place
from stemcache.wire.section import Section

OPUS = Price(
    provider="anthropic",
    model="claude-opus-5",
    input_usd_per_mtok=5.0,
    read_usd_per_mtok=0.5,
    write_usd_per_mtok={"5m": 6.25, "1h": 10.0},
    output_usd_per_mtok=25.0,
    factors=(
        Factor(kind="tier", name="batch", input=0.5, output=0.5),
        Factor(kind="context", above_tokens=200_000, input=2.0, output=1.5),
    ),
)
BARE = Price(provider="test", model="test", input_usd_per_mtok=5.0)
RULE = Rule(
    name="test",
    provider="test",
    kind="units",
    order=(Section.TOOLS, Section.SYSTEM, Section.MESSAGES),
    minimum_tokens=Range(0, 0, 0, ()),
    write_factor={},
    read_factor=0.1,
)


def _call(**others: Any) -> Call:
    return Call(
        place=Place("log.jsonl", 1), api=None, body=None, fidelity=Fidelity.USAGE_ONLY, **others
    )


def _usage(
    prompt: int | None,
    read: int | None,
    written: int | None = 0,
    by_ttl: tuple[tuple[str, int], ...] = (),
) -> Usage:
    return Usage(
        prompt_tokens=prompt, read_tokens=read, written_tokens=written, written_by_ttl=by_ttl
    )


def _spend(
    usage: Usage,
    price: Price | None = OPUS,
    rule: Rule | None = RULE,
    *,
    subscription: bool = False,
    **others: Any,
) -> Spend:
    return spend(_call(**others), usage, price, rule, subscription=subscription)


def test_no_price_is_no_cost() -> None:
    """Unknown is not zero."""
    assert _spend(_usage(1_000, 0), None) == Spend(None, None)


def test_plain_tokens_cost_the_difference_to_a_read() -> None:
    """Five dollars a million, less half a dollar."""
    found = _spend(_usage(1_000_000, 0))
    assert found.cost is not None
    assert found.premium_usd is not None
    assert found.premium_usd * 1_000_000 == pytest.approx(2 * (5.0 - 0.5))


def test_written_tokens_cost_their_surcharge_too() -> None:
    """At the lifetime that they were written for."""
    short = _spend(_usage(100_000, 0, 100_000)).premium_usd
    long = _spend(_usage(100_000, 0, 100_000, (("1h", 100_000),))).premium_usd
    assert short == pytest.approx((6.25 - 0.5) / 1e6)
    assert long == pytest.approx((10.0 - 0.5) / 1e6)


def test_premium_is_the_average_over_what_was_not_read() -> None:
    """Half written, half plain: which of both was lost cannot be told."""
    found = _spend(_usage(150_000, 50_000, 50_000)).premium_usd
    assert found == pytest.approx(((6.25 + 5.0) / 2 - 0.5) / 1e6)


def test_tier_and_length_of_the_prompt_count() -> None:
    """A batch is half the price, a long prompt twice."""
    assert _spend(_usage(100_000, 0), tier="batch").premium_usd == pytest.approx(2.25 / 1e6)
    assert _spend(_usage(200_001, 0)).premium_usd == pytest.approx(9.0 / 1e6)


def test_tier_without_a_price_has_no_cost() -> None:
    """And no premium."""
    found = _spend(_usage(100_000, 0), tier="someday")
    assert found == Spend(None, None)


@pytest.mark.parametrize("others", [{"subscription": True}, {}])
def test_flat_fee_has_no_price_a_token(others: dict[str, bool]) -> None:
    """Whether the caller says so or the log."""
    found = spend(
        _call(subscription=not others),
        _usage(1_000, 0),
        OPUS,
        RULE,
        **{"subscription": False, **others},
    )
    assert found.cost is None


@pytest.mark.parametrize("usage", [_usage(None, None), _usage(1_000, None), _usage(None, 10)])
def test_unknown_usage_has_no_cost(usage: Usage) -> None:
    """What was not reported costs nobody knows what."""
    assert _spend(usage) == Spend(None, None)


def test_prompt_that_was_read_whole_has_no_premium() -> None:
    """Nothing could be lost of it."""
    found = _spend(_usage(1_000, 1_000))
    assert found.cost is not None
    assert found.premium_usd == 0.0


def test_rule_s_factor_stands_in_for_a_price_of_reads() -> None:
    """A tenth of the input here; without both the premium is unknown."""
    assert _spend(_usage(1_000, 0), BARE).premium_usd == pytest.approx(4.5 / 1e6)
    unknown = _spend(_usage(1_000, 0), BARE, None)
    assert unknown.cost is not None
    assert unknown.premium_usd is None
    assert _spend(_usage(1_000, 1_000), BARE, None).premium_usd is None


def test_reads_that_are_dearer_than_input_have_no_premium() -> None:
    """A loss of money is never below zero."""
    dear = Price(provider="t", model="t", input_usd_per_mtok=1.0, read_usd_per_mtok=3.0)
    assert _spend(_usage(1_000, 0), dear).premium_usd == 0.0


@given(
    read=st.integers(0, 10**6),
    written=st.integers(0, 10**6),
    plain=st.integers(0, 10**6),
    hour=st.booleans(),
    lost_share=st.floats(0, 1),
)
def test_loss_never_costs_more_than_the_call(
    read: int, written: int, plain: int, lost_share: float, *, hour: bool
) -> None:
    """However much of what was not read is charged to causes."""
    by_ttl = (("1h", written),) if hour and written else ()
    found = _spend(_usage(read + written + plain, read, written, by_ttl))
    assert found.cost is not None
    assert found.premium_usd is not None
    charged = found.premium_usd * lost_share * (written + plain)
    assert 0 <= charged <= found.cost.input_usd * (1 + 1e-12)
