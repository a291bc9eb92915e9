"""When each request is due: at the trace's own times, or when the one before it is answered. Pure.

Open loop: times do not depend on the target, as those of independent users do not. A slow target
gets requests faster than it answers them, and its queue shows.

```
    trace   a0      a1 a2            a3        arrival times
    due     0       (a1-a0)/speed …            seconds since the run began
```

Closed loop: so many sessions at once, each sends its next turn when the last one is answered and
its user has thought. A slow target is asked less.

```
    session   sent ───── answered ~~ think ~~ sent ──── answered
    recorded  a0 ───────────── gap ────────── a1         due at a0's due + gap, or when answered
```
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from stemcache.errors import UsageError
from stemcache.replay.selection import Planned

__all__ = ["RECORDED", "Arrivals", "Session", "Think", "arrivals", "next_due_s", "sessions"]

RECORDED: Literal["recorded"] = "recorded"
"""Think times as in the trace."""

Think = float | Literal["recorded"]
"""Seconds between an answer and the next turn, or as recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Every request with the moment at which it is due, earliest first."""

    planned: tuple[Planned, ...]
    due_s: tuple[float, ...]
    """Seconds since the run's start, one for each."""
    out_of_order: int
    """Requests that the trace gives after a later one; they are sent at their own time."""
    drawn: bool
    """Whether times were drawn because the trace has none."""


def arrivals(
    planned: Sequence[Planned], *, speed: float, rate: float | None, random: Random
) -> Arrivals:
    """Times of an open loop: the trace's, `speed` times as fast, or rescaled to a mean `rate`.

    A trace without times gets those of a Poisson process of that rate, drawn from `random`. Raises
    UsageError where times are missing, or those of different sessions cannot be compared.
    """
    times = [each.request.arrival_s for each in planned]
    missing = sum(time is None for time in times)
    if any(each.request.session_clock for each in planned):
        raise UsageError(
            "the trace's times count from the start of each session, so they say nothing of how "
            "sessions overlap; replay it in a closed loop with --concurrency N"
        )
    if missing and (missing < len(times) or rate is None):
        raise UsageError(
            f"{missing} of {len(times)} requests of the trace have no arrival time; "
            "use --concurrency N, or --rate R with a trace that has no times at all"
        )
    if missing and rate is not None:
        due, moment = [], 0.0
        for _ in planned:
            due.append(moment)
            moment += random.expovariate(rate)
        return Arrivals(planned=tuple(planned), due_s=tuple(due), out_of_order=0, drawn=True)
    known = [time for time in times if time is not None]
    order = sorted(range(len(known)), key=known.__getitem__)
    first, last = (known[order[0]], known[order[-1]]) if order else (0.0, 0.0)
    if rate is not None:
        if last <= first and len(known) > 1:
            raise UsageError(
                f"all {len(known)} requests of the trace arrive at once, so --rate {rate:g} cannot "
                "spread them; use --concurrency N"
            )
        speed = rate * (last - first) / max(1, len(known) - 1)
    latest, behind = float("-inf"), 0
    for time in known:
        behind += time < latest
        latest = max(latest, time)
    return Arrivals(
        planned=tuple(planned[at] for at in order),
        due_s=tuple((known[at] - first) / (speed or 1.0) for at in order),
        out_of_order=behind,
        drawn=False,
    )


@dataclass(frozen=True, slots=True)
class Session:
    """Turns that follow one another. A request without a session is one of its own."""

    turns: tuple[Planned, ...]


def sessions(planned: Sequence[Planned]) -> tuple[Session, ...]:
    """Group by session, in the order in which their first requests stand in the trace."""
    groups: dict[tuple[str, str] | int, list[Planned]] = {}
    for each in planned:
        request = each.request
        key = each.number if request.session is None else (request.scope, request.session)
        groups.setdefault(key, []).append(each)
    return tuple(Session(tuple(turns)) for turns in groups.values())


def next_due_s(
    before: Planned,
    turn: Planned,
    *,
    before_due_s: float,
    answered_s: float,
    think: Think,
    speed: float,
    max_think_s: float | None,
) -> float:
    """When the turn after `before` is due; never before `answered_s`.

    A recorded gap reaches from one arrival to the next, with the recorded answer's time in it, so
    it counts from when `before` was due. Where the trace has no gap there is no thinking either.
    `max_think_s` bounds the time after the answer.
    """
    if think == RECORDED:
        start, end = before.request.arrival_s, turn.request.arrival_s
        gap_s = 0.0 if start is None or end is None else max(0.0, end - start) / speed
        due_s = max(answered_s, before_due_s + gap_s)
    else:
        due_s = answered_s + think
    return due_s if max_think_s is None else min(due_s, answered_s + max_think_s)
