"""Histories told in letters: a letter a block, a word a chain, a block's value its prefix."""

from collections.abc import Callable, Sequence
from typing import Self

import pytest

from stemcache.core.hash_index import HashIndex
from stemcache.core.index import PrefixIndex
from stemcache.core.radix_index import RadixIndex
from stemcache.core.tokens import Chain
from stemcache.policy import evict

__all__ = ["Story", "Tell", "both_forms"]


class Story:
    """An index under a policy, and what happens to it, one event a second."""

    def __init__(self, index: PrefixIndex[str]) -> None:
        self._index = index
        self._now = 0.0

    def insert(self, *words: str, priority: int = 0) -> Self:
        """Chains enter, one after the other."""
        for word in words:
            values = [word[: at + 1] for at in range(len(word))]
            self._index.insert(_chain(word), values, now=self._tick(), priority=priority)
        return self

    def use(self, *words: str, priority: int = 0) -> Self:
        """Requests hit these chains, one after the other."""
        for word in words:
            with self._index.pin(_chain(word), now=self._tick(), priority=priority) as lease:
                assert lease.blocks == len(word), f"{word} is not cached"
        return self

    def remove(self, word: str) -> Self:
        """Drop a block and what follows it."""
        self._index.remove(_chain(word))
        return self

    def evict(self, blocks: int) -> list[str]:
        """Prefixes given up, in order."""
        victims = [victim.value for victim in self._index.evict(blocks)]
        self._index.check()
        return victims

    def evict_all(self) -> list[str]:
        """Everything, in order."""
        return self.evict(len(self._index))

    def scan(self, letters: Sequence[str], *, capacity: int) -> None:
        """Prompts that never return, in a cache of a few blocks that is full before each."""
        for letter in letters:
            self.insert(letter)
            self.evict(len(self._index) - capacity)

    def cached(self, *words: str) -> list[str]:
        """Those of the words that are cached in full."""
        return [word for word in words if self._index.match(_chain(word)).blocks == len(word)]

    def _tick(self) -> float:
        self._now += 1.0
        return self._now


def _chain(word: str) -> Chain:
    return Chain([ord(letter) for letter in word], block_size=1, namespace=b"n")


Tell = Callable[[str], Story]
"""Begins a story with an empty index under a policy, given by name."""


def _table(policy: str) -> Story:
    return Story(HashIndex(block_size=1, policy=evict.make(policy)))


def _tree(policy: str) -> Story:
    return Story(RadixIndex(block_size=1, policy=evict.make(policy)))


both_forms = pytest.mark.parametrize(
    "tell", [pytest.param(_table, id="table"), pytest.param(_tree, id="tree")]
)
