"""What each marker of a request found of what an earlier request left.

```
block     12   13   14   15   16  …  35          looks back over 20 blocks: 35 to 16
left by   ▲                                      the nearest entry is 12: too far
A marker of B                         ▲
```
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from stemcache.lint.explain.explanation import Marked
from stemcache.lint.judged import Judged
from stemcache.lint.placement import marked
from stemcache.provider.cache.cuts import held, reach, wanted

__all__ = ["furthest_found", "markers_of"]

_MOST_SHOWN = 12
"""More than any API takes; what more there are is not looked at."""


def markers_of(old: Judged, new: Judged, *, first_change: str | None) -> tuple[Marked, ...]:
    """All markers of a request under a rule of markers. O(markers · positions)."""
    if new.rule.kind != "markers":
        return ()
    shape = new.shape
    bare = [replace(place, mark=None) for place in shape.positions]
    equal = _left(old, new, wanted(old.rule, old.shape).positions)
    left = _left(old, new, held(old.rule, old.shape).positions)
    found: list[Marked] = []
    for at in marked(shape)[:_MOST_SHOWN]:
        place = shape.positions[at]
        mark = place.mark or shape.automatic
        alone = [*bare]
        alone[at] = replace(place, mark=mark)
        seen = set(
            reach(new.rule, replace(shape, positions=tuple(alone), automatic=None)).positions
        )
        hits = [index for index in left if index in seen]
        note = ""
        if not hits:
            note = _why(new, at, left, equal=equal, seen=seen, first_change=first_change)
        found.append(
            Marked(
                pointer=new.prompt.spans[at].pointer,
                ttl=None if mark is None else mark.ttl,
                tokens=place.end_tokens,
                found=new.prompt.spans[hits[-1]].pointer if hits else None,
                found_tokens=shape.positions[hits[-1]].end_tokens if hits else 0,
                note=note,
            )
        )
    return tuple(found)


def furthest_found(old: Judged, new: Judged) -> str | None:
    """Pointer of the last block at whose end the request finds something, for caches with cuts."""
    seen = reach(new.rule, new.shape)
    if seen.everywhere:
        return None
    left = set(_left(old, new, held(old.rule, old.shape).positions))
    hits = [index for index in seen.positions if index in left]
    return new.prompt.spans[hits[-1]].pointer if hits else None


def _left(old: Judged, new: Judged, positions: Sequence[int]) -> list[int]:
    """The new request's positions at which the old one left something, ascending."""
    chains = {old.shape.positions[index].chain for index in positions}
    return [i for i, place in enumerate(new.shape.positions) if place.chain in chains]


def _why(
    new: Judged,
    at: int,
    left: Sequence[int],
    *,
    equal: Sequence[int],
    seen: set[int],
    first_change: str | None,
) -> str:
    nearest = bisect_right(left, at) - 1
    if nearest >= 0 and left[nearest] not in seen:
        there = new.prompt.spans[left[nearest]].pointer
        return f"the nearest entry is {at - left[nearest]} blocks back, at {there}"
    short = [index for index in equal if index in seen and index not in left]
    if short:
        tokens = new.shape.positions[short[-1]].end_tokens
        return f"{tokens:,} tokens up to there are below the minimum, so that A left nothing"
    if first_change is not None:
        return f"what A left holds {first_change} as it was"
    return "A left nothing before it"
