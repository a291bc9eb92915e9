"""What a program's calls came to so far: `print(watched.summary())`.

```
calls     12 calls, 1 failed
prompt    61.3k tokens, as reported
hit rate  12.0% reported, 91.5% attainable
money     $0.31 at list prices, $0.29 of it input
          $0.22 lost, 75.8% of input
findings  1 warning
```
"""

from dataclasses import dataclass

from stemcache.lint.figures import count_of
from stemcache.lint.finding import Finding, Report
from stemcache.lint.summary_lines import summary

__all__ = ["Summary"]

_LABEL = 10


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures as lint has them. Each attempt of a client is a call of its own."""

    report: Report
    missed: int = 0
    """Calls that were made and are in no figure: see the log messages of `stemcache.live`."""
    unjudged: int = 0
    """Calls of which only usage was looked at, for they were too large or came too fast."""

    @property
    def calls(self) -> int:
        """All that ended, failed ones among them."""
        return self.report.total.calls

    @property
    def failed(self) -> int:
        """Refused, or broken off before an answer began."""
        return self.report.total.failed

    @property
    def prompt_tokens(self) -> int:
        """As reported, else estimated."""
        return self.report.total.prompt_tokens

    @property
    def cached_tokens(self) -> int | None:
        """Read from caches, as reported, else predicted; None where neither can be had."""
        return self.report.total.read_tokens

    @property
    def written_tokens(self) -> int | None:
        """Written to caches, as reported."""
        return self.report.total.written_tokens

    @property
    def hit_rate(self) -> float | None:
        """Cached over prompt tokens."""
        return self.report.total.hit_rate

    @property
    def attainable_hit_rate(self) -> float | None:
        """The hit rate had nothing been lost."""
        return self.report.total.attainable_hit_rate

    @property
    def cost_usd(self) -> float | None:
        """At list prices; None where no price is known."""
        return self.report.total.cost_usd

    @property
    def lost_usd(self) -> float | None:
        """Of that, what findings cost."""
        return self.report.total.lost_cost_usd

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Errors first, then by cost."""
        return self.report.findings

    def __str__(self) -> str:
        lines: list[str] = []
        for label, said in summary(self.report):
            for number, line in enumerate(said):
                lines.append(f"{'' if number else label:<{_LABEL}}{line}")
        if self.missed:
            lines.append(f"{'missed':<{_LABEL}}{count_of(self.missed, 'call')}, in no figure")
        if self.unjudged:
            told = f"{count_of(self.unjudged, 'call')}, of which only usage was looked at"
            lines.append(f"{'unjudged':<{_LABEL}}{told}")
        return "\n".join(lines)
