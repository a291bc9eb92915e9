"""What a request leaves and what it finds, for every family of caches.

```
held(rule, shape)    cuts at which the request leaves an entry
reach(rule, shape)   cuts at which it finds one, if somebody left it there
```
Both are of the request's own positions and cost O(positions). Neither knows what was sent before:
that is for `simulate`.
"""

from collections.abc import Mapping
from typing import Protocol

from stemcache.provider.cache import breakpoints, markers, objects, persisted, units
from stemcache.provider.cache.cut import NOWHERE, Cuts
from stemcache.provider.rule import Kind, Rule
from stemcache.provider.shape import Shape

__all__ = ["Cuts", "held", "reach", "tokens_at", "wanted"]


class _Family(Protocol):
    def held(self, rule: Rule, shape: Shape, /) -> Cuts: ...
    def reach(self, rule: Rule, shape: Shape, /) -> Cuts: ...


_FAMILIES: Mapping[Kind, _Family | None] = {
    "markers": markers,
    "breakpoints": breakpoints,
    "units": units,
    "persisted-units": persisted,
    "objects": objects,
    "usage-only": None,
}


def wanted(rule: Rule, shape: Shape) -> Cuts:
    """Where the request would leave entries if there were no minimum."""
    family = _FAMILIES[rule.kind]
    return NOWHERE if family is None else family.held(rule, shape)


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
    family = _FAMILIES[rule.kind]
    return NOWHERE if family is None else family.reach(rule, shape)


def tokens_at(shape: Shape, cut: int) -> int:
    """Tokens before the end of a position."""
    return shape.positions[cut].end_tokens
