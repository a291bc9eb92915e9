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

Cost: equal ends, and long equal runs between them, at the speed of comparing memory; what is left,
near-linear in lines, then in words of the first 64 places, and none of those that are too long.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stemcache.trace.divergence.align import align

__all__ = ["Hunk", "common_prefix", "common_suffix", "hunks_of"]

_CHUNK = 2**16
_WORDS_CHARS = 2**15
"""A longer stretch without equal lines in it is one hunk: words of two such are not worth it."""
_WORDED_HUNKS = 64
"""Words are looked at in the first so many."""
_PROBED_CHARS = 2**13
"""Shorter stretches are looked at by lines and words only."""
_MOST_PROBES = 48
_PARTS = (0.5, 0.25, 0.75, 0.125)
_PROBE_CHARS = 64
_RUN_CHARS = 1_024
"""Shorter runs are left to lines and words."""
_NEAR_CHARS = 24
"""So few equal characters between two hunks make them one."""
_FAR_CHARS = 128
"""So many never do."""
_WORD = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")


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


def common_suffix(
    one: str, other: str, most: int, end: int | None = None, other_end: int | None = None
) -> int:
    """How many characters both have in common before those places, `most` at the most."""
    end = len(one) if end is None else end
    other_end = len(other) if other_end is None else other_end
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
        hunk for large in _probed(old, new, whole) for hunk in _cut(old, new, large, lines=True)
    ]
    found = _joined(found)
    first, rest = found[:_WORDED_HUNKS], found[_WORDED_HUNKS:]
    first = [small for large in first for small in _cut(old, new, large, lines=False)]
    return _joined(first + rest)


def _probed(old: str, new: str, whole: Hunk) -> list[Hunk]:
    """What is left of a long hunk without the long runs that both sides have in it.

    Looks for a few short pieces of the old text in the new one and goes on from there: what it
    costs hangs on the number of edits, not on how a text is divided into lines.
    """
    left: list[Hunk] = []
    todo = [whole]
    probes = _MOST_PROBES
    while todo:
        hunk = todo.pop()
        size = hunk.old_high - hunk.old_low
        run = None
        if min(size, hunk.new_high - hunk.new_low) >= _PROBED_CHARS:
            for part in _PARTS:
                if probes <= 0 or run is not None:
                    break
                probes -= 1
                run = _run_at(old, new, hunk, hunk.old_low + int(size * part))
        if run is None:
            left.append(hunk)
        else:
            # The run is taken out; what is before it is looked at first.
            todo.append(Hunk(run.old_high, hunk.old_high, run.new_high, hunk.new_high))
            todo.append(Hunk(hunk.old_low, run.old_low, hunk.new_low, run.new_low))
    return [hunk for hunk in left if _chars(hunk)]


def _run_at(old: str, new: str, hunk: Hunk, at: int) -> Hunk | None:
    """The run around that place of the old text which the new one has too, if it is long."""
    piece = old[at : min(at + _PROBE_CHARS, hunk.old_high)]
    found = new.find(piece, hunk.new_low, hunk.new_high)
    if found < 0 or new.find(piece, found + 1, hunk.new_high) >= 0:
        return None
    before = common_suffix(
        old, new, min(at - hunk.old_low, found - hunk.new_low), end=at, other_end=found
    )
    most = min(hunk.old_high - at, hunk.new_high - found)
    behind = min(most, common_prefix(old, new, at, found))
    if before + behind < _RUN_CHARS:
        return None
    return Hunk(at - before, at + behind, found - before, found + behind)


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
