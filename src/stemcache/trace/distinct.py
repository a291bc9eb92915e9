"""How many different things were seen, in bounded memory.

```
hashes       ─► kept where the low `level` bits are 0 ─► set of at most 2²⁰
                level grows by one when the set is full, and half of it goes
count        =  size of the set, level times doubled
```

Exact until the set first fills; from then on an estimate whose standard error is about 0.1%.
"""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

__all__ = ["Distinct", "name_hash"]

Hashes = npt.NDArray[np.uint64]

_CAPACITY = 2**20


def name_hash(name: str) -> int:
    """64 bits of a name, spread evenly."""
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class Distinct:
    """Counts distinct 64-bit hashes, and remembers which stood before each when first seen."""

    def __init__(self, *, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity
        self._level = 0
        self._kept: dict[int, int] = {}
        self.conflicts = 0
        """How often a hash came behind another one than at first, among those that are kept."""

    def add(self, hashes: Hashes, before: Hashes | None = None) -> None:
        """Take in hashes that are spread evenly over 64 bits. O(n), vectorised but for the kept."""
        if self._level:
            kept = (hashes & np.uint64((1 << self._level) - 1)) == 0
            hashes = hashes[kept]
            before = None if before is None else before[kept]
        values = hashes.tolist()
        ahead = [0] * len(values) if before is None else before.tolist()
        kept_before = self._kept
        for value, one in zip(values, ahead, strict=True):
            if kept_before.setdefault(value, one) != one:
                self.conflicts += 1
        while len(kept_before) > self._capacity:
            self._level += 1
            mask = (1 << self._level) - 1
            kept_before = {value: one for value, one in kept_before.items() if not value & mask}
            self._kept = kept_before

    def add_one(self, value: int) -> None:
        """Take in one hash."""
        if not value & ((1 << self._level) - 1):
            self.add(np.array([value], np.uint64))

    @property
    def count(self) -> int:
        """Different hashes seen, or the estimate of it."""
        return len(self._kept) << self._level

    @property
    def exact(self) -> bool:
        """Whether the count is no estimate."""
        return self._level == 0
