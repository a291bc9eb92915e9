"""Eviction policies, one a file, each a `stemcache.core.index.Policy`.

A policy orders leaves; the index sees to it that only unpinned leaves are asked about.
"""

from collections.abc import Callable
from typing import Any

from stemcache.core.index import Policy
from stemcache.errors import UsageError, unknown_choice
from stemcache.policy.evict.cost import Cost
from stemcache.policy.evict.fifo import Fifo
from stemcache.policy.evict.lfu import Lfu
from stemcache.policy.evict.lru import Lru
from stemcache.policy.evict.odds import Odds
from stemcache.policy.evict.priority import Priority
from stemcache.policy.evict.slru import Slru

__all__ = ["NAMES", "Cost", "Fifo", "Lfu", "Lru", "Odds", "Priority", "Slru", "make"]

# A policy's state is its own business: whoever holds one by name cannot name the type.
_POLICIES: dict[str, Callable[[], Policy[Any]]] = {
    "cost": Cost,
    "fifo": Fifo,
    "lfu": Lfu,
    "lru": Lru,
    "odds": Odds,
    "priority": Priority,
    "slru": Slru,
}

NAMES = tuple(_POLICIES)
"""What `--eviction` takes."""


def make(name: str, *, source: str = "--eviction", block_tokens: int = 16) -> Policy[Any]:
    """A new policy by name; `source` says in the error where the name came from.

    `block_tokens`: tokens a block, for the policy that weighs depth.
    """
    if name not in _POLICIES:
        raise UsageError(unknown_choice("policy", name, source, NAMES))
    return Cost(block_tokens=block_tokens) if name == Cost.name else _POLICIES[name]()
