"""Coding sessions of the trace as conversations that grow, and as what a provider's cache sees.

```
request of a session   ids 1 … 1,524        prompts part at 1,523: that is where a client that marks
next one               ids 1 … 1,523, 1,525 …   well has its mark, so both requests have one there
```
A thread is a conversation that only grows: a request goes on with the thread whose last prompt it
repeats for the most part, and begins one where there is none (sub-agents, and what follows a
compaction of the client's own). Text and content blocks are not in the trace, so marks are taken to
stand where prompts part; this is the same for everything that is compared.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np

from stemcache.prompt.keepalive.simulate import Visit
from stemcache.provider.shape import Mark, Position, Shape
from stemcache.trace.open import open_trace
from stemcache.trace.record import BlockIds, TraceRequest
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["Session", "read"]

_GOES_ON = 0.8
"""A prompt that repeats so much of a thread's last one goes on with it."""
_MOST_MARKS = 4
_NOTHING = np.empty(0, dtype=np.uint64)
_NO_TOKENS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Session:
    """One session, its visits in order of time."""

    name: str
    visits: tuple[Visit, ...]

    def threads(self) -> dict[int, list[Visit]]:
        """Visits by conversation."""
        found: dict[int, list[Visit]] = defaultdict(list)
        for visit in self.visits:
            found[visit.thread].append(visit)
        return dict(found)

    def gaps_s(self) -> tuple[list[float], int]:
        """Gaps between the visits of a thread, and how many threads ended."""
        threads = self.threads()
        gaps = [
            later.at_s - before.at_s
            for visits in threads.values()
            for before, later in pairwise(visits)
        ]
        return gaps, len(threads)


@dataclass(slots=True)
class _Request:
    request: TraceRequest
    thread: int
    shared_blocks: int
    """With its parent."""
    marks: set[int]
    """In blocks."""


def read(path: Path, *, limit: int | None = None) -> Iterator[Session]:
    """All sessions, in the order of the file."""
    with open_trace(path) as reader:
        grouped = groupby(reader, key=lambda one: one.session)
        for number, (name, requests) in enumerate(grouped):
            if limit is not None and number >= limit:
                return
            yield Session(name or "", tuple(_visits(requests)))


def _visits(requests: Iterable[TraceRequest]) -> Iterator[Visit]:
    seen: list[_Request] = []
    last: dict[int, int] = {}
    for request in requests:
        parent, shared = -1, 0
        for number in last.values():
            common = _common(seen[number].request.block_ids, request.block_ids)
            if common > shared:
                parent, shared = number, common
        goes_on = parent >= 0 and shared >= _GOES_ON * len(seen[parent].request.block_ids)
        thread = seen[parent].thread if goes_on else len(last)
        end = len(request.block_ids)
        seen.append(_Request(request, thread, shared, {shared, end} - {0}))
        if parent >= 0 and shared:
            seen[parent].marks.add(shared)
        last[thread] = len(seen) - 1
    for one in seen:
        yield _visit(one)


def _common(one: BlockIds, other: BlockIds) -> int:
    least = min(len(one), len(other))
    # Ids are chained, so the first difference can be looked for by halves.
    low, high = 0, least
    while low < high:
        middle = (low + high + 1) // 2
        if one[middle - 1] == other[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low


def _visit(one: _Request) -> Visit:
    request = one.request
    cuts = sorted(one.marks)
    if len(cuts) > _MOST_MARKS:
        cuts = [cuts[0], *cuts[1 - _MOST_MARKS :]]
    size = request.block_tokens
    positions = [
        Position(
            chain=int(request.block_ids[cut - 1]),
            end_tokens=cut * size,
            section=Section.MESSAGES,
            role="user",
            ends_message=True,
            mark=Mark(),
        )
        for cut in cuts
    ]
    rest = Position(
        chain=-1,
        end_tokens=request.prompt_tokens,
        section=Section.MESSAGES,
        role="user",
        ends_message=True,
    )
    assert request.arrival_s is not None, "sessions have clocks"
    return Visit(
        at_s=request.arrival_s,
        thread=one.thread,
        shape=Shape(
            positions=(*positions, rest),
            fine_chain=_NOTHING,
            fine_tokens=_NO_TOKENS,
            api=Api.MESSAGES,
            implicit=False,
        ),
        prefix_tokens=cuts[-1] * size if cuts else 0,
        output_tokens=request.output_tokens or 0,
    )
