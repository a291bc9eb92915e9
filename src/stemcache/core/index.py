"""The contract that both indexes keep, and the values that cross it.

An index is a set of chains closed under prefix, with one value a block:

```
            ┌─ B ─ C            chains: A B C,  A B,  A,  A D
    root ─ A                    leaves: C, D    (only leaves can be evicted)
            └─ D                a lease on A B holds A and B; C and D may go
```

Invariants, verified by `check()`:
  1. closed under prefix: a block's predecessor is in the index;
  2. a block held by a lease is in the index, and so is its whole path;
  3. `pinned` counts the blocks on the paths of leases, each once; `pinned <= len(index)`;
  4. every unpinned leaf is in the eviction heap under its current rank.

A policy sees a block's history as one immutable *state*. The index keeps it lazily: a use of a
path is written at the tip only, and a block inherits the states of its descendants when they
leave. A block can be evicted only after all its descendants, so what its rank says then is the
same as if every use had been written along the whole path, at O(1) a use.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Generic, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from stemcache.core.hashing import BlockKey
from stemcache.core.tokens import Chain

__all__ = [
    "Inserted",
    "Lease",
    "Match",
    "Policy",
    "PrefixIndex",
    "Rank",
    "Removal",
    "RequestPolicy",
    "Stamp",
    "Victim",
]

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)
S = TypeVar("S")

Rank = tuple[float, ...]
"""Orders leaves: the smallest is evicted first. Ranks of two leaves of one index never tie."""


class Stamp(NamedTuple):
    """When something happened to an index, and for whom."""

    seq: int
    """A number per insert or use, rising; the recency that policies compare."""
    now: float
    """The caller's clock, seconds."""
    priority: int
    """The caller's priority; higher is kept longer, where the policy looks at it."""
    blocks: int = 0
    """From the start of the chain to the end of what was used, or of what entered."""


class Policy(Protocol[S]):
    """**Protocol**: chooses which leaf goes first.

    States are immutable values. `inherited` must be associative in its second argument:
    inheriting from several descendants, in any order, gives one result.
    """

    @property
    def name(self) -> str:
        """The word users choose it by."""
        ...

    def inserted(self, stamp: Stamp) -> S:
        """The state of a block that enters."""
        ...

    def used(self, state: S, stamp: Stamp) -> S:
        """The state after a hit whose last block is this one."""
        ...

    def inherited(self, state: S, child: S) -> S:
        """The state of a block after one that follows it has left."""
        ...

    def evicted(self, state: S) -> None:
        """A block was evicted (not removed by name); a policy that ages learns from it."""
        ...

    def rank(self, state: S) -> Rank:
        """Where a leaf in this state stands; may depend on nothing but the state."""
        ...


@runtime_checkable
class RequestPolicy(Policy[S], Protocol[S]):
    """**Protocol**: a policy that also follows requests, and may learn from what they do.

    A request is a lease: what it used, what it adds, and how it ended. Ranks may depend on what
    was learnt as well, but change only where `turned` says so: then every leaf is ranked anew.
    """

    def entered(self, own: S | None, stamp: Stamp, key: Callable[[], BlockKey]) -> S:
        """The state of blocks that a request adds, in place of `inserted`.

        `own` is the state that the lease's last use or insert gave, None if it found nothing, or
        where there is no lease. `key()` is the key of the first block that enters; a tree hashes
        everything before it to tell, so ask only if it matters.
        """
        ...

    def ended(self, state: S, output_tokens: int | None) -> None:
        """A lease in this state lets go; how much was generated, None if the caller did not say."""
        ...

    def turned(self, leaves: int) -> bool:
        """Asked before victims are chosen among `leaves`: whether ranks have changed.

        True costs O(leaves), so once in O(leaves) requests keeps the cost of each constant.
        """
        ...


class Match(NamedTuple):
    """The longest cached prefix of a chain."""

    blocks: int
    tokens: int
    pinned: int = 0
    """Of those blocks, how many leases hold already: pinning takes the rest from what `evict`
    can give."""


class Inserted(NamedTuple, Generic[V]):
    """What `insert` did with the values it was given."""

    start: int
    """The first block that was added; equals the chain's length in blocks if none was."""
    spare: tuple[V, ...]
    """Given values that were not taken, because their blocks already existed. The caller's."""
    existing: tuple[V, ...]
    """The values the index holds for those blocks, in the same order: repoint to them."""


class Victim(NamedTuple, Generic[V]):
    """A block that left. Its value is the caller's again."""

    key: BlockKey | None
    """None only from a tree that was not asked to keep keys."""
    value: V


class Removal(NamedTuple, Generic[V]):
    """What `remove` dropped, and what it could not."""

    removed: tuple[Victim[V], ...]
    held: int
    """Blocks of the subtree that leases still hold; they stay."""


class Lease(Protocol[V_co]):
    """**Protocol**: keeps a path from eviction until released. A context manager.

    Belongs to the index that made it. Not thread-safe, as the index is not.
    """

    @property
    def blocks(self) -> int:
        """Length of the held path, in blocks."""
        ...

    @property
    def tokens(self) -> int:
        """Length of the held path, in tokens."""
        ...

    @property
    def values(self) -> Sequence[V_co]:
        """Values along the path at the moment of `pin`; costs O(blocks), so ask once."""
        ...

    def release(self, *, output_tokens: int | None = None) -> None:
        """Let go. A second call is harmless. Some policies learn from how much was generated."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class PrefixIndex(Protocol[V]):
    """**Protocol**: a set of chains closed under prefix, one value a block.

    At equal block size every form answers alike, victims and their order included.
    """

    @property
    def block_size(self) -> int:
        """Tokens a block."""
        ...

    @property
    def pinned(self) -> int:
        """Blocks that leases hold. `len(index) - index.pinned` can be evicted."""
        ...

    def match(self, chain: Chain, *, max_blocks: int | None = None) -> Match:
        """The longest cached prefix of `chain`, at most `max_blocks` long.

        Pure: no split, no clock, no recency. O(matched + 1) blocks.
        """
        ...

    def pin(
        self, chain: Chain, *, now: float, max_blocks: int | None = None, priority: int = 0
    ) -> Lease[V]:
        """Hold the longest cached prefix of `chain` and record one use of it.

        Walks anew, so an earlier `match` may be stale without harm. An empty match gives an empty
        lease, which is no use of anything.
        """
        ...

    def insert(
        self,
        chain: Chain,
        values: Sequence[V],
        *,
        now: float,
        lease: Lease[V] | None = None,
        priority: int = 0,
    ) -> Inserted[V]:
        """Add the blocks of `chain` that are missing.

        `values` are those of the blocks behind the lease (behind the root without one), as many
        as the caller has: `lease.blocks + len(values) <= chain.blocks`. Afterwards the lease
        holds all of them. Existing blocks keep their values. O(new blocks), plus the existing
        blocks behind the lease that are walked over.
        """
        ...

    def evict(self, blocks: int) -> list[Victim[V]]:
        """Give up at most `blocks` unpinned blocks, leaves first, in policy order."""
        ...

    def remove(self, chain: Chain) -> Removal[V]:
        """Drop the last block of `chain` and everything behind it, except what leases hold.

        An empty chain means the whole index. A chain that is not cached in full removes nothing.
        In `removed` no block comes before one that follows it in a chain.
        """
        ...

    def __len__(self) -> int:
        """Blocks held."""
        ...

    def check(self) -> None:
        """Verify every invariant; raise AssertionError with the first that fails. O(index)."""
        ...
