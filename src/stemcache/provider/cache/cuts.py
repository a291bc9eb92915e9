"""What a request leaves and what it finds, for every family of caches.

```
held(rule, shape)    cuts at which the request leaves an entry
reach(rule, shape)   cuts at which it finds one, if somebody left it there
```
Both are of the request's own positions and cost O(positions). Neither knows what was sent before:
that is for `simulate`.
"""

from typing import assert_never

from stemcache.provider.cache import breakpoints, markers, objects, persisted, units
from stemcache.provider.cache.cut import NOWHERE, Cuts
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape

__all__ = ["Cuts", "held", "reach", "tokens_at", "wanted"]


def wanted(rule: Rule, shape: Shape) -> Cuts:
    """Where the request would leave entries if there were no minimum."""
    match rule.kind:
        case "markers":
            return markers.held(rule, shape)
        case "breakpoints":
            return breakpoints.held(rule, shape)
        case "units":
            return units.held(rule, shape)
        case "persisted-units":
            return persisted.held(rule, shape)
        case "objects":
            return objects.held(rule, shape)
        case "usage-only":
            return NOWHERE
        case _:
            assert_never(rule.kind)


def held(rule: Rule, shape: Shape) -> Cuts:
    """Where the request leaves entries: a cut below the minimum is not kept."""
    cuts = wanted(rule, shape)
    minimum = rule.minimum_tokens.likely
    if cuts.everywhere:
        return cuts if shape.tokens >= minimum else NOWHERE
    kept = tuple(index for index in cuts.positions if tokens_at(shape, index) >= minimum)
    return Cuts(everywhere=False, positions=kept)


def reach(rule: Rule, shape: Shape) -> Cuts:
    """Where the request finds entries."""
    match rule.kind:
        case "markers":
            return markers.reach(rule, shape)
        case "breakpoints":
            return breakpoints.reach(rule, shape)
        case "units":
            return units.reach(rule, shape)
        case "persisted-units":
            return persisted.reach(rule, shape)
        case "objects":
            return objects.reach(rule, shape)
        case "usage-only":
            return NOWHERE
        case _:
            assert_never(rule.kind)


def tokens_at(shape: Shape, cut: int) -> int:
    """Tokens before the end of a position."""
    return shape.positions[cut].end_tokens
