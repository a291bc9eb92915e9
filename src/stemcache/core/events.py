"""What an index tells its listeners when its content changes.

A listener that applies every event in order holds the same set of keys as the index.
Events are facts about publication: `Stored` when blocks enter, `Removed` when they leave, on
whatever path. Delivering them to other processes is not this module's business.
"""

from collections.abc import Callable
from dataclasses import dataclass

from stemcache.core.hashing import BlockKey
from stemcache.core.tokens import Chain

__all__ = ["Event", "Listener", "Removed", "Stored", "stored_event"]


@dataclass(frozen=True, slots=True)
class Stored:
    """Consecutive blocks of one chain entered the index."""

    keys: tuple[BlockKey, ...]
    parent: BlockKey | None
    """Key of the block before the first one; None when that is the start of a chain."""
    tokens: bytes
    """The blocks' tokens, little-endian uint32, `len(keys) * block_size` of them."""
    block_size: int
    extras: tuple[bytes | None, ...]
    """One per block."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Blocks left the index, in this order (a block never before one that follows it)."""

    keys: tuple[BlockKey, ...]


Event = Stored | Removed
"""Anything an index can tell."""

Listener = Callable[[Event], None]
"""Called synchronously, after the index has changed. It must not call the index."""


def stored_event(chain: Chain, start: int, stop: int) -> Stored:
    """The event for the blocks [start, stop) of a chain. Computes their keys. O(stop - start)."""
    keys = chain.keys(stop)
    return Stored(
        keys=tuple(keys[start:stop]),
        parent=keys[start - 1] if start else None,
        tokens=chain.view(start, stop).astype("<u4", copy=False).tobytes(),
        block_size=chain.block_size,
        extras=tuple(chain.extra(block) for block in range(start, stop)),
    )
