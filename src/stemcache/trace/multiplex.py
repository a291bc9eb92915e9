"""Sessions that each have a clock of their own, put on one.

```
session A   |──r──r────r──|                      window (within)      cut
session B   |─r─r──r──|             ►     0 ──A──r──r────r──┐──────────│
session C   |──r─────r──|                      └C──r─────r──   ··B··r·r│dropped
```

A random subset of the sessions starts within a window, each at a random moment, and what comes
after the cut is dropped. Whether a session is drawn, and when it starts, depends on the seed and on
its name alone, not on its place in the file.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random

from stemcache.errors import UsageError
from stemcache.trace.record import TraceRequest

__all__ = ["Mix", "multiplex"]

_DIGITS = 3
"""Starts are whole milliseconds."""


@dataclass(frozen=True, slots=True)
class Mix:
    """How sessions are put on one clock."""

    sessions: int
    """How many are drawn."""
    within_s: float
    """Starts are uniform over this window, in seconds."""
    cut_s: float
    """Requests later than this are dropped; infinity keeps all."""
    seed: int = 0

    def drawn(self, session: str) -> tuple[float, float]:
        """The session's lot, of which the smallest are drawn, and its start in seconds."""
        draws = Random(f"{self.seed}/{session}")  # noqa: S311  # nothing here is a secret
        lot = draws.random()
        return lot, round(draws.random() * self.within_s, _DIGITS)


class _Drawn:
    """A session that may be among those drawn, and its requests up to the cut."""

    def __init__(self, lot: float, start_s: float, name: str) -> None:
        self.lot = lot
        self.start_s = start_s
        self.name = name
        self.requests: list[TraceRequest] = []

    def __lt__(self, other: "_Drawn") -> bool:
        return (other.lot, other.name) < (self.lot, self.name)  # the heap's top goes first


def multiplex(requests: Iterable[TraceRequest], mix: Mix) -> list[TraceRequest]:
    """The drawn sessions' requests in order of time, on one clock that starts at 0.

    Streams: holds only the sessions that may still be drawn. Raises UsageError where requests have
    no session's clock, or where there are fewer sessions than asked for.
    """
    seen: dict[str, _Drawn | None] = {}
    heap: list[_Drawn] = []
    for request in requests:
        name = request.session
        if name is None or not request.session_clock or request.arrival_s is None:
            raise UsageError(
                "--multiplex puts sessions with clocks of their own on one, but this trace has "
                "requests without one; leave the flag out"
            )
        if name not in seen:
            seen[name] = _draw(name, mix, heap, seen)
        one = seen[name]
        if one is not None and one.start_s + request.arrival_s <= mix.cut_s:
            one.requests.append(request)
    if len(seen) < mix.sessions:
        raise UsageError(
            f"--multiplex asks for {mix.sessions:,} sessions, but the trace has {len(seen):,}; "
            "ask for fewer"
        )
    return sorted(_on_one_clock(heap), key=lambda request: request.arrival_s or 0.0)


def _draw(name: str, mix: Mix, heap: list[_Drawn], seen: dict[str, _Drawn | None]) -> _Drawn | None:
    lot, start_s = mix.drawn(name)
    one = _Drawn(lot, start_s, name)
    if len(heap) < mix.sessions:
        heapq.heappush(heap, one)
        return one
    out = heapq.heappushpop(heap, one)
    if out is one:
        return None
    seen[out.name] = None  # frees its requests; more of them may come
    return one


def _on_one_clock(heap: list[_Drawn]) -> Iterator[TraceRequest]:
    # Equal times keep the order of lots, which no file's order enters.
    for one in sorted(heap, reverse=True):
        for request in one.requests:
            assert request.arrival_s is not None, "checked"
            yield replace(request, arrival_s=one.start_s + request.arrival_s, session_clock=False)
