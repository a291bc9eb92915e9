"""What a call costs, to the cent, and what stays unknown."""

import pytest

from stemcache.provider.book import load_book
from stemcache.provider.price import Cost, Factor, Price, cost
from stemcache.provider.usage import Usage

BOOK = load_book()
OPUS = Price(
    provider="anthropic",
    model="claude-opus-5",
    input_usd_per_mtok=5.0,
    read_usd_per_mtok=0.5,
    write_usd_per_mtok={"5m": 6.25, "1h": 10.0},
    output_usd_per_mtok=25.0,
    factors=(
        Factor(kind="tier", name="batch", input=0.5, output=0.5),
        Factor(kind="region", name="us", input=1.1, output=1.1),
        Factor(kind="context", above_tokens=200_000, input=2.0, output=1.5),
        Factor(kind="context", above_tokens=500_000, input=3.0, output=1.5, read=4.0),
    ),
)
PLAIN = Price(provider="xai", model="grok", input_usd_per_mtok=2.0, output_usd_per_mtok=6.0)


def usage(
    prompt: int | None = 100_000,
    read: int | None = 60_000,
    written: int | None = 30_000,
    by_ttl: tuple[tuple[str, int], ...] = (),
    output: int | None = 2_000,
) -> Usage:
    """A call of 100,000 tokens, 60,000 read, 30,000 written, 10,000 plain."""
    return Usage(
        prompt_tokens=prompt,
        read_tokens=read,
        written_tokens=written,
        written_by_ttl=by_ttl,
        output_tokens=output,
    )


def test_a_call_is_the_sum_of_its_shares() -> None:
    """Plain, read, written and output tokens each at their own rate."""
    found = cost(usage(), OPUS)
    assert found is not None
    assert found.plain_usd == pytest.approx(0.05)
    assert found.read_usd == pytest.approx(0.03)
    assert found.write_usd == pytest.approx(0.1875)
    assert found.output_usd == pytest.approx(0.05)
    assert found.input_usd == pytest.approx(0.2675)


def test_writes_cost_by_lifetime() -> None:
    """Tokens written for an hour cost more; what no lifetime is told for is at the default."""
    found = cost(usage(by_ttl=(("1h", 10_000), ("5m", 15_000))), OPUS)
    assert found is not None
    assert found.write_usd == pytest.approx((10_000 * 10.0 + 20_000 * 6.25) / 1e6)


def test_lifetimes_that_exceed_the_writes_are_not_believed() -> None:
    """Where shares are more than the whole, the whole counts, at the default."""
    found = cost(usage(by_ttl=(("1h", 90_000),)), OPUS)
    assert found is not None
    assert found.write_usd == pytest.approx(0.1875)


@pytest.mark.parametrize(
    ("tier", "region", "factor"),
    [
        (None, None, 1.0),
        ("standard", "global", 1.0),
        ("default", "not_available", 1.0),
        ("auto", "us-east-1", 1.0),
        ("batch", None, 0.5),
        ("BATCH", "us", 0.55),
        (None, "us", 1.1),
    ],
)
def test_tier_and_region_scale_everything(
    tier: str | None, region: str | None, factor: float
) -> None:
    """Factors multiply; what means the standard changes nothing."""
    found = cost(usage(), OPUS, tier=tier, region=region)
    assert found is not None
    assert found.output_usd is not None
    assert found.input_usd + found.output_usd == pytest.approx(0.3175 * factor)


@pytest.mark.parametrize(("tier", "region"), [("priority", None), (None, "mars"), ("flex", "us")])
def test_an_unknown_factor_makes_the_cost_unknown(tier: str | None, region: str | None) -> None:
    """No price is guessed for a tier or region that no source gives."""
    assert cost(usage(), OPUS, tier=tier, region=region) is None


def test_a_region_means_nothing_where_none_has_a_price() -> None:
    """Without any factor for regions, the place of a call does not move its price."""
    found = cost(usage(written=0), PLAIN, region="mars", rule=BOOK.rule("xai"))
    assert found is not None


def test_long_prompts_cost_more_for_all_their_tokens() -> None:
    """Beyond a length, input and output are dearer from the first token on."""
    short = cost(usage(prompt=200_000, read=0, written=0), OPUS)
    long = cost(usage(prompt=200_001, read=0, written=0), OPUS)
    assert short is not None
    assert long is not None
    assert short.input_usd == pytest.approx(1.0)
    assert long.input_usd == pytest.approx(2.00001)
    assert long.output_usd == pytest.approx(0.075)
    longest = cost(usage(prompt=600_000, read=600_000, written=0), OPUS)
    assert longest is not None
    assert longest.read_usd == pytest.approx(0.6 * 0.5 * 4.0), "the furthest step holds alone"


def test_a_subscription_has_no_price_a_token() -> None:
    """A flat fee is not divided."""
    assert cost(usage(), OPUS, subscription=True) is None


@pytest.mark.parametrize("unknown", ["prompt", "read", "written"])
def test_unknown_shares_make_the_cost_unknown(unknown: str) -> None:
    """Missing figures are not zeros."""
    assert cost(usage(**{unknown: None}), OPUS) is None  # type: ignore[arg-type]  # by name


def test_unknown_writes_do_not_matter_where_they_cost_nothing_more() -> None:
    """At a provider without surcharge, an unstated figure of writes is no gap."""
    found = cost(usage(written=None), PLAIN, rule=BOOK.rule("xai"))
    assert found is not None
    assert found.plain_usd == pytest.approx(0.08)
    assert cost(usage(written=None), PLAIN, rule=BOOK.rule("openai-5.6")) is None


def test_unknown_writes_are_taken_for_the_default_lifetime() -> None:
    """Moonshot bills its default writes as input, so a call that names none can be priced."""
    price, rule = BOOK.price("moonshot", "kimi-k3"), BOOK.rule("moonshot")
    assert price is not None
    found = cost(usage(written=None), price, rule=rule)
    assert found is not None
    assert found.input_usd == pytest.approx((40_000 * 3.0 + 60_000 * 0.3) / 1e6)


def test_an_unknown_output_leaves_the_input_known() -> None:
    """What was paid for the prompt stands apart from what was paid for the answer."""
    found = cost(usage(output=None), OPUS)
    assert found is not None
    assert found.input_usd == pytest.approx(0.2675)
    assert found.output_usd is None


def test_the_rule_fills_in_for_the_list() -> None:
    """Where no price for reads or writes is listed, the rule's factors are used."""
    bare = Price(provider="anthropic", model="new", input_usd_per_mtok=8.0)
    rule = BOOK.rule("anthropic")
    assert bare.read_rate() is None
    assert bare.read_rate(rule=rule) == pytest.approx(0.8)
    assert bare.paid_rate(written=True, rule=rule) == pytest.approx(10.0)
    assert bare.paid_rate(written=True, ttl="1h", rule=rule) == pytest.approx(16.0)
    assert bare.paid_rate(written=True, ttl="7d", rule=rule) is None
    assert bare.paid_rate(written=False) == 8.0
    assert cost(usage(), bare) is None, "reads have no price"
    found = cost(usage(), bare, rule=rule)
    assert found is not None
    assert found.read_usd == pytest.approx(0.048)


def test_written_tokens_cost_as_listed() -> None:
    """The list wins over the rule, by lifetime, the first being the default."""
    assert OPUS.paid_rate(written=True) == 6.25
    assert OPUS.paid_rate(written=True, ttl="5m") == 6.25
    assert OPUS.paid_rate(written=True, ttl="1h", rule=BOOK.rule("anthropic")) == 10.0
    assert OPUS.paid_rate(written=True, ttl="30m") is None
    assert PLAIN.paid_rate(written=True) == 2.0


def test_explicit_reads_have_their_own_price() -> None:
    """Qwen's reads at markers cost half of its automatic ones."""
    price = BOOK.price("qwen", "qwen3.7-max")
    assert price is not None
    assert price.read_rate(rule=BOOK.rule("qwen")) == 0.5
    assert price.read_rate(rule=BOOK.rule("qwen-explicit")) == 0.25


def test_shares_that_exceed_the_prompt_have_no_cost() -> None:
    """A usage that cannot be right is not priced."""
    assert cost(usage(prompt=10), OPUS) is None


def test_nothing_costs_nothing() -> None:
    """An empty call is free, which is not unknown."""
    assert cost(usage(0, 0, 0, (), 0), OPUS) == Cost(
        plain_usd=0.0, read_usd=0.0, write_usd=0.0, output_usd=0.0
    )
