"""Prefix caches behind one face, so that the same requests can be put to all of them.

A request is what an engine does with a prompt: find the longest cached prefix, hold it, publish
the rest, let go. A candidate's state is made anew for each repeat, outside the measured time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from stemcache.core.hash_index import HashIndex
from stemcache.core.index import PrefixIndex
from stemcache.core.radix_index import RadixIndex
from stemcache.core.tokens import Chain
from stemcache.policy.evict.lru import Lru

__all__ = ["FORMS", "NAMESPACE", "OURS", "Cache", "Candidate", "Form"]

NAMESPACE = b"\x0b" + b"\x00" * 7 + b"namespace/1" + b"\x01" * 40  # about as long as a real one


class Cache(Protocol):
    """**Protocol**: a prefix cache that serves whole requests."""

    def request(self, tokens: list[int]) -> int:
        """Match, hold, publish, let go: how many tokens were found."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cache to be measured."""

    name: str
    version: str
    block_size: int
    make: Callable[[int], Cache]
    """An empty cache that can hold this many tokens."""


@dataclass(frozen=True, slots=True)
class Form:
    """One of our forms at one block size."""

    name: str
    block_size: int
    make: Callable[[], PrefixIndex[int]]


def _table() -> PrefixIndex[int]:
    return HashIndex[int, int](block_size=16, policy=Lru())


def _tree_of_tokens() -> PrefixIndex[int]:
    return RadixIndex[int, int](block_size=1, policy=Lru())


def _tree_of_blocks() -> PrefixIndex[int]:
    return RadixIndex[int, int](block_size=16, policy=Lru())


FORMS = (
    Form("HashIndex", 16, _table),
    Form("RadixIndex", 1, _tree_of_tokens),
    Form("RadixIndex", 16, _tree_of_blocks),
)


class _Ours:
    def __init__(self, form: Form, capacity_tokens: int) -> None:
        self._index = form.make()
        self._block_size = form.block_size
        self._pages = list(range(capacity_tokens // form.block_size))

    def request(self, tokens: list[int]) -> int:
        """As the engine does, from token ids to release."""
        chain = Chain(tokens, block_size=self._block_size, namespace=NAMESPACE)
        with self._index.pin(chain, now=0.0) as lease:
            found = lease.tokens
            pages = self._pages[lease.blocks : chain.blocks]
            self._index.insert(chain, pages, now=0.0, lease=lease)
        return found


def _candidate(form: Form) -> Candidate:
    def make(capacity_tokens: int) -> Cache:
        return _Ours(form, capacity_tokens)

    return Candidate(f"stemcache {form.name}", "this commit", form.block_size, make)


OURS: tuple[Candidate, ...] = tuple(_candidate(form) for form in FORMS)
