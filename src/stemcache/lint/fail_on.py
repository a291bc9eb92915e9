"""Thresholds: `hit_rate<0.8` fails a run when it is true.

```
expression = name op number
op         = "<" | "<=" | ">" | ">=" | "==" | "!="
number     = decimal, with %, k or M behind it where wanted
```
A threshold on a figure that is not known fails too, and says so: a gate that cannot be looked
through does not stand open.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stemcache.errors import UsageError, unknown_choice
from stemcache.lint.figures import money, percent
from stemcache.lint.finding import Report, Severity

__all__ = ["FIGURES", "Threshold", "failures", "parse_threshold"]

_EXPRESSION = re.compile(r"\s*(\w{1,40})\s*(<=|>=|==|!=|<|>|=)\s*(\S{1,40}?)\s*(%|k|M)?\s*")
_NUMBER = re.compile(r"-?(\d{1,20}(\.\d{0,20})?|\.\d{1,20})(e[+-]?\d{1,2})?")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
}
_FACTORS = {"": 1.0, "%": 0.01, "k": 1e3, "M": 1e6}


def _severity(report: Report, severity: Severity) -> float:
    return sum(finding.severity is severity for finding in report.findings)


def _lost_share(report: Report) -> float | None:
    total = report.total
    return total.lost_tokens / total.prompt_tokens if total.prompt_tokens else None


def _exact_share(report: Report) -> float | None:
    found = report.reconciliation
    return found.exact / found.calls if found.calls else None


FIGURES: dict[str, Callable[[Report], float | None]] = {
    "attainable_hit_rate": lambda report: report.total.attainable_hit_rate,
    "calls": lambda report: report.total.calls,
    "cost_usd": lambda report: report.total.cost_usd,
    "errors": lambda report: _severity(report, Severity.ERROR),
    "exact_share": _exact_share,
    "failed": lambda report: report.total.failed,
    "findings": lambda report: len(report.findings),
    "hit_rate": lambda report: report.total.hit_rate,
    "input_cost_usd": lambda report: report.total.input_cost_usd,
    "lost_cost_usd": lambda report: report.total.lost_cost_usd,
    "lost_share": _lost_share,
    "lost_tokens": lambda report: report.total.lost_tokens,
    "notes": lambda report: _severity(report, Severity.NOTE),
    "prompt_tokens": lambda report: report.total.prompt_tokens,
    "read_tokens": lambda report: report.total.read_tokens,
    "skipped_lines": lambda report: sum(report.total.skipped.values()),
    "unpriced_calls": lambda report: report.total.unpriced_calls,
    "warnings": lambda report: _severity(report, Severity.WARNING),
}
"""What can be compared; None where a report does not know it."""
_SHARES = frozenset({"attainable_hit_rate", "exact_share", "hit_rate", "lost_share"})


@dataclass(frozen=True, slots=True)
class Threshold:
    """One comparison. `text` is as the user wrote it."""

    text: str
    figure: str
    sign: str
    limit: float

    def failure(self, report: Report) -> str | None:
        """Why the run fails, in a sentence; None where it does not."""
        value = FIGURES[self.figure](report)
        if value is None or math.isnan(value):
            return f"{self.text}: {self.figure} is not known for this log, so it cannot be checked"
        if not _OPERATORS[self.sign](value, self.limit):
            return None
        return f"{self.text}: {self.figure} is {_worded(self.figure, value)}"


def parse_threshold(text: str, *, source: str) -> Threshold:
    """Read `name op number`. Raises UsageError with what can be written instead."""
    match = _EXPRESSION.fullmatch(text)
    number = match and _NUMBER.fullmatch(match[3])
    if match is None or number is None:
        raise UsageError(
            f"{text!r} from {source} is no threshold; write a name, a comparison and a number, "
            "such as 'hit_rate<0.8'"
        )
    figure, sign = match[1], match[2]
    if figure not in FIGURES:
        raise UsageError(unknown_choice("figure", figure, source, FIGURES))
    limit = float(match[3]) * _FACTORS[match[4] or ""]
    if figure in _SHARES and not 0 <= limit <= 1:
        raise UsageError(
            f"{text!r} from {source} compares {figure}, a share from 0 to 1, with {limit:g}; "
            f"write {figure}{sign}0.8 or {figure}{sign}80%"
        )
    return Threshold(text.strip(), figure, sign, limit)


def failures(report: Report, thresholds: Iterable[Threshold]) -> tuple[str, ...]:
    """A sentence for each threshold that is missed."""
    found = (threshold.failure(report) for threshold in thresholds)
    return tuple(sentence for sentence in found if sentence is not None)


def _worded(figure: str, value: float) -> str:
    if figure in _SHARES:
        return percent(value)
    if figure.endswith("_usd"):
        return money(value)
    return f"{value:,.0f}"
