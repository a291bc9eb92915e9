"""Requests without a latency, and what is known of it all the same. Pure.

Those that were given up were slow, so leaving them out makes a target look fast: the rows are of
survivors. Each of them would have taken at least as long as it was waited for, which bounds the
percentiles from some rank on, whatever the others took:

```
    answered, sorted            given up, each at least w
    ├──────────────────────────┼──────────────┤
    0                     p91  │ p95      p99  100     every rank from here on is at least w
```
"""

import math
from collections.abc import Sequence

from stemcache.replay.outcome import UNFINISHED, Outcome
from stemcache.replay.report import Missing

__all__ = ["bounded_from", "missing"]

_TIMEOUT = "timeout"
_SHOWN = (50, 90, 95, 99)
"""Percentiles that the tables have."""


def missing(outcomes: Sequence[Outcome]) -> Missing | None:
    """Of all requests that were due; None if each has a latency."""
    given_up = [each for each in outcomes if each.error == _TIMEOUT]
    unanswered = [each for each in outcomes if each.error == UNFINISHED]
    failed = sum(each.error not in {None, _TIMEOUT, UNFINISHED} for each in outcomes)
    if not (given_up or unanswered or failed):
        return None
    # Of those that failed otherwise nobody knows how long an answer would have taken.
    of = len(outcomes) - failed - len(unanswered)
    without_token = sum(each.first_token_s is None for each in given_up)
    after_s = min((each.end_s - each.due_s for each in given_up), default=None)
    ttft_from, e2e_from = bounded_from(without_token, of), bounded_from(len(given_up), of)
    lines = []
    if after_s is not None:
        lines.append(
            f"{_were(len(given_up), len(outcomes))} given up after {_down(after_s):g} s and "
            f"{_are(len(given_up))} not in these rows: {_bounds(ttft_from, e2e_from)}"
        )
    if unanswered:
        they = "it" if len(unanswered) == 1 else "they"
        lines.append(
            f"{_were(len(unanswered), len(outcomes))} not answered yet when the run was ended, and "
            f"{_are(len(unanswered))} not in these rows: {they} may have been slow"
        )
    if failed:
        they = "it" if failed == 1 else "they"
        lines.append(
            f"{failed:,} of {len(outcomes):,} failed otherwise and {_are(failed)} not in these "
            f"rows: what {they} would have taken is unknown"
        )
    return Missing(
        of=len(outcomes),
        given_up=len(given_up),
        given_up_after_s=after_s,
        ttft_at_least_that_from=ttft_from,
        e2e_at_least_that_from=e2e_from,
        unanswered=len(unanswered),
        failed_otherwise=failed,
        in_words=tuple(lines),
    )


def bounded_from(slow: int, of: int) -> str | None:
    """The first percentile of the tables that lies among the `slow` last of so many, or `max`."""
    if not slow:
        return None
    for percent in _SHOWN:
        if percent * (of - 1) >= 100 * (of - slow):
            return f"p{percent}"
    return "max"


def _were(count: int, of: int) -> str:
    return f"{count:,} of {of:,} {'was' if count == 1 else 'were'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _down(seconds: float) -> float:
    """To whole milliseconds: a bound must not be rounded up, but for what a float is off by."""
    return math.floor(seconds * 1000 + 1e-6) / 1000


def _bounds(ttft_from: str | None, e2e_from: str | None) -> str:
    if ttft_from == e2e_from:
        verb = "is" if e2e_from == "max" else "are"
        return f"the true {_later(e2e_from)} {verb} at least that"
    words = f"the true {_later(e2e_from)} of end to end"
    if ttft_from is not None:
        words += f", and {_later(ttft_from)} of TTFT,"
    return f"{words} {'is' if {e2e_from, ttft_from} <= {'max', None} else 'are'} at least that"


def _later(percentile: str | None) -> str:
    return "max" if percentile == "max" else f"{percentile} and later"
