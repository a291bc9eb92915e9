"""How much a seat may have in flight before its keys overflow to the next in their order.

```
  bound = 1.25 x mean in flight x its share of the weight + 2
```
Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam, 2018). The two spare
requests let a key keep its seat where there is little traffic: with a mean below one, a factor
alone would call every busy seat full.
"""

from collections.abc import Sequence

from stemcache.policy.route.contract import View

__all__ = ["FACTOR", "SPARE", "first_with_room"]

FACTOR = 1.25
SPARE = 2


def first_with_room(order: Sequence[int], views: Sequence[View]) -> int:
    """The first of the order that one request more would not overload; else the first. O(n)."""
    in_flight = sum(view.in_flight for view in views)
    per_weight = FACTOR * (in_flight + 1) / sum(view.weight for view in views)
    for seat in order:
        view = views[seat]
        if view.in_flight + 1 <= per_weight * view.weight + SPARE:
            return seat
    return order[0]
