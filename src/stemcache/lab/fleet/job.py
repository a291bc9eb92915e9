"""A request of the trace, made ready once for all routings that are tried."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

from stemcache.core.tokens import Chain
from stemcache.lab.visit import Visit

__all__ = ["TOKENS_AN_ID", "Job", "jobs"]

TOKENS_AN_ID = 2
"""64 bits of an id are two tokens of 32 to the engine's index."""

_HEAD_TOKENS = 256
"""What hashing looks at, rounded up to a block."""
_WORD = 2**64 - 1
_M1 = 0xBF58476D1CE4E5B9  # splitmix64's finisher: neighbouring ids land far apart
_M2 = 0x94D049BB133111EB


class Job:
    """One request. Never changes; shared by the simulations of all routings."""

    def __init__(self, number: int, visit: Visit, *, salt: int) -> None:
        self.number = number
        self.visit = visit
        self.chain = Chain(
            np.ascontiguousarray(visit.ids, np.int64).view(np.uint32),
            block_size=TOKENS_AN_ID,
            namespace=visit.scope.encode("utf-8", "surrogatepass"),
        )
        self._salt = salt
        blocks = len(visit.ids)
        depth = min(blocks, -(-_HEAD_TOKENS // visit.block_tokens))
        self.head = self.key(depth - 1) if blocks else 0
        """The key of the block that ends the first few hundred tokens; 0 for an empty prompt."""
        self.rungs = [self.key((1 << step) - 1) for step in range(blocks.bit_length())]
        """Keys of beginnings of 1, 2, 4 … blocks."""

    def key(self, block: int) -> int:
        """What stands for a block and all before it; blocks of different scopes never meet."""
        mixed = (int(self.visit.ids[block]) ^ self._salt) & _WORD
        mixed = (mixed ^ (mixed >> 30)) * _M1 & _WORD
        mixed = (mixed ^ (mixed >> 27)) * _M2 & _WORD
        return mixed ^ (mixed >> 31)

    def all_keys(self) -> list[int]:
        """Those of all blocks. Made anew each time: 40 bytes a block."""
        mixed = np.asarray(self.visit.ids, np.int64).view(np.uint64) ^ np.uint64(self._salt)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_M1)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_M2)
        keys: list[int] = (mixed ^ (mixed >> np.uint64(31))).tolist()
        return keys

    def tokens(self, blocks: int) -> int:
        """Prompt tokens in the first `blocks` blocks; the partial last block has fewer."""
        return min(blocks * self.visit.block_tokens, self.visit.prompt_tokens)


def jobs(visits: Iterable[Visit]) -> Sequence[Job]:
    """All of a trace, in its order. Holds the trace: 16 bytes a block."""
    salts: dict[str, int] = {}
    made = []
    for number, visit in enumerate(visits):
        salt = salts.get(visit.scope)
        if salt is None:
            name = visit.scope.encode("utf-8", "surrogatepass")
            salt = salts[visit.scope] = int.from_bytes(blake2b(name, digest_size=8).digest())
        made.append(Job(number, visit, salt=salt))
    return made
