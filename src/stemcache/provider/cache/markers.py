"""Caches written at the caller's markers and read by looking back from them.

```
block      …  14   15   16   17  …  34   35
entry          ▲ written by the request before         look-back of 20: blocks 35 to 16
marker              ·                     ▲            block 15 is one position too far
```
Anthropic, Bedrock, Vertex, Qwen explicit, MiniMax explicit. Only markers write; a look-back finds
what was written, not what is stable. Each marker starts a look-back of its own. Where runs
collapse, neighbouring `tool_use` blocks are one position, and so are `tool_result` blocks; an entry
at any block of a run is found together with the run. A look-back of None has no end.

Too many markers: the API refuses (Anthropic) or the last ones count (Qwen); the last ones do here.
"""

from stemcache.provider.cache.cut import Cuts
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape

__all__ = ["held", "marked", "reach"]


def marked(rule: Rule, shape: Shape) -> list[int]:
    """Positions with a marker that counts, the automatic one at the end among them."""
    positions = [index for index, place in enumerate(shape.positions) if place.mark is not None]
    last = len(shape.positions) - 1
    if shape.automatic is not None and last >= 0 and (not positions or positions[-1] != last):
        positions.append(last)
    if rule.most_markers is not None:
        positions = positions[max(len(positions) - rule.most_markers, 0) :]
    return positions


def held(rule: Rule, shape: Shape) -> Cuts:
    """Where entries are written, the minimum left out of account."""
    return Cuts(everywhere=False, positions=tuple(marked(rule, shape)))


def reach(rule: Rule, shape: Shape) -> Cuts:
    """Where entries are found: costs O(positions) in all, since look-backs that meet are one."""
    found: set[int] = set()
    for start in marked(rule, shape):
        index, left = start, rule.look_back
        while index >= 0:
            found.add(index)
            index -= 1
            if left is None or (index >= 0 and _same_run(rule, shape, index)):
                continue
            left -= 1
            if left <= 0:
                break
    return Cuts(everywhere=False, positions=tuple(sorted(found)))


def _same_run(rule: Rule, shape: Shape, index: int) -> bool:
    """Whether a position counts together with the one behind it."""
    run = shape.positions[index].run
    return rule.runs_collapse and run is not None and run == shape.positions[index + 1].run
