"""Which items of two sequences correspond, in near-linear time.

```
one    a b x c d e y       anchors: items that each side has once, the longest rising row of them
other  a b c d z e         matches  a b · c d · e     (trimmed ends, anchors, what adjoins them)
```
Invariants: matches are in order on both sides, do not overlap, and join equal items only.

Cost: O(n log n) a level, eight levels at most; no input makes it quadratic. What repeats on both
sides may be matched less well than the longest common subsequence would.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Match", "align"]

_LEVELS = 8


@dataclass(frozen=True, slots=True)
class Match:
    """`count` equal items from `one` of the first sequence and from `other` of the second."""

    one: int
    other: int
    count: int


@dataclass(frozen=True, slots=True)
class _Range:
    low: int
    high: int
    other_low: int
    other_high: int
    level: int


@dataclass(frozen=True, slots=True)
class _Anchors:
    """Items that correspond. Between sure ones it is worth looking for more."""

    pairs: list[tuple[int, int]]
    sure: bool


def align(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[Match]:
    """The runs of corresponding items, in order."""
    pairs: list[tuple[int, int]] = []
    todo = [_Range(0, len(one), 0, len(other), 0)]
    while todo:
        todo += _step(one, other, todo.pop(), pairs)
    pairs.sort()
    return _runs(pairs)


def _step(
    one: Sequence[Hashable], other: Sequence[Hashable], part: _Range, pairs: list[tuple[int, int]]
) -> list[_Range]:
    """Match the ends and the anchors of a part; what is left between them to be looked at."""
    low, high, other_low, other_high = part.low, part.high, part.other_low, part.other_high
    while low < high and other_low < other_high and one[low] == other[other_low]:
        pairs.append((low, other_low))
        low, other_low = low + 1, other_low + 1
    if low == high or other_low == other_high or part.level == _LEVELS:
        return []
    anchors = None
    open_ended = high == len(one) and other_high == len(other)
    if open_ended and high - low != other_high - other_low:
        # One goes on for longer: an end that is equal may be so by chance, what stands out is not.
        anchors = _anchors(one, other, _Range(low, high, other_low, other_high, part.level))
    if anchors is None or not anchors.sure:
        while low < high and other_low < other_high and one[high - 1] == other[other_high - 1]:
            high, other_high = high - 1, other_high - 1
            pairs.append((high, other_high))
        if low == high or other_low == other_high:
            return []
        anchors = _anchors(one, other, _Range(low, high, other_low, other_high, part.level))
    pairs += anchors.pairs
    if not anchors.sure:
        return []
    edges = [(low - 1, other_low - 1), *anchors.pairs, (high, other_high)]
    return [
        _Range(left[0] + 1, right[0], left[1] + 1, right[1], part.level + 1)
        for left, right in pairwise(edges)
        if left[0] + 1 < right[0] and left[1] + 1 < right[1]
    ]


def _anchors(one: Sequence[Hashable], other: Sequence[Hashable], part: _Range) -> _Anchors:
    mine = one[part.low : part.high]
    theirs = other[part.other_low : part.other_high]
    counts, their_counts = Counter(mine), Counter(theirs)
    once = {item for item, n in counts.items() if n == 1 and their_counts.get(item) == 1}
    if once:
        where: dict[Hashable, int] = {item: i for i, item in enumerate(theirs) if item in once}
        found = [(i, where[item]) for i, item in enumerate(mine) if item in once]
    else:
        # Nothing stands out: the n-th of a kind goes with the n-th of the kind.
        their_places: dict[tuple[Hashable, int], int] = {}
        seen: Counter[Hashable] = Counter()
        for i, item in enumerate(theirs):
            their_places[item, seen[item]] = i
            seen[item] += 1
        seen.clear()
        found = []
        for i, item in enumerate(mine):
            place = their_places.get((item, seen[item]))
            seen[item] += 1
            if place is not None:
                found.append((i, place))
    pairs = [(part.low + i, part.other_low + j) for i, j in _rising(found)]
    return _Anchors(pairs, sure=bool(once))


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs, rising in the first by input, whose second rises too."""
    tops: list[int] = []
    top_at: list[int] = []
    before: list[int] = []
    for i, (_, place) in enumerate(pairs):
        at = bisect_left(tops, place)
        before.append(top_at[at - 1] if at else -1)
        if at == len(tops):
            tops.append(place)
            top_at.append(i)
        else:
            tops[at] = place
            top_at[at] = i
    chosen: list[tuple[int, int]] = []
    i = top_at[-1] if top_at else -1
    while i >= 0:
        chosen.append(pairs[i])
        i = before[i]
    chosen.reverse()
    return chosen


def _runs(pairs: list[tuple[int, int]]) -> list[Match]:
    runs: list[Match] = []
    start = 0
    for i in range(1, len(pairs) + 1):
        whole = i < len(pairs) and (
            pairs[i][0] - pairs[start][0] == i - start == pairs[i][1] - pairs[start][1]
        )
        if not whole:
            runs.append(Match(*pairs[start], i - start))
            start = i
    return runs
