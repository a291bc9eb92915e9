"""Traces made smaller, lazily and in order: fewer requests, shorter blocks, shorter prompts."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from stemcache.trace.record import TraceRequest

__all__ = ["Reshape", "in_time_order", "shrunk"]


def shrunk(request: TraceRequest, block_tokens: int) -> TraceRequest:
    """The same blocks with other sizes: the prompt becomes as many tokens as its blocks hold."""
    return replace(
        request,
        block_tokens=block_tokens,
        prompt_tokens=len(request.block_ids) * block_tokens,
    )


def in_time_order(requests: Iterable[TraceRequest]) -> list[TraceRequest]:
    """All requests by arrival, those without one last; equal times keep their order. In memory."""
    return sorted(requests, key=lambda one: math.inf if one.arrival_s is None else one.arrival_s)


@dataclass(slots=True)
class Reshape:
    """What to do with a trace, in this order: limit, shrink, drop what is too long. Counts."""

    limit: int | None = None
    """Most requests to take, counted before any is dropped."""
    block_tokens: int | None = None
    """Tokens to shrink, or grow, each block to."""
    max_prompt_tokens: int | None = None
    dropped: int = 0
    """Requests whose prompts were too long."""

    def __call__(self, requests: Iterable[TraceRequest]) -> Iterator[TraceRequest]:
        """Stops reading at the limit."""
        for request in islice(requests, self.limit):
            made = request if self.block_tokens is None else shrunk(request, self.block_tokens)
            if self.max_prompt_tokens is not None and made.prompt_tokens > self.max_prompt_tokens:
                self.dropped += 1
            else:
                yield made
