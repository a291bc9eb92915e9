"""What a request leaves in the cache: at its marks, and where the provider keeps by itself.

```
pieces              static  static │ session │ history  history │ turn
markers, objects            ▲                           ▲                at the marks
breakpoints                 ▲                                        ▲   and at the latest ending
units, persisted            ●          ●                     ●           nobody marks; see below
```
"""

from math import inf

from stemcache.prompt.marks.breakpoints import endings
from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.marks.why import ends_of_stabilities
from stemcache.prompt.piece import Laid
from stemcache.provider.rule import Rule

__all__ = ["written_by"]


def written_by(laid: Laid, placement: Placement, rule: Rule) -> dict[int, float]:
    """Boundaries that a request has kept when it is answered, with their lifetimes in seconds.

    At its marks, and where the provider marks by itself; where prefixes are kept without marks,
    behind each stability, since nobody can tell where the next prompt will part from this one.
    """
    lasts_s = {one.name: one.low_s for one in rule.ttls}
    default_s = rule.ttls[0].low_s if rule.ttls else inf
    boundaries: dict[int, str | None] = {}
    match rule.kind:
        case "breakpoints" if placement.implicit:
            boundaries = dict.fromkeys(endings(laid)[-1:])
        case "units" | "persisted-units":
            boundaries = dict.fromkeys(ends_of_stabilities(laid))
        case _:
            pass
    boundaries.update((mark.boundary, mark.ttl) for mark in placement.marks)
    return {
        boundary: default_s if ttl is None else lasts_s.get(ttl, default_s)
        for boundary, ttl in boundaries.items()
    }
