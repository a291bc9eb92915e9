"""What all findings cost together."""

from collections.abc import Iterable
from dataclasses import replace

from stemcache.lint.finding import Finding, Report

__all__ = ["lost_cost_usd", "with_lost_cost"]


def lost_cost_usd(findings: Iterable[Finding]) -> float | None:
    """Sum of what is known; None where tokens are lost and none of them has a price."""
    losing = [finding for finding in findings if finding.lost_tokens > 0 or finding.cost_usd]
    known = [finding.cost_usd for finding in losing if finding.cost_usd is not None]
    return sum(known) if known or not losing else None


def with_lost_cost(report: Report) -> Report:
    """The report with that sum in its totals, unless the analysis put one there.

    To be called before findings are left out, for the total is of the whole log.
    """
    if report.total.lost_cost_usd is not None:
        return report
    total = replace(report.total, lost_cost_usd=lost_cost_usd(report.findings))
    return replace(report, total=total)
