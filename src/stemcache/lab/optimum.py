"""The offline optimum: what the best policy could hit, had it known the future (MIN).

Evicts the leaf whose next use is farthest (Belady, 1966). A use of a block uses everything before
it, so next uses only get farther along a prompt: among the farthest blocks one is always a leaf,
and keeping prefixes closed costs nothing. Every request is admitted whole and none of its blocks
leaves before it ends, as in an engine; a request that does not fit keeps its first blocks. With
`bypass` a request need not be admitted, which does better by a little.

All blocks of a stem have the same next use, so the simulation moves stems:

```
    path     ── stem 1 ── stem 2 ── stem 3           held  4 of 4, 6 of 6, 2 of 5
                 next 7    next 7    never                  (stem 3 was trimmed from its end)
    heap     (never, 15) stem 3 · (9, 12) other …    farthest next use first, deepest first
```

Invariants: a stem is held from its front; one behind it is held only if it is held whole; a stem
with nothing held behind it, and held itself, is in the heap under its next use.
"""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from stemcache.lab.stems import Stem, StemTree
from stemcache.lab.visit import Size, Visit

__all__ = ["Future", "optimum"]

_NEVER = 2**62
_ROOT = -1


class _Play(NamedTuple):
    """A trace in numbers: stems are counted from 0, each behind its parent."""

    parents: list[int]
    lengths: list[int]
    stops: list[int]
    paths: list[list[int]]
    """The stems of each request, root first."""
    following: list[list[int]]
    """For each of them, the next request that goes through it."""


class Future:
    """A whole trace, known before it is played: O(distinct blocks + stems on paths) memory."""

    def __init__(self) -> None:
        self._tree = StemTree()
        self._ends: list[Stem | None] = []
        self._play: _Play | None = None
        self.prompts: list[tuple[str | None, Size, int, bool]] = []
        """Of each request: tenant, size, how many blocks may be hits, whether it is scored."""

    def feed(self, visit: Visit) -> None:
        """Take the next request."""
        stems = self._tree.visit(visit.scope, visit.ids).stems
        self._ends.append(stems[-1] if stems else None)
        self.prompts.append((visit.tenant, visit.size, visit.usable_blocks, visit.scored))
        self._play = None

    def play(self) -> _Play:
        """Paths and next uses; computed once, when no stem will be split any more."""
        if self._play is None:
            self._play = self._number()
        return self._play

    def _number(self) -> _Play:
        numbers: dict[int, int] = {}
        parents: list[int] = []
        lengths: list[int] = []
        stops: list[int] = []
        for stem in self._tree:  # parents first
            numbers[id(stem)] = len(parents)
            parents.append(_ROOT if stem.parent is None else numbers[id(stem.parent)])
            lengths.append(stem.blocks)
            stops.append(stem.stop)
        paths: list[list[int]] = []
        for end in self._ends:
            path: list[int] = []
            at = _ROOT if end is None else numbers[id(end)]
            while at != _ROOT:
                path.append(at)
                at = parents[at]
            path.reverse()
            paths.append(path)
        upcoming = [_NEVER] * len(parents)
        following: list[list[int]] = [[]] * len(paths)
        for request in range(len(paths) - 1, -1, -1):
            following[request] = [upcoming[number] for number in paths[request]]
            for number in paths[request]:
                upcoming[number] = request
        return _Play(parents, lengths, stops, paths, following)


def optimum(
    future: Future, capacity_blocks: int, *, bypass: bool = False
) -> Iterator[tuple[str | None, Size, int]]:
    """Tenant, size and blocks hit of each scored request. O(stems on paths · log leaves).

    `bypass`: a request need not be admitted; its own blocks compete with those that are there.
    """
    parents, lengths, stops, paths, followings = future.play()
    held = [0] * len(parents)  # blocks of each stem, from its front
    followers = [0] * len(parents)  # stems behind it of which something is held
    next_use = [_NEVER] * len(parents)
    leaves: list[tuple[int, int, int]] = []  # (-next use, -depth, stem)
    used = 0

    def give_up(excess: int, path: Sequence[int]) -> int:
        """Trim the farthest leaves that are not on `path`, from their ends."""
        gone_in_all = 0
        while gone_in_all < excess:
            use, _, stem = heappop(leaves)
            # Stale, or on the path, whose last stem is entered anew afterwards.
            if next_use[stem] != -use or followers[stem] or not held[stem] or stem in path:
                continue
            gone = min(excess - gone_in_all, held[stem])
            held[stem] -= gone
            gone_in_all += gone
            parent = parents[stem]
            if held[stem]:
                heappush(leaves, (use, -stops[stem], stem))
            elif parent != _ROOT:
                followers[parent] -= 1
                if not followers[parent] and parent not in path:
                    heappush(leaves, (-next_use[parent], -stops[parent], parent))
        return gone_in_all

    for path, following, (tenant, size, usable, scored) in zip(
        paths, followings, future.prompts, strict=True
    ):
        hits = sum([held[stem] for stem in path])  # closed under prefix: nothing behind a gap
        if scored:
            yield tenant, size, min(hits, usable)
        for stem, use in zip(path, following, strict=True):
            next_use[stem] = use
        wanted = size.blocks if bypass else min(size.blocks, capacity_blocks)
        if not bypass:
            used -= give_up(used + wanted - hits - capacity_blocks, path)
        used += wanted - hits
        tip = _ROOT
        for stem in path:
            if not wanted:
                break
            if not held[stem] and parents[stem] != _ROOT:
                followers[parents[stem]] += 1
            held[stem] = min(lengths[stem], wanted)
            wanted -= held[stem]
            tip = stem
        if tip != _ROOT and not followers[tip]:
            heappush(leaves, (-next_use[tip], -stops[tip], tip))
        if bypass:
            used -= give_up(used - capacity_blocks, ())
