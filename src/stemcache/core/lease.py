"""What the leases of both index forms have in common: they let go once, and belong to one index."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

__all__ = ["HeldPath"]

V = TypeVar("V")


class HeldPath(ABC, Generic[V]):
    """A path that an index keeps until `release`. A context manager. **Not** thread-safe."""

    __slots__ = ("_block_size", "_index", "_released")

    def __init__(self, index: object, block_size: int) -> None:
        self._index = index
        self._block_size = block_size
        self._released = False

    @property
    @abstractmethod
    def blocks(self) -> int:
        """Length of the held path, in blocks."""

    @property
    def tokens(self) -> int:
        """Length of the held path, in tokens."""
        assert not self._released, "the lease was released"
        return self.blocks * self._block_size

    @property
    def values(self) -> Sequence[V]:
        """Values along the path as it was pinned; to be asked for before `release`."""
        assert not self._released, "the lease was released"
        return self._pinned_values()

    def release(self, *, output_tokens: int | None = None) -> None:
        """Let go. A second call is harmless. Some policies learn from how much was generated."""
        if not self._released:
            self._released = True
            self._let_go(output_tokens)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def must_be_of(self, index: object) -> None:
        """Refuse to be used on another index than its own, or after `release`."""
        assert not self._released, "the lease was released"
        assert self._index is index, "the lease is another index's"

    @abstractmethod
    def _pinned_values(self) -> Sequence[V]: ...

    @abstractmethod
    def _let_go(self, output_tokens: int | None) -> None: ...
