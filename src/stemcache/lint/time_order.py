"""Calls in order of time where a log was written in order of their ends, in bounded memory."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from stemcache.trace.calls.call import Call

__all__ = ["in_time_order"]

_MOST_BYTES = 8 * 2**20
_MOST_CALLS = 512


def in_time_order(
    calls: Iterable[Call], *, most_bytes: int = _MOST_BYTES, most_calls: int = _MOST_CALLS
) -> Iterator[Call]:
    """Calls sorted within a window of so many bytes or calls; those without a time stay in place.

    A call that comes later than the window reaches back keeps its place in the log.
    """
    window: list[tuple[float, int, Call]] = []
    held_bytes = 0
    for number, call in enumerate(calls):
        if call.time_s is None:
            # Nothing can be said of where it belongs: what is held goes first.
            while window:
                yield heappop(window)[2]
            held_bytes = 0
            yield call
            continue
        heappush(window, (call.time_s, number, call))
        held_bytes += call.size_bytes
        while len(window) > most_calls or (held_bytes > most_bytes and len(window) > 1):
            first = heappop(window)[2]
            held_bytes -= first.size_bytes
            yield first
    while window:
        yield heappop(window)[2]
