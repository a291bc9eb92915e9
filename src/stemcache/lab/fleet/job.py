"""A request of the trace, made ready once for all routings that are tried."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import blake2b

import numpy as np

from stemcache.core.tokens import Chain
from stemcache.lab.visit import Visit

__all__ = ["TOKENS_AN_ID", "Job", "jobs"]

TOKENS_AN_ID = 2
"""64 bits of an id are two tokens of 32 to the engine's index."""

_HEAD_TOKENS = 256
"""What hashing looks at, rounded up to a block."""
_M1 = np.uint64(0xBF58476D1CE4E5B9)  # splitmix64's finisher: neighbouring ids land far apart
_M2 = np.uint64(0x94D049BB133111EB)


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

    @cached_property
    def keys(self) -> list[int]:
        """A key for each block, which stands for all before it too; equal across scopes never."""
        mixed = np.asarray(self.visit.ids, np.int64).view(np.uint64) ^ np.uint64(self._salt)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _M1
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _M2
        keys: list[int] = (mixed ^ (mixed >> np.uint64(31))).tolist()
        return keys

    @property
    def head(self) -> int:
        """The key of the block that ends the first few hundred tokens; 0 for an empty prompt."""
        if not self.keys:
            return 0
        return self.keys[min(len(self.keys), -(-_HEAD_TOKENS // self.visit.block_tokens)) - 1]

    @cached_property
    def rungs(self) -> list[int]:
        """Keys of beginnings of 1, 2, 4 … blocks."""
        keys, depth, rungs = self.keys, 1, []
        while depth <= len(keys):
            rungs.append(keys[depth - 1])
            depth *= 2
        return rungs

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
