"""When the next request comes: how long it lasts from the start of one to the start of the next.

```
P(gap > t)
1.0 ──┐
      └──┐              seen      gaps that ended with a request
         └────┐         open      gaps that had lasted so long when they were last looked at
.1            └─────    over      conversations that ended: their gap is endless
    0   30   300   t
```
`Gaps.of` is the product-limit estimate (Kaplan and Meier, 1958): a gap that is still open says that
it is longer than its age, and nothing more. Beyond the last gap that was seen the estimate stays
where it is: what was never seen to end is taken to last for ever, so that no ping hopes for it.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Protocol

from stemcache.errors import UsageError
from stemcache.prompt.given import check_number, listed

__all__ = ["GapEstimate", "Gaps", "PoissonGaps"]


class GapEstimate(Protocol):
    """**Protocol**: a distribution of gaps."""

    def later(self, gap_s: float) -> float:
        """P(gap > `gap_s`): 1 before 0, never rises, never below 0; continuous from the right."""
        ...


@dataclass(frozen=True, slots=True)
class Gaps:
    """An estimate from gaps. Made by `of`. `later` costs O(log gaps)."""

    ends_s: tuple[float, ...]
    """Lengths at which gaps were seen to end, rising."""
    after: tuple[float, ...]
    """P(gap > the same length)."""
    observed: int
    """How many gaps it is made of, the open ones and those without an end among them."""

    @classmethod
    def of(cls, seen_s: Iterable[float], *, open_s: Iterable[float] = (), over: int = 0) -> "Gaps":
        """From gaps in seconds. Costs O(n log n). Raises UsageError for none, or a negative one."""
        use = "give a list of seconds"
        ended: tuple[float, ...] = listed(seen_s, Real, "seen_s", use)
        censored: tuple[float, ...] = listed(open_s, Real, "open_s", use)
        for gap_s in (*ended, *censored):
            if not (gap_s >= 0 and math.isfinite(gap_s)):
                raise UsageError(f"a gap lasts {gap_s!r} s; give finite seconds from 0 on")
        check_number(over, "over", low=0, whole=True)
        if not (ended or censored or over):
            raise UsageError("no gap was given to learn from; give at least one")
        marks = sorted([(gap_s, 0) for gap_s in ended] + [(gap_s, 1) for gap_s in censored])
        left = len(marks) + over
        share = 1.0
        ends_s: list[float] = []
        after: list[float] = []
        at = 0
        while at < len(marks):
            gap_s, is_open = marks[at]
            same = at
            while same < len(marks) and marks[same] == marks[at]:
                same += 1
            count = same - at
            if not is_open:
                share *= 1 - count / left
                ends_s.append(gap_s)
                after.append(share)
            left -= count
            at = same
        return cls(ends_s=tuple(ends_s), after=tuple(after), observed=len(marks) + over)

    def later(self, gap_s: float) -> float:
        """P(gap > `gap_s`)."""
        at = bisect_right(self.ends_s, gap_s)
        return self.after[at - 1] if at else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonGaps:
    """Requests at a given mean rate, as from many callers; with some chance there is no next."""

    mean_gap_s: float
    over: float = 0.0
    """The probability that no request comes any more."""

    def __post_init__(self) -> None:
        check_number(self.mean_gap_s, "mean_gap_s", low=0)
        check_number(self.over, "over", low=0, high=1)
        if not self.mean_gap_s > 0:
            raise UsageError("mean_gap_s is 0; give more than 0 s, the mean time between requests")

    def later(self, gap_s: float) -> float:
        """P(gap > `gap_s`)."""
        return self.over + (1 - self.over) * math.exp(-max(gap_s, 0.0) / self.mean_gap_s)
