"""How many blocks were used more recently than a given request's: a Fenwick tree over requests.

```
    request          0   1   2   3   4
    last user of     7   0   3   1   2   blocks          newer_than(2) = 1 + 2 = 3
```

Each block counts for the last request that used it. Costs O(log requests); grows by doubling.
"""

__all__ = ["Recency"]


class Recency:
    """Blocks by their last request."""

    def __init__(self) -> None:
        self._sums = [0] * 1025  # 1-based; the length less one is a power of two
        self._held: list[int] = []
        self.blocks = 0
        """All of them."""

    def append(self, blocks: int) -> None:
        """The next request is the last user of `blocks`."""
        if len(self._held) + 1 == len(self._sums):
            self._double()
        self._held.append(0)
        self.move(len(self._held) - 1, blocks)

    def move(self, request: int, blocks: int) -> None:
        """`blocks` more (or, negative, fewer) have `request` as their last user."""
        self._held[request] += blocks
        self.blocks += blocks
        sums, at = self._sums, request + 1
        while at < len(sums):
            sums[at] += blocks
            at += at & -at

    def held(self, request: int) -> int:
        """Blocks that `request` was the last to use."""
        return self._held[request]

    def newer_than(self, request: int) -> int:
        """Blocks that were last used after `request`."""
        sums, at, older = self._sums, request + 1, 0
        while at:
            older += sums[at]
            at &= at - 1
        return self.blocks - older

    def _double(self) -> None:
        # The top of the new half covers everything so far; the rest of it is empty.
        size = len(self._sums) - 1
        self._sums += [0] * size
        self._sums[2 * size] = self.blocks
