"""What may be lost at most: a ledger that only lets be risked what was spent or won before.

```
spent   0.90      what doing nothing would have cost so far
risked  0.05      pings, compactions
gained  0.11      what they saved, as it turned out
left    0.01 · 0.90 + 0.11 - 0.05 = 0.069
```
Invariant, and so the promise: `risked - gained <= share · spent` whenever risks are taken only
while `affords` says so. Whoever keeps one ledger a session bounds every session; one for all
bounds the total alone, and lets the first session's savings pay for the next one's pings.
"""

import math
from dataclasses import dataclass, replace

from stemcache.prompt.given import check_number

__all__ = ["Ledger"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Immutable; every verb returns the next one. All amounts in one unit."""

    share: float = 0.01
    """Of `spent`, what may be lost at most. Infinity: no bound."""
    spent: float = 0.0
    risked: float = 0.0
    gained: float = 0.0

    def __post_init__(self) -> None:
        if self.share != math.inf:
            check_number(self.share, "share of a Ledger", low=0)

    @property
    def left(self) -> float:
        """What may still be risked; never negative."""
        if math.isinf(self.share):
            return math.inf
        return max(self.share * self.spent + self.gained - self.risked, 0.0)

    def affords(self, amount: float) -> bool:
        """Whether so much may be risked."""
        return amount <= self.left

    def times(self, amount: float, most: int) -> int:
        """How often so much may be risked one after the other, `most` at most."""
        if amount <= 0 or math.isinf(self.left):
            return most
        return int(min(self.left // amount, most))

    def spend(self, amount: float) -> "Ledger":
        """A request was paid for that doing nothing would have paid for too."""
        return replace(self, spent=self.spent + amount)

    def risk(self, amount: float) -> "Ledger":
        """Something was paid for that doing nothing would not have."""
        return replace(self, risked=self.risked + amount)

    def gain(self, amount: float) -> "Ledger":
        """A request cost so much less than it would have: it counts as spent, and as gained."""
        return replace(self, spent=self.spent + amount, gained=self.gained + amount)
