"""What a request writes, by lifetime.

```
read ────────┤
kept                    │ 1h     │ 5m
written      ├─── 1h ───┼── 5m ──┤   each stretch has the lifetime of the cut that ends it
```
"""

from stemcache.provider.cache.clock import ttl_number, ttl_of
from stemcache.provider.cache.cut import Cuts, counted
from stemcache.provider.cache.cuts import tokens_at
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape

__all__ = ["written"]


def written(rule: Rule, shape: Shape, kept: Cuts, read: int) -> tuple[tuple[str, int], ...]:
    """Names of lifetimes with the tokens that are written for each, behind what was read."""
    by_name: dict[str, int] = {}
    done = read
    ends = (
        [(counted(rule, shape.tokens), None)]
        if kept.everywhere
        else [(tokens_at(shape, cut), shape.positions[cut].mark) for cut in kept.positions]
    )
    for tokens, mark in ends:
        if tokens > done:
            ttl = ttl_of(rule, ttl_number(rule, mark or shape.automatic))
            name = ttl.name if ttl is not None else ""
            by_name[name] = by_name.get(name, 0) + tokens - done
            done = tokens
    return tuple(by_name.items())
