"""What the tests of the guess share: chains of keys, and caches that are too simple to be wrong."""

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256

__all__ = ["Cache", "chain"]


def chain(units: Iterable[object]) -> list[int]:
    """Chained keys, one for each unit."""
    keys, state = [], b""
    for unit in units:
        state = sha256(state + str(unit).encode()).digest()[:8]
        keys.append(int.from_bytes(state, "little"))
    return keys


class Cache:
    """A replica's, or what is believed of it: keys in the order of their use, LRU."""

    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        self.keys: OrderedDict[int, None] = OrderedDict()

    def request(self, keys: list[int]) -> int:
        """Use all of them, the end of the prompt least: how many leading ones were there."""
        found = self.held(keys)
        for key in reversed(keys):
            self.keys[key] = None
            self.keys.move_to_end(key)
        self.fit()
        return found

    def fit(self) -> None:
        """Drop what does not fit, the least recent first."""
        while self.capacity is not None and len(self.keys) > self.capacity:
            self.keys.popitem(last=False)

    def held(self, keys: list[int]) -> int:
        """How many leading keys are there."""
        for at, key in enumerate(keys):
            if key not in self.keys:
                return at
        return len(keys)
