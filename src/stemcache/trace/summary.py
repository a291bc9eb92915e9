"""A trace in figures: how many, how long, how fast, how much is distinct. One pass.

Memory does not grow with the number of requests: some 300 MB at most for what is distinct, and what
the different lengths and the sessions with clocks of their own take.
"""

from dataclasses import dataclass

import numpy as np

from stemcache.trace.census import Census
from stemcache.trace.distinct import Distinct, name_hash
from stemcache.trace.lengths import LengthCounts, Lengths
from stemcache.trace.record import TraceRequest

__all__ = ["Counted", "Summary", "Survey"]


@dataclass(frozen=True, slots=True)
class Counted:
    """How many different ones."""

    count: int
    exact: bool
    """False for an estimate, good to a few thousandths."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What a trace holds."""

    requests: int
    block_tokens: int | None
    prompts: Lengths | None
    answers: Lengths | None
    """None where no request tells."""
    blocks: int
    distinct_blocks: Counted
    distinct_prompts: Counted
    """As far as block ids and lengths tell prompts apart."""
    unchained_blocks: int
    """How often an id followed another id than at its first time: not 0 if ids are no prefixes'."""
    tenants: Counted
    sessions: Counted
    session_clock: bool
    """Times count from each session's start."""
    timed: int
    """Requests that tell when they came."""
    span_s: float | None
    """From the first arrival to the last; of the median session where each has its own clock."""
    requests_per_s: float | None
    """Over the span; None where sessions have clocks of their own."""
    out_of_order: int
    """Requests that came, in their clock, before one that stands earlier in the file."""


class Summary:
    """Feed it all requests, then ask for the survey."""

    def __init__(self) -> None:
        self._requests = self._blocks = self._timed = self._out_of_order = 0
        self._block_tokens: int | None = None
        self._prompt_tokens = LengthCounts()
        self._output_tokens = LengthCounts()
        self._census = Census()
        self._tenants = Distinct()
        self._sessions = Distinct()
        self._session_clock = False
        self._clocks: dict[str | None, tuple[float, float]] = {}

    def add(self, request: TraceRequest) -> None:
        """Count a request. O(blocks), vectorised; slower only for blocks not seen just before."""
        self._requests += 1
        self._blocks += len(request.block_ids)
        self._block_tokens = request.block_tokens
        self._prompt_tokens.add(request.prompt_tokens)
        if request.output_tokens is not None:
            self._output_tokens.add(request.output_tokens)
        if request.tenant is not None:
            self._tenants.add_one(name_hash(request.tenant))
        if request.session is not None:
            self._sessions.add_one(name_hash(request.session))
        self._census.add(request)
        self._count_time(request)

    def _count_time(self, request: TraceRequest) -> None:
        if request.arrival_s is None:
            return
        self._timed += 1
        self._session_clock |= request.session_clock
        clock = request.session if request.session_clock else None
        first, last = self._clocks.get(clock, (request.arrival_s, request.arrival_s))
        if request.arrival_s < last:
            self._out_of_order += 1
        self._clocks[clock] = (min(first, request.arrival_s), max(last, request.arrival_s))

    def survey(self) -> Survey:
        """The figures so far. O(requests)."""
        self._census.flush()
        spans = [last - first for first, last in self._clocks.values()]
        span_s = float(np.median(spans)) if spans else None
        rated = span_s if not self._session_clock else None
        return Survey(
            requests=self._requests,
            block_tokens=self._block_tokens,
            prompts=self._prompt_tokens.figures(),
            answers=self._output_tokens.figures(),
            blocks=self._blocks,
            distinct_blocks=_counted(self._census.blocks),
            distinct_prompts=_counted(self._census.prompts),
            unchained_blocks=self._census.blocks.conflicts,
            tenants=_counted(self._tenants),
            sessions=_counted(self._sessions),
            session_clock=self._session_clock,
            timed=self._timed,
            span_s=span_s,
            requests_per_s=self._timed / rated if rated else None,
            out_of_order=self._out_of_order,
        )


def _counted(distinct: Distinct) -> Counted:
    return Counted(distinct.count, distinct.exact)
