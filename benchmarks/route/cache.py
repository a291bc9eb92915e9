"""What a fake worker's cache holds: chained blocks of text, least recently used out first.

```
text    0         64        128       ...
        └ k0 ──────┴ k1 ─────┴ k2       a key stands for its block and all before it
```
A prompt touches its last block first and its first block last, so that what goes first is always
the end of a chain, and what is held is closed under prefix.
"""

from collections import OrderedDict
from collections.abc import Sequence

__all__ = ["BLOCK_CHARACTERS", "BlockCache", "chain"]

BLOCK_CHARACTERS = 64


def chain(text: str) -> list[int]:
    """Keys of the whole blocks of a text; equal within one process only. O(text)."""
    keys: list[int] = []
    key = 0
    for end in range(BLOCK_CHARACTERS, len(text) + 1, BLOCK_CHARACTERS):
        key = hash((key, text[end - BLOCK_CHARACTERS : end]))
        keys.append(key)
    return keys


class BlockCache:
    """At most `capacity_blocks` keys. `match` is pure; `store` says what came and what went."""

    def __init__(self, capacity_blocks: int) -> None:
        self._capacity_blocks = capacity_blocks
        self._keys: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._keys)

    def match(self, keys: Sequence[int]) -> int:
        """How many blocks from the first on are held."""
        held = self._keys
        for position, key in enumerate(keys):
            if key not in held:
                return position
        return len(keys)

    def store(self, keys: Sequence[int]) -> list[int]:
        """Use and add a prompt's blocks; returns the keys that had to go."""
        held = self._keys
        for key in reversed(keys):
            held[key] = None
            held.move_to_end(key)
        gone = []
        while len(held) > self._capacity_blocks:
            gone.append(held.popitem(last=False)[0])
        return gone

    def clear(self) -> None:
        """Hold nothing."""
        self._keys.clear()
