"""When requests come, by the trace's times.

```
    trace        0 0 0 · · · 3 3 · · · · 6            a clock that ticks in 3 s
    spread 3 s   0 1 2       3   4.5     6
```
"""

from collections.abc import Sequence
from itertools import groupby

from stemcache.lab.fleet.job import Job

__all__ = ["arrivals"]


def arrivals(jobs: Sequence[Job], *, speed: float, spread_s: float = 0.0) -> list[float]:
    """Seconds from the first request on, never falling; the trace's seconds divided by `speed`.

    Requests of one moment are spread evenly over `spread_s` of the trace's seconds, or up to the
    next moment where that is sooner.
    """
    moments = [list(group) for _, group in groupby(job.visit.now_s for job in jobs)]
    came: list[float] = []
    for at, group in enumerate(moments):
        start_s = group[0]
        room_s = spread_s
        if at + 1 < len(moments):
            room_s = min(room_s, moments[at + 1][0] - start_s)
        zero_s = start_s - moments[0][0]
        came += [(zero_s + room_s * place / len(group)) / speed for place in range(len(group))]
    return came
