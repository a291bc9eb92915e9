"""The two traces as plans: one worker's block of 64 characters for each block of 512 tokens."""

from pathlib import Path

import numpy as np

from benchmarks.route.plans import TracePlan
from stemcache.trace.multiplex import Mix, multiplex
from stemcache.trace.open import open_trace
from stemcache.trace.record import TraceRequest

__all__ = ["BLOCK_TOKENS", "conversation", "plan_of", "sessions"]

BLOCK_TOKENS = 512


def plan_of(requests: list[TraceRequest]) -> TracePlan:
    """Ids made global, and of blocks of 512 tokens, whatever the trace's own are."""
    scopes: dict[str, int] = {}
    sessions: dict[str, int] = {}
    ids, offsets, at_s, named = [], [0], [], []
    for number, request in enumerate(requests):
        every = max(1, BLOCK_TOKENS // request.block_tokens)
        scope = scopes.setdefault(request.scope, len(scopes))
        # An id is chained, so that of every eighth block stands for all eight.
        mine = request.block_ids[every - 1 :: every].astype(np.int64) + (scope << 40)
        ids.append(mine)
        offsets.append(offsets[-1] + len(mine))
        at_s.append(request.arrival_s or 0.0)
        name = request.session or f"#{number}"
        named.append(sessions.setdefault(name, len(sessions)))
    return TracePlan(
        at_s=np.array(at_s) - min(at_s),
        offsets=np.array(offsets, dtype=np.int64),
        ids=np.concatenate(ids),
        sessions=np.array(named, dtype=np.int64),
    )


def conversation(path: Path) -> TracePlan:
    """The whole hour of a chat service."""
    with open_trace(path) as trace:
        return plan_of(list(trace))


def sessions(path: Path, *, count: int, within_s: float, cut_s: float, seed: int) -> TracePlan:
    """So many sessions of a coding agent, begun at random over a while."""
    with open_trace(path) as trace:
        mix = Mix(sessions=count, within_s=within_s, cut_s=cut_s, seed=seed)
        return plan_of(multiplex(trace, mix))
