"""What a changed prefix costs under each provider's rule and price."""

import pytest

from stemcache.prompt.lock.cost import ColdWrite, cold_write, histories_usd
from stemcache.prompt.lock.diff import Changed, Difference
from stemcache.provider.book import load_book
from stemcache.provider.price import Price
from stemcache.provider.resolve import resolve
from stemcache.provider.rule import Rule
from stemcache.trace.divergence.change import ChangeKind
from stemcache.wire.section import Section

BOOK = load_book()
CHANGE = Changed(kind=ChangeKind.EDITED, name="rules", section=Section.SYSTEM)


def known(provider: str, model: str) -> tuple[Rule, Price | None]:
    """Rule and price."""
    found = resolve(
        BOOK, provider=provider, host=None, model=model, api=None, marked=False, aliases={}
    )
    assert found.rule is not None
    return found.rule, found.price


def changed(kept: int, now: int = 20_000, before: int = 20_000) -> Difference:
    """A change behind so many tokens."""
    return Difference(
        changes=(CHANGE,), before_tokens=before, now_tokens=now, kept_low=kept, kept_high=kept
    )


def cost(provider: str, model: str, difference: Difference, caches: int = 1) -> ColdWrite:
    """Of a difference there."""
    rule, price = known(provider, model)
    return cold_write(difference, rule=rule, price=price, caches=caches)


def test_a_write_is_paid_for_every_live_cache() -> None:
    """Tokens behind the change, times the price of a write, times caches."""
    rule, price = known("anthropic", "claude-opus-4-5")
    assert price is not None
    rate, read = price.paid_rate(written=True, rule=rule), price.read_rate(rule=rule)
    assert rate is not None
    assert read is not None
    found = cost("anthropic", "claude-opus-4-5", changed(8_000), caches=40)
    assert found.written_tokens == 12_000
    assert found.usd == pytest.approx(12_000 * rate / 1e6 * 40)
    assert found.above_read_usd == pytest.approx(12_000 * (rate - read) / 1e6 * 40)
    assert rate > price.input_usd_per_mtok, "a write has a surcharge there"


def test_without_a_mark_before_the_change_all_is_written() -> None:
    """Where marks stand is not known, so the most is told too."""
    found = cost("anthropic", "claude-opus-4-5", changed(8_000))
    assert found.most_tokens == 20_000
    assert found.usd is not None
    assert found.most_usd == pytest.approx(found.usd * 20_000 / 12_000)
    assert "only if a mark or a message ends there" in found.why


def test_a_longest_common_prefix_is_kept_in_whole_units() -> None:
    """And nothing more is lost: no marks are needed."""
    rule, _ = known("openai", "gpt-4.1")
    assert rule.unit_tokens > 1
    found = cost("openai", "gpt-4.1", changed(8_000 + rule.unit_tokens - 1))
    kept = (8_000 + rule.unit_tokens - 1) // rule.unit_tokens * rule.unit_tokens
    assert found.written_tokens == found.most_tokens == 20_000 - kept
    assert found.why == ""


def test_what_is_shorter_than_the_minimum_is_not_kept_before_a_change() -> None:
    """So all is written."""
    rule, _ = known("openai", "gpt-4.1")
    found = cost("openai", "gpt-4.1", changed(rule.minimum_tokens.likely - 1))
    assert found.written_tokens == 20_000
    assert found.why == "what stands before the change is less than the 1,024 tokens kept at least"
    assert cost("openai", "gpt-4.1", changed(0)).why == ""


def test_a_prefix_below_the_minimum_costs_nothing() -> None:
    """No cache holds it by itself."""
    found = cost("openai", "gpt-4.1", changed(0, now=900, before=900))
    assert (found.written_tokens, found.most_tokens, found.usd) == (0, 0, 0)
    assert found.why.startswith("shorter than the 1,024 tokens that are kept at least")


def test_an_object_is_made_anew_whole() -> None:
    """Wherever it changed."""
    found = cost("gemini-explicit", "gemini-2.5-pro", changed(19_000))
    assert found.written_tokens == 20_000
    assert found.why == "an object is kept whole, so a changed one is made anew"


def test_rules_that_nobody_states_are_said_to_be_so() -> None:
    """The most is told beside the least."""
    found = cost("groq", "unheard-of", changed(8_000))
    assert (found.written_tokens, found.most_tokens) == (12_000, 20_000)
    assert found.why == "the provider does not say what it keeps of a prefix"
    stored = cost("deepseek", "deepseek-chat", changed(8_000))
    assert stored.why == "what stands before the change is read only if a stored prefix ends there"


def test_without_a_price_there_are_tokens_and_no_money() -> None:
    """Unknown stays unknown."""
    rule, _ = known("anthropic", "claude-opus-4-5")
    found = cold_write(changed(8_000), rule=rule, price=None, caches=4)
    assert (found.usd, found.most_usd, found.above_read_usd) == (None, None, None)
    assert found.written_tokens == 12_000
    assert histories_usd(9_000, rule=rule, price=None) is None


def test_no_change_costs_nothing() -> None:
    """A new version of the same bytes is the same cache."""
    same = Difference(
        changes=(), before_tokens=9_000, now_tokens=9_000, kept_low=9_000, kept_high=9_000
    )
    found = cost("anthropic", "claude-opus-4-5", same, caches=40)
    assert (found.written_tokens, found.most_tokens, found.usd) == (0, 0, 0)


def test_no_live_cache_costs_nothing() -> None:
    """Though tokens would be written by one."""
    found = cost("anthropic", "claude-opus-4-5", changed(8_000), caches=0)
    assert (found.written_tokens, found.usd) == (12_000, 0)


def test_what_is_taken_away_is_not_written() -> None:
    """It is only lost."""
    found = cost("openai", "gpt-4.1", changed(12_800, now=12_800, before=20_000))
    assert (found.written_tokens, found.usd) == (0, 0)


def test_long_prompts_are_paid_at_their_own_price() -> None:
    """From some length on a token costs more, where the list says so."""
    short, long = (
        cost("gemini", "gemini-2.5-pro", changed(0, now=size, before=size))
        for size in (100_000, 300_000)
    )
    assert short.usd is not None
    assert long.usd is not None
    assert long.usd > 3 * short.usd * 1.2


def test_histories_behind_a_prefix_are_written_anew() -> None:
    """At the price of a write."""
    rule, price = known("anthropic", "claude-opus-4-5")
    assert price is not None
    rate = price.paid_rate(written=True, rule=rule)
    assert rate is not None
    assert histories_usd(9_000, rule=rule, price=price) == pytest.approx(9_000 * rate / 1e6)
