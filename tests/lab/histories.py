"""Random traces of prompts that share beginnings, and caches too simple to be wrong."""

from collections.abc import Sequence
from random import Random

import numpy as np

from stemcache.lab.visit import Visit

BLOCK_TOKENS = 4


def visit(
    blocks: Sequence[int],
    now_s: float = 0.0,
    *,
    scope: str = "",
    short: int = 0,
    usable: int | None = None,
    tenant: str | None = None,
    session: str | None = None,
) -> Visit:
    """A prompt; `short` tokens are missing from its last block."""
    return Visit(
        scope,
        np.array(blocks, np.int64),
        BLOCK_TOKENS,
        len(blocks) * BLOCK_TOKENS - short,
        now_s,
        len(blocks) if usable is None else usable,
        tenant,
        session,
    )


def chained(path: Sequence[int]) -> list[int]:
    """Ids that say what came before: a prefix's own number."""
    return [hash(tuple(path[: depth + 1])) for depth in range(len(path))]


def random_trace(
    random: Random, requests: int, *, deepest: int = 6, fan: int = 2, scopes: int = 1
) -> list[Visit]:
    """Prompts from a small tree, so that they share, fork, end inside each other and repeat."""
    now_s = 0.0
    trace = []
    for _ in range(requests):
        now_s += random.choice([0.0, 1.0, 2.0, 5.0])
        path = [random.randrange(fan) for _ in range(random.randrange(deepest + 1))]
        trace.append(
            visit(
                chained(path),
                now_s,
                scope=str(random.randrange(scopes)),
                short=random.randrange(BLOCK_TOKENS) if path else 0,
                tenant=random.choice(["ann", "bob"]),
            )
        )
    return trace


def keys(each: Visit) -> list[tuple[str, int]]:
    """Its blocks by name."""
    return [(each.scope, block) for block in each.ids.tolist()]


class PlainLru:
    """LRU over blocks: of those not in the request, the one of oldest use goes, deepest first."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.used: dict[tuple[str, int], tuple[int, int]] = {}
        self.requests = 0

    def feed(self, each: Visit) -> int:
        self.requests += 1
        blocks = keys(each)
        hits = 0
        while hits < len(blocks) and blocks[hits] in self.used:
            hits += 1
        kept = blocks[: self.capacity]
        for depth, block in enumerate(kept):
            self.used[block] = (self.requests, -depth)
        while len(self.used) > self.capacity:
            del self.used[min(self.used, key=lambda block: self.used[block])]
        return hits


def plain_optimum(trace: Sequence[Visit], capacity: int) -> int:
    """Most block hits that any order of evictions gives, by trying all; tiny traces only."""
    seen: dict[tuple[int, frozenset[tuple[str, int]]], int] = {}

    def best(at: int, cached: frozenset[tuple[str, int]]) -> int:
        if at == len(trace):
            return 0
        state = (at, cached)
        if state in seen:
            return seen[state]
        blocks = keys(trace[at])
        hits = 0
        while hits < len(blocks) and blocks[hits] in cached:
            hits += 1
        kept = frozenset(blocks[:capacity])
        others = cached - kept
        excess = max(0, len(kept) + len(others) - capacity)
        most = max(
            best(at + 1, kept | rest) for rest in _closed(others, len(others) - excess, trace)
        )
        seen[state] = most + hits
        return seen[state]

    return best(0, frozenset())


def _closed(
    blocks: frozenset[tuple[str, int]], size: int, trace: Sequence[Visit]
) -> list[frozenset[tuple[str, int]]]:
    """What `size` blocks can be left when leaves go one by one."""
    left = {blocks}
    above = {
        key: parent
        for each in trace
        for parent, key in zip([None, *keys(each)], keys(each), strict=False)
    }
    while left and len(next(iter(left))) > size:
        left = {some - {leaf} for some in left for leaf in some - {above[key] for key in some}}
    return list(left)
