"""How many turns a conversation still has, learned from those that were.

```
turns so far     1     10     50    200
still to come   28     41     63     80     long ones last longer: each turn is news
```
The product-limit estimate over lengths: a conversation that still runs says only that it is longer
than now. Beyond the longest that was seen nothing is promised.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral

from stemcache.errors import UsageError
from stemcache.prompt.given import listed
from stemcache.prompt.keepalive.gaps import Gaps

__all__ = ["Turns"]


@dataclass(frozen=True, slots=True)
class Turns:
    """Made by `of`. Verbs cost O(log n) but for the first, O(n)."""

    lengths: Gaps
    """Of conversations, in turns."""

    @classmethod
    def of(cls, ended: Iterable[int], *, running: Iterable[int] = ()) -> "Turns":
        """From lengths in turns. Raises UsageError for none."""
        use = "give a list of how many turns conversations had"
        ended = listed(ended, Integral, "ended", use)
        running = listed(running, Integral, "running", use)
        for length in (*ended, *running):
            if length < 0:
                raise UsageError(f"a conversation has {length} turns; give 0 or more")
        if not ended and not running:
            raise UsageError("no conversation was given to learn from; give at least one")
        return cls(Gaps.of(map(float, ended), open_s=map(float, running)))

    def chance(self, done: int, more: float) -> float:
        """The probability that at least `more` turns follow `done`; 0 beyond what was seen."""
        left = self.lengths.later(done)
        if left <= 0 or not self._within(done):
            return 0.0
        return self.lengths.later(done + more - 1e-9) / left if more > 0 else 1.0

    def remaining(self, done: int) -> float:
        """How many turns are expected to follow `done`; 0 beyond what was seen."""
        left = self.lengths.later(done)
        if left <= 0 or not self._within(done):
            return 0.0
        ends, after = self.lengths.ends_s, self.lengths.after
        at = bisect_right(ends, done)
        total, share, since = 0.0, left, float(done)
        for end, then in zip(ends[at:], after[at:], strict=True):
            total += share * (end - since)
            share, since = then, end
        return total / left

    def _within(self, done: int) -> bool:
        return bisect_left(self.lengths.ends_s, done + 1) < len(self.lengths.ends_s)
