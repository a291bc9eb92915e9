"""One pass over a trace: the ideal, LRU at every capacity, times to live, times between uses.

For each block that was seen before, the pass knows how many other blocks were used since (its
stack distance) and how long ago that was (its age). Everything here follows from the two.

Where `known` stems of a prompt were last used by request q, q was the last to use a suffix of its
own path, so the distance of the block at depth d is

    blocks last used after q  +  d - first depth that q still is the last user of  +  1

which costs one look-up for each earlier request, not for each block.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stemcache.lab.curve import LruCurve
from stemcache.lab.recency import Recency
from stemcache.lab.stems import Stem, StemTree
from stemcache.lab.visit import Tally, Visit

__all__ = ["AGE_EDGES_S", "Cell", "Survey"]

AGE_EDGES_S = (
    *(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200),
    *(4 * 3600, 8 * 3600, 86_400, 7 * 86_400),
)
"""Upper edges of the histogram of times between uses, seconds; one bin more has no end."""


@dataclass(slots=True)
class Cell:
    """An LRU cache of one capacity and one time to live."""

    capacity_blocks: int | None
    ttl_s: float | None
    refresh: bool = True
    """A hit renews; else the time counts from when a block was computed."""
    keep_alive: int = 0
    """Requests sent, after the last real one, only to renew the time to live."""
    tally: Tally = field(default_factory=Tally)
    tenants: dict[str, Tally] = field(default_factory=dict)
    pings: int = 0
    pinged_tokens: int = 0
    lives_s: float = field(init=False)
    """How long after its last use a block is still there, seconds."""

    def __post_init__(self) -> None:
        self.lives_s = float("inf") if self.ttl_s is None else self.ttl_s * (1 + self.keep_alive)


class _End(NamedTuple):
    """A prompt whose keep-alive nobody has taken over yet."""

    at_s: float
    tokens: int
    full_blocks: int
    """A partial last block is another block once the prompt goes on."""


class _Cache:
    """What a pass knows of one cache that never evicts."""

    def __init__(self) -> None:
        self.tree = StemTree()
        self.recency = Recency()
        self.lengths: list[int] = []
        self.ends: list[_End | None] = []


class Survey:
    """The pass. `alone` gives each session a cache of its own."""

    def __init__(self, cells: Sequence[Cell] = (), *, alone: bool = False) -> None:
        for cell in cells:
            assert cell.capacity_blocks is None or (cell.refresh and not cell.keep_alive), (
                "lives from the write and keep-alive have no bound"
            )
        self.cells = list(cells)
        self._from_write = [cell for cell in cells if not cell.refresh]
        self._renewed = [cell for cell in cells if cell.refresh]
        self._kept = [cell for cell in cells if cell.keep_alive and cell.ttl_s is not None]
        self._alone = alone
        self._caches: dict[str | None, _Cache] = {}
        self._now_s = 0.0
        self.curve = LruCurve()
        self.tenant_curves: dict[str, LruCurve] = {}
        """Where tenants are named."""
        self.ideal = Tally()
        self.tenants: dict[str, Tally] = {}
        self.age_blocks = [0] * (len(AGE_EDGES_S) + 1)

    @property
    def trees(self) -> list[StemTree]:
        """One, or one a session."""
        return [cache.tree for cache in self._caches.values()]

    @property
    def distinct_blocks(self) -> int:
        """How many different blocks the trace has."""
        return sum(tree.blocks for tree in self.trees)

    def feed(self, visit: Visit) -> None:
        """Take the next request."""
        cache = self._caches.setdefault(visit.session if self._alone else None, _Cache())
        path = cache.tree.visit(visit.scope, visit.ids)
        known = path.stems[: path.known]
        curves = [self.curve] if visit.scored else []
        if visit.scored and visit.tenant is not None:
            curves.append(self.tenant_curves.setdefault(visit.tenant, LruCurve()))
        runs = self._runs(cache, known, visit, curves)
        hits = min(path.known_blocks, visit.usable_blocks)
        size = visit.size
        if visit.scored:
            self.ideal.add(size, hits)
            _of(self.tenants, visit).add(size, hits)
        excess = hits * visit.block_tokens - visit.prompt_tokens
        if curves and hits and excess > 0:
            first, blocks, _ = runs[-1]
            for curve in curves:
                curve.shorten(first + blocks - 1, excess)
        for cell in self._renewed if visit.scored else ():
            found = _found(runs, cell)
            cell.tally.add(size, found)
            _of(cell.tenants, visit).add(size, found)
        if self._kept:
            self._pass_on(cache, known, visit)
        if self._from_write:
            self._live_from_write(path.stems, path.known, visit)
        request = len(cache.lengths)
        for stem in path.stems:
            stem.last_request, stem.last_s = request, visit.now_s
            stem.uses += 1
        cache.lengths.append(len(visit.ids))
        cache.recency.append(len(visit.ids))
        self._now_s = visit.now_s

    def finish(self) -> None:
        """Count the keep-alive requests of prompts that nobody took up again.

        Up to the end of the trace, whose prompts may still come back; all of them where the trace
        holds whole sessions.
        """
        until_s = float("inf") if self._alone else self._now_s
        for cache in self._caches.values():
            for at, end in enumerate(cache.ends):
                if end is not None:
                    self._ping(end, until_s)
                    cache.ends[at] = None

    def _runs(
        self, cache: _Cache, known: Sequence[Stem], visit: Visit, curves: Sequence[LruCurve]
    ) -> list[tuple[int, int, float]]:
        """(distance of the first, blocks, age) of each known stem, as far as it may be a hit."""
        runs: list[tuple[int, int, float]] = []
        user, offset, moved = -1, 0, 0
        recency = cache.recency
        ages, edges = self.age_blocks, AGE_EDGES_S
        used: list[tuple[int, int]] = []
        for stem in known:
            if stem.last_request != user:
                if moved:
                    used.append((user, moved))
                user, moved = stem.last_request, 0
                first_held = cache.lengths[user] - recency.held(user)
                offset = recency.newer_than(user) - first_held + 1
            moved += len(stem.ids)
            blocks = min(len(stem.ids), visit.usable_blocks - stem.start)
            if blocks > 0 and visit.scored:
                age_s = visit.now_s - stem.last_s
                for curve in curves:
                    curve.add(offset + stem.start, blocks)
                runs.append((offset + stem.start, blocks, age_s))
                ages[bisect_left(edges, age_s)] += blocks
        if moved:
            used.append((user, moved))
        for request, blocks in used:
            recency.move(request, -blocks)
        return runs

    def _pass_on(self, cache: _Cache, known: Sequence[Stem], visit: Visit) -> None:
        """Prompts that this one continues need no keep-alive any more; this one does."""
        reached = {stem.last_request: stem.stop for stem in known}
        for request, stop in reached.items():
            end = cache.ends[request]
            if end is not None and stop >= end.full_blocks:
                self._ping(end, visit.now_s)
                cache.ends[request] = None
        full = min(len(visit.ids), visit.prompt_tokens // visit.block_tokens)
        kept = full and visit.scored
        cache.ends.append(_End(visit.now_s, visit.prompt_tokens, full) if kept else None)

    def _ping(self, end: _End, until_s: float) -> None:
        for cell in self._kept:
            assert cell.ttl_s is not None, "nothing to renew where nothing ends"
            pings = int(min(cell.keep_alive, (until_s - end.at_s) // cell.ttl_s))
            cell.pings += pings
            cell.pinged_tokens += pings * end.tokens

    def _live_from_write(self, stems: Sequence[Stem], known: int, visit: Visit) -> None:
        size = visit.size
        for number, cell in enumerate(self._from_write):
            found = 0
            for stem in stems[:known]:
                assert stem.written_s is not None, "a known stem was written"
                if visit.now_s - stem.written_s[number] > cell.lives_s:
                    break
                found = stem.stop
            for stem in stems:
                if stem.written_s is None:
                    stem.written_s = [visit.now_s] * len(self._from_write)
                elif stem.stop > found:
                    stem.written_s[number] = visit.now_s
            if not visit.scored:
                continue
            found = min(found, visit.usable_blocks)
            cell.tally.add(size, found)
            _of(cell.tenants, visit).add(size, found)


def _of(tenants: dict[str, Tally], visit: Visit) -> Tally:
    return tenants.setdefault(visit.tenant or "", Tally())


def _found(runs: Sequence[tuple[int, int, float]], cell: Cell) -> int:
    """Blocks that a cell still has: ages and distances rise along a prompt."""
    found = 0
    for first, blocks, age_s in runs:
        if age_s > cell.lives_s:
            break
        if cell.capacity_blocks is None or first + blocks - 1 <= cell.capacity_blocks:
            found += blocks
        else:
            return found + max(0, cell.capacity_blocks - first + 1)
    return found
