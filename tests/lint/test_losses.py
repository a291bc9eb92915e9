from dataclasses import replace

from stemcache.lint.losses import lost_cost_usd, with_lost_cost
from tests.lint.reports import AWKWARD, CLEAN, CLOCK, SIMPLE, finding


def test_what_is_lost_is_the_sum_of_findings() -> None:
    """Those without a price are left out while others have one."""
    unpriced = finding(lost_tokens=5)
    assert lost_cost_usd([CLOCK, CLOCK, unpriced, finding()]) == 2 * 540.12


def test_nothing_lost_costs_nothing_and_an_unknown_price_is_unknown() -> None:
    """Unknown is not zero."""
    assert lost_cost_usd([]) == 0
    assert lost_cost_usd([finding()]) == 0
    assert lost_cost_usd([finding(lost_tokens=5)]) is None


def test_a_sum_that_the_analysis_made_stays() -> None:
    """Else it is added to the totals."""
    total = replace(SIMPLE.total, lost_cost_usd=1.5)
    assert with_lost_cost(replace(SIMPLE, total=total)).total.lost_cost_usd == 1.5
    assert with_lost_cost(AWKWARD).total.lost_cost_usd is not None
    bare = replace(CLEAN, total=replace(CLEAN.total, lost_cost_usd=None))
    assert with_lost_cost(bare).total.lost_cost_usd == 0
