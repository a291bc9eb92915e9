from dataclasses import replace

import pytest

from stemcache.lint.bill import bill_remark, with_bill
from stemcache.lint.finding import Total
from tests.lint.reports import CLEAN


@pytest.mark.parametrize(
    ("total", "bill_usd", "said"),
    [
        (
            Total(cost_usd=80.0),
            100.0,
            (
                "The bill says $100.00, $20.00 (20.0% of the bill) more than the log's $80.00 at "
                "list prices: traffic that is not in the log, or charges other than tokens."
            ),
        ),
        (
            Total(cost_usd=80.0, unpriced_calls=1),
            60.0,
            (
                "The bill says $60.00, $20.00 (33.3% of the bill) less than the log's $80.00 at "
                "list prices: a discount, credits, or calls that were logged twice. 1 call of the "
                "log could not be priced."
            ),
        ),
        (Total(cost_usd=80.0), 80.0, "The log's list price is the bill's: $80.00."),
        (
            Total(cost_usd=1.0),
            0.0,
            (
                "The bill says $0.00, $1.00 less than the log's $1.00 at list prices: a discount, "
                "credits, or calls that were logged twice."
            ),
        ),
        (
            Total(),
            9.5,
            "The bill says $9.50; the log has no priced call, so it cannot be compared.",
        ),
    ],
)
def test_the_gap_to_a_bill_is_told(total: Total, bill_usd: float, said: str) -> None:
    """In dollars and as a share, with what may be in it."""
    assert bill_remark(total, bill_usd) == said


def test_it_stands_behind_the_other_remarks() -> None:
    """And nowhere where no bill is stated."""
    report = replace(CLEAN, remarks=("First.",))
    assert with_bill(report, None) == report
    assert with_bill(report, 0.05).remarks == (
        "First.",
        "The log's list price is the bill's: $0.05.",
    )
