"""The priced log beside a bill: what the log does not account for."""

from dataclasses import replace

from stemcache.lint.figures import count_of, money, percent
from stemcache.lint.finding import Report, Total

__all__ = ["bill_remark", "with_bill"]


def bill_remark(total: Total, bill_usd: float) -> str:
    """One sentence: the gap between the bill and the log at list prices, and what may be in it."""
    if total.cost_usd is None:
        return (
            f"The bill says {money(bill_usd)}; the log has no priced call, so it cannot be "
            "compared."
        )
    gap = bill_usd - total.cost_usd
    share = f" ({percent(abs(gap) / bill_usd)} of the bill)" if bill_usd else ""
    missing = (
        f" {count_of(total.unpriced_calls, 'call')} of the log could not be priced."
        if total.unpriced_calls
        else ""
    )
    if abs(gap) < 0.005 and not missing:
        return f"The log's list price is the bill's: {money(bill_usd)}."
    if gap >= 0:
        why = "traffic that is not in the log, or charges other than tokens"
        return (
            f"The bill says {money(bill_usd)}, {money(gap)}{share} more than the log's "
            f"{money(total.cost_usd)} at list prices: {why}.{missing}"
        )
    why = "a discount, credits, or calls that were logged twice"
    return (
        f"The bill says {money(bill_usd)}, {money(-gap)}{share} less than the log's "
        f"{money(total.cost_usd)} at list prices: {why}.{missing}"
    )


def with_bill(report: Report, bill_usd: float | None) -> Report:
    """The report with that sentence among its remarks."""
    if bill_usd is None:
        return report
    return replace(report, remarks=(*report.remarks, bill_remark(report.total, bill_usd)))
