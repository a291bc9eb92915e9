"""A request as the simulators see it, and the sums they keep."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stemcache.errors import UsageError
from stemcache.trace.record import BlockIds, TraceRequest

__all__ = ["Size", "Tally", "Times", "Visit", "visits"]

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio (Knuth): multiples lie apart


class Visit(NamedTuple):
    """One prompt: its blocks, when it came, and who sent it."""

    scope: str
    ids: BlockIds
    block_tokens: int
    prompt_tokens: int
    now_s: float
    usable_blocks: int
    """How many of its blocks may be hits: all, or all but what an engine computes anyway."""
    tenant: str | None = None
    session: str | None = None
    session_clock: bool = False
    scored: bool = True
    """Counts in the sums; a request of the warm-up only fills the cache."""
    output_tokens: int | None = None
    """Length of the answer, where the trace says."""

    @property
    def size(self) -> "Size":
        """How long it is, without what it says."""
        return Size(len(self.ids), self.block_tokens, self.prompt_tokens)


class Size(NamedTuple):
    """The length of a prompt."""

    blocks: int
    block_tokens: int
    prompt_tokens: int


@dataclass(slots=True)
class Tally:
    """Sums over requests."""

    requests: int = 0
    blocks: int = 0
    hit_blocks: int = 0
    tokens: int = 0
    hit_tokens: int = 0

    def add(self, size: Size, hit_blocks: int) -> None:
        """Count a prompt whose first `hit_blocks` blocks were found."""
        blocks, block_tokens, prompt_tokens = size
        self.requests += 1
        self.blocks += blocks
        self.hit_blocks += hit_blocks
        self.tokens += prompt_tokens
        # The partial last block holds fewer tokens.
        self.hit_tokens += min(hit_blocks * block_tokens, prompt_tokens)

    @property
    def block_hit_rate(self) -> float | None:
        """Blocks found over blocks; None when there are none."""
        return self.hit_blocks / self.blocks if self.blocks else None

    @property
    def token_hit_rate(self) -> float | None:
        """Cached tokens over prompt tokens; None when there are none."""
        return self.hit_tokens / self.tokens if self.tokens else None


class Times:
    """What was odd about the times of a trace."""

    def __init__(self) -> None:
        self.late = 0
        """Requests that came before the one ahead of them in the file."""
        self.furthest_back_s = 0.0
        self.missing = 0
        """Requests without a time."""


def visits(
    requests: Iterable[TraceRequest],
    *,
    regroup: int = 1,
    split: int = 1,
    engine_rules: bool = False,
    isolate_tenants: bool = False,
    warmup_requests: int = 0,
    times: Times | None = None,
) -> Iterator[Visit]:
    """Requests in the order they are taken in, their times never going back within one clock.

    `regroup` makes one block of so many; what is left over at the end makes a partial block where
    the trace counts those. `split` makes so many of one: prompts that part inside a block of the
    trace part at its start, which is all that is known, but room is taken and given up by smaller
    steps. `engine_rules` leaves out partial blocks, which engines do not share, and lets no prompt
    be cached whole: its last token is computed to get logits. The first `warmup_requests` are not
    scored. A request without a time comes one second after the one before it. Raises UsageError
    where a block cannot be cut into that many.
    """
    times = Times() if times is None else times
    clocks: dict[str | None, float] = {}
    for number, request in enumerate(requests):
        clock = request.session if request.session_clock else None
        known_s = clocks.get(clock)  # a clock starts at its first time, be it below zero
        now_s = 0.0 if known_s is None else known_s
        if request.arrival_s is None:
            now_s += 1.0
            times.missing += 1
        elif known_s is not None and request.arrival_s < known_s:
            times.late += 1
            times.furthest_back_s = max(times.furthest_back_s, now_s - request.arrival_s)
        else:
            now_s = request.arrival_s
        clocks[clock] = now_s
        ids, block_tokens = request.block_ids, request.block_tokens
        if regroup > 1:
            ids = _merged(ids, regroup, partial=len(ids) * block_tokens > request.prompt_tokens)
            block_tokens *= regroup
        scope = request.scope
        if split > 1:
            ids, block_tokens = _split(ids, block_tokens, split, request.covered_tokens)
        usable = len(ids)
        if engine_rules:
            ids = ids[: request.prompt_tokens // block_tokens]
            usable = min(len(ids), max(0, request.prompt_tokens - 1) // block_tokens)
        if isolate_tenants:
            scope = f"{len(scope)}:{scope}:{request.tenant or ''}"
        yield Visit(
            scope,
            ids,
            block_tokens,
            request.prompt_tokens,
            now_s,
            usable,
            request.tenant,
            request.session,
            request.session_clock,
            number >= warmup_requests,
            request.output_tokens,
        )


def _merged(ids: BlockIds, size: int, *, partial: bool) -> BlockIds:
    """Blocks named by the last of those they are made of, which stands for all before it."""
    merged = ids[size - 1 :: size]
    if partial and len(ids) % size:
        merged = np.append(merged, ids[-1:])
    return merged


def _split(ids: BlockIds, block_tokens: int, parts: int, covered: int) -> tuple[BlockIds, int]:
    """Smaller blocks, as many as `covered` tokens need, and how many tokens each has."""
    if block_tokens % parts:
        raise UsageError(
            f"blocks of {block_tokens} tokens cannot be cut into {parts} equal ones; "
            "use a divisor of the block size"
        )
    small = block_tokens // parts
    spread = ids.astype(np.uint64) * _ODD  # far apart, so that names of parts do not meet
    names = (spread[:, None] + np.arange(parts, dtype=np.uint64)).reshape(-1)
    return names[: -(-covered // small)].view(np.int64), small
