"""Where two texts differ: several places where the edits are apart, one where they are near.

```
old   "It is 10:31. Branch main, 3 files …400 kB… bye"
new   "It is 10:32. Branch main, 9 files …400 kB… bye"
               ▲                  ▲
      hunk 0  "1" ► "2"   hunk 1  "3" ► "9"      what is equal between them is shared
```
Invariants: hunks are in order and do not overlap on either side; outside of them both texts are
equal; each begins and ends with a difference. Two hunks with little between them are one: a few
letters that agree by chance are not shared text.

Cost: equal ends at the speed of comparing memory; between them, near-linear in lines, then in words
as far as `_WORDS_CHARS`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stemcache.trace.divergence.align import align

__all__ = ["Hunk", "common_prefix", "common_suffix", "hunks_of"]

_CHUNK = 2**16
_WORDS_CHARS = 2**17
"""A longer stretch without equal lines in it is one hunk: words of two such are not worth it."""
_MOST_HUNKS = 256
_NEAR_CHARS = 24
"""So few equal characters between two hunks make them one."""
_FAR_CHARS = 128
"""So many never do."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Characters `[low, high)` of the old text stand where the new one has its own."""

    old_low: int
    old_high: int
    new_low: int
    new_high: int


def common_prefix(one: str, other: str, start: int = 0, other_start: int = 0) -> int:
    """How many characters both have in common from there on."""
    most = min(len(one) - start, len(other) - other_start)
    done = 0
    while done < most:
        step = min(_CHUNK, most - done)
        at, other_at = start + done, other_start + done
        if one[at : at + step] != other[other_at : other_at + step]:
            break
        done += step
    else:
        return most
    low, high = 0, min(_CHUNK, most - done)  # equal to low, different before high
    while high - low > 1:
        middle = (low + high) // 2
        at, other_at = start + done, other_start + done
        if one[at + low : at + middle] == other[other_at + low : other_at + middle]:
            low = middle
        else:
            high = middle
    return done + low


def common_suffix(one: str, other: str, most: int) -> int:
    """How many characters both have in common before their ends, `most` at the most."""
    end, other_end = len(one), len(other)
    done = 0
    while done < most:
        step = min(_CHUNK, most - done)
        if one[end - done - step : end - done] != other[other_end - done - step : other_end - done]:
            break
        done += step
    else:
        return most
    low, high = 0, min(_CHUNK, most - done)
    end, other_end = end - done, other_end - done
    while high - low > 1:
        middle = (low + high) // 2
        if one[end - middle : end - low] == other[other_end - middle : other_end - low]:
            low = middle
        else:
            high = middle
    return done + low


def hunks_of(old: str, new: str) -> list[Hunk]:
    """The places where they differ, none where they are equal."""
    if old == new:
        return []
    front = common_prefix(old, new)
    back = common_suffix(old, new, min(len(old), len(new)) - front)
    whole = Hunk(front, len(old) - back, front, len(new) - back)
    found = [
        small
        for large in _cut(old, new, whole, lines=True)
        for small in _cut(old, new, large, lines=False)
    ]
    return _bounded(_joined(found))


def _cut(old: str, new: str, hunk: Hunk, *, lines: bool) -> Iterator[Hunk]:
    """The hunk, or the smaller ones that are left when equal lines (or words) are taken out."""
    mine, theirs = old[hunk.old_low : hunk.old_high], new[hunk.new_low : hunk.new_high]
    if not mine or not theirs or (not lines and max(len(mine), len(theirs)) > _WORDS_CHARS):
        yield hunk
        return
    mine_pieces = mine.splitlines(keepends=True) if lines else _WORD.findall(mine)
    their_pieces = theirs.splitlines(keepends=True) if lines else _WORD.findall(theirs)
    if len(mine_pieces) == 1 and len(their_pieces) == 1:
        yield hunk
        return
    mine_starts = _starts(mine_pieces, hunk.old_low)
    their_starts = _starts(their_pieces, hunk.new_low)
    at, other_at = 0, 0
    for match in align(mine_pieces, their_pieces):
        if at < match.one or other_at < match.other:
            yield _trimmed(
                old,
                new,
                Hunk(
                    mine_starts[at],
                    mine_starts[match.one],
                    their_starts[other_at],
                    their_starts[match.other],
                ),
            )
        at, other_at = match.one + match.count, match.other + match.count
    if at < len(mine_pieces) or other_at < len(their_pieces):
        rest = Hunk(mine_starts[at], hunk.old_high, their_starts[other_at], hunk.new_high)
        yield _trimmed(old, new, rest)


def _starts(pieces: list[str], start: int) -> list[int]:
    starts = [start]
    for piece in pieces:
        start += len(piece)
        starts.append(start)
    return starts


def _trimmed(old: str, new: str, hunk: Hunk) -> Hunk:
    mine, theirs = old[hunk.old_low : hunk.old_high], new[hunk.new_low : hunk.new_high]
    front = common_prefix(mine, theirs)
    back = common_suffix(mine, theirs, min(len(mine), len(theirs)) - front)
    return Hunk(
        hunk.old_low + front, hunk.old_high - back, hunk.new_low + front, hunk.new_high - back
    )


def _joined(hunks: list[Hunk]) -> list[Hunk]:
    joined: list[Hunk] = []
    for hunk in hunks:
        while joined and _near(joined[-1], hunk):
            last = joined.pop()
            hunk = Hunk(last.old_low, hunk.old_high, last.new_low, hunk.new_high)  # noqa: PLW2901
        joined.append(hunk)
    return joined


def _near(left: Hunk, right: Hunk) -> bool:
    between = right.new_low - left.new_high
    return between < _NEAR_CHARS or (
        between < _FAR_CHARS and between <= min(_chars(left), _chars(right))
    )


def _chars(hunk: Hunk) -> int:
    return max(hunk.old_high - hunk.old_low, hunk.new_high - hunk.new_low)


def _bounded(hunks: list[Hunk]) -> list[Hunk]:
    if len(hunks) <= _MOST_HUNKS:
        return hunks
    first, last = hunks[_MOST_HUNKS - 1], hunks[-1]
    rest = Hunk(first.old_low, last.old_high, first.new_low, last.new_high)
    return [*hunks[: _MOST_HUNKS - 1], rest]
