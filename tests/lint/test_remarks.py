"""What a reader has to know of a result: said where it matters, and only there."""

from dataclasses import replace
from typing import Any

import pytest

from stemcache.lint.collect import Found
from stemcache.lint.finding import Total
from stemcache.lint.remarks import remarks
from stemcache.lint.tally import Tally
from stemcache.provider.rule import Range, Rule
from stemcache.wire.section import Section

NOTHING = Found((), 0, 0)
RULE = Rule(
    name="test",
    provider="test",
    kind="units",
    order=(Section.TOOLS, Section.SYSTEM, Section.MESSAGES),
    minimum_tokens=Range(1_024, 1_024, 1_024, ()),
    write_factor={},
    read_factor=0.1,
)
CONTESTED = replace(RULE, name="contested", minimum_tokens=Range(1_024, 2_048, 1_024, ()))


def _said(
    total: Total | None = None,
    tally: Tally | None = None,
    found: Found = NOTHING,
    rules: tuple[Rule, ...] = (RULE,),
    stale: tuple[str, ...] = (),
) -> tuple[str, ...]:
    total = Total(calls=10, rules={"test": 10}) if total is None else total
    return remarks(total, tally or Tally(), found, rules=rules, stale=stale)


def _tally(**counts: Any) -> Tally:
    tally = Tally()
    for name, value in counts.items():
        setattr(tally, name, value)
    return tally


def test_result_without_reservations() -> None:
    """Nothing is said."""
    assert (
        _said(Total(calls=10, rules={"test": 10}, fidelities={"wire": 9, "reserialised": 1})) == ()
    )


def test_calls_of_no_known_provider() -> None:
    """How many, and what to do."""
    (said,) = _said(Total(calls=1_500, rules={"": 1_200, "test": 300}))
    assert said == (
        "1,200 of 1,500 calls name no provider or model that is known: no minimum and no money for "
        "them, and markers are not judged; name one with --provider, or an alias in stemcache.toml"
    )


@pytest.mark.parametrize(
    ("fidelity", "end"),
    [
        ("unordered", "rules on key order stay silent"),
        ("reconstructed", "rules on tools, system prompt, markers and parameters stay silent"),
        ("truncated", "rules on content stay silent"),
        ("redacted", "rules on content stay silent"),
        ("usage-only", "only usage is judged"),
    ],
)
def test_rules_that_stay_silent(fidelity: str, end: str) -> None:
    """For want of fidelity, by how many calls."""
    (said,) = _said(Total(calls=10, rules={"test": 10}, fidelities={fidelity: 4, "wire": 6}))
    assert said.startswith(f"4 calls are {fidelity}: ")
    assert said.endswith(end)


def test_predictions_and_estimates() -> None:
    """What was not reported is said to be reckoned."""
    assert _said(tally=_tally(predicted=3)) == (
        "no cached tokens are reported by 3 calls: what they read is predicted by rule",
    )
    assert _said(tally=_tally(estimated=2)) == (
        "no prompt tokens are reported by 2 calls: they are estimated from the text",
    )


def test_log_of_failed_calls_has_no_predictions() -> None:
    """Where nothing was judged nothing was reckoned."""
    assert _said(Total(calls=3, failed=3), _tally(predicted=3, estimated=3)) == ()


def test_calls_without_a_price() -> None:
    """Only where others have one: else there is no sum of money that they could be missing in."""
    (said,) = _said(Total(calls=10, priced_calls=7, unpriced_calls=3))
    assert said == "no price is known for 3 calls, which no sum of money counts"
    total = Total(calls=10, priced_calls=7, unpriced_calls=3, unpriced_models=("gpt-6.2",))
    (said,) = _said(total)
    assert said == "no price is known for 3 calls of gpt-6.2, which no sum of money counts"
    assert _said(Total(calls=10, priced_calls=0, unpriced_calls=10)) == ()
    assert _said(Total(calls=10, priced_calls=10)) == ()


def test_trifles_are_summed_up() -> None:
    """How many causes, and how many tokens."""
    (said,) = _said(found=Found((), 2, 1_234))
    assert said == "2 causes of less than 0.1% of the spend left out: 1,234 tokens"
    (said,) = _said(found=Found((), 1, 12))
    assert said.startswith("1 cause of ")


@pytest.mark.parametrize(("shortest", "said"), [(2_047, 1), (2_048, 0), (50, 1), (None, 0)])
def test_contested_minimum(shortest: int | None, said: int) -> None:
    """Where a prompt is short enough that another figure would change what is kept."""
    tally = _tally(shortest={} if shortest is None else {"contested": shortest})
    found = _said(tally=tally, rules=(RULE, CONTESTED))
    assert len(found) == said
    if said:
        assert found[0] == (
            "contested: sources give 1,024 to 2,048 tokens as the minimum; 1,024 is used"
        )


def test_old_prices_come_last() -> None:
    """As the book says it."""
    tally = _tally(predicted=3)
    assert _said(tally=tally, stale=("prices are old", "rules are old"))[1:] == (
        "prices are old",
        "rules are old",
    )
