"""No prefix is ever served across namespaces, in either form of the index."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.core.hash_index import HashIndex
from stemcache.core.index import PrefixIndex
from stemcache.core.namespace import Namespace
from stemcache.core.radix_index import RadixIndex
from stemcache.core.tokens import Chain
from stemcache.policy.evict.lru import Lru

# Fields that a careless encoding confuses: empty, separators, NULs, what looks like a length or
# an optional's presence byte, spellings that look alike, and code points that no one may send.
WORDS = [
    "", " ", "a", "b", "ab", "aa", "0", "1", "None", "null", "namespace/1",
    "\x00", "a\x00", "\x00a", "\x01", "\x01a", "\x00\x01a", "\x00" * 8, "\x01" + "\x00" * 7,
    "\x01\x00\x00\x00\x00\x00\x00\x00a", "|", "a|b", "a/b", "a:b", "a,b", "a\nb", "a\x1fb",
    "caf\u00e9", "cafe\u0301", "\uff41", "\u0430", "a\u200b", "\ufeffa", "A", "\u212b", "\u00c5",
    "\ud800", "\udfff", "\ud83d\ude00", "\U0001f600", "\ufffd",
]  # fmt: skip
TEXT = st.sampled_from(WORDS) | st.text(st.characters(), max_size=6)
NAMESPACES = st.builds(
    Namespace,
    model=TEXT,
    revision=TEXT,
    kv_dtype=TEXT,
    adapter=st.none() | TEXT,
    salt=st.none() | TEXT,
    epoch=st.integers(0, 12),
)
FIELDS = ("model", "revision", "kv_dtype", "adapter", "salt")
EXTRAS = st.sampled_from([word.encode("utf-8", "surrogatepass") for word in WORDS])


def changed(draw: st.DrawFn, space: Namespace) -> Namespace:
    """A namespace that differs from `space` by little, or not at all."""
    values: dict[str, Any] = {field: getattr(space, field) for field in FIELDS}
    first = draw(st.integers(0, len(FIELDS) - 2))
    here, there = FIELDS[first : first + 2]
    left, right = values[here] or "", values[there] or ""
    match draw(st.sampled_from(["same", "other", "none", "moved", "swapped", "epoch"])):
        case "other":
            values[draw(st.sampled_from(FIELDS))] = draw(TEXT)
        case "none":
            values[draw(st.sampled_from(["adapter", "salt"]))] = None
        case "moved":  # the tail of one field becomes the head of the next
            cut = draw(st.integers(0, len(left)))
            values[here], values[there] = left[:cut], left[cut:] + right
        case "swapped":
            values[here], values[there] = right, left
        case "epoch":
            values["epoch"] = draw(st.integers(0, 12))
        case _:
            pass
    return replace(space, **values)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Namespace, Namespace]:
    """Two namespaces, close to each other or far."""
    space = draw(NAMESPACES)
    return space, (changed(draw, space) if draw(st.booleans()) else draw(NAMESPACES))


@st.composite
def families(draw: st.DrawFn) -> list[Namespace]:
    """A few namespaces, each changed a little from the one before; all different."""
    spaces = [draw(NAMESPACES)]
    for _ in range(draw(st.integers(1, 6))):
        spaces.append(changed(draw, spaces[-1]))
    return list(dict.fromkeys(spaces))


def table(block_size: int) -> PrefixIndex[int]:
    """A table of block keys."""
    return HashIndex[int, int](block_size=block_size, policy=Lru())


def tree(block_size: int) -> PrefixIndex[int]:
    """A tree of token runs."""
    return RadixIndex[int, int](block_size=block_size, policy=Lru())


BOTH = pytest.mark.parametrize("make", [table, tree])
Make = Callable[[int], PrefixIndex[int]]


@BOTH
@settings(max_examples=400)
@given(spaces=pairs(), block_size=st.sampled_from([1, 2, 16]))
def test_a_prefix_is_found_in_its_own_namespace_only(
    make: Make, spaces: tuple[Namespace, Namespace], block_size: int
) -> None:
    """Nothing of a chain is matched under another namespace; all of it is under an equal one."""
    owner, other = spaces
    index = make(block_size)
    tokens = range(3 * block_size)
    stored = Chain(tokens, block_size=block_size, namespace=owner.encode())
    index.insert(stored, [0, 1, 2], now=0.0)
    asked = Chain(tokens, block_size=block_size, namespace=other.encode())

    assert (3 if owner == other else 0) == index.match(asked).blocks


@BOTH
@given(spaces=families(), block_size=st.sampled_from([1, 4]))
def test_each_namespace_is_served_its_own_values(
    make: Make, spaces: list[Namespace], block_size: int
) -> None:
    """With many namespaces side by side, a lease holds only what its own namespace stored."""
    index = make(block_size)
    chains = [
        Chain([7] * (2 * block_size), block_size=block_size, namespace=space.encode())
        for space in spaces
    ]
    for number, chain in enumerate(chains):
        index.insert(chain, [2 * number, 2 * number + 1], now=0.0)
    index.check()

    assert [[2 * number, 2 * number + 1] for number in range(len(chains))] == [
        list(index.pin(chain, now=1.0).values) for chain in chains
    ]
    assert 2 * len(spaces) == len(index) == index.pinned


@BOTH
@given(
    here=st.none() | EXTRAS,
    there=st.none() | EXTRAS,
    at=st.integers(0, 4),
    block_size=st.sampled_from([1, 2, 16]),
)
def test_a_later_salt_isolates_what_follows_and_shares_what_precedes(
    make: Make, here: bytes | None, there: bytes | None, at: int, block_size: int
) -> None:
    """The public part in front of a salted block is matched, the block and what follows never."""
    index = make(block_size)
    tokens = range(5 * block_size)
    stored, asked = (
        Chain(
            tokens,
            block_size=block_size,
            namespace=b"n",
            extras={} if salt is None else {at: salt},
        )
        for salt in (here, there)
    )
    index.insert(stored, list(range(5)), now=0.0)

    assert (5 if here == there else at) == index.match(asked).blocks
    with index.pin(asked, now=1.0) as lease:
        added = index.insert(asked, [9] * (5 - lease.blocks), now=1.0, lease=lease)

        assert ((), ()) == (added.spare, added.existing)
    index.check()


@BOTH
@given(salt=EXTRAS, at=st.integers(0, 3), to=st.integers(0, 3))
def test_one_salt_on_two_blocks_is_two_chains(make: Make, salt: bytes, at: int, to: int) -> None:
    """Where an extra stands matters as much as what it says."""
    index = make(2)
    stored = Chain([5] * 8, block_size=2, namespace=b"n", extras={at: salt})
    asked = Chain([5] * 8, block_size=2, namespace=b"n", extras={to: salt})
    index.insert(stored, list(range(4)), now=0.0)

    assert (4 if at == to else min(at, to)) == index.match(asked).blocks


@BOTH
@given(salt=EXTRAS, tokens=st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=2))
def test_an_extra_is_never_taken_for_tokens(make: Make, salt: bytes, tokens: list[int]) -> None:
    """A block whose extra spells a block's tokens is not that block."""
    index = make(2)
    spelt = b"".join(token.to_bytes(4, "little") for token in tokens)
    plain = Chain([0, 0, *tokens], block_size=2, namespace=b"n")
    index.insert(plain, [0, 1], now=0.0)

    assert [1, 1] == [
        index.match(Chain([0, 0, *tokens], block_size=2, namespace=b"n", extras={1: extra})).blocks
        for extra in (salt, spelt)
    ]


@BOTH
def test_after_a_reset_nothing_old_is_matched(make: Make) -> None:
    """A raised epoch leaves what is still in the index unreachable, without removing it."""
    index = make(4)
    tokens = range(40)
    old = Chain(tokens, block_size=4, namespace=Namespace("m").encode())
    index.insert(old, list(range(10)), now=0.0)
    new = Chain(tokens, block_size=4, namespace=Namespace("m", epoch=1).encode())

    assert (10, 10, 0) == (len(index), index.match(old).blocks, index.match(new).blocks)


def served(index: PrefixIndex[int], chains: list[Chain]) -> list[list[int]]:
    """Store every chain with its own number as value, then ask what each is given."""
    for number, chain in enumerate(chains):
        index.insert(chain, [number] * chain.blocks, now=0.0)
    index.check()
    return [list(index.pin(chain, now=1.0).values) for chain in chains]


@BOTH
def test_every_awkward_word_in_every_field_is_a_namespace(make: Make) -> None:
    """All of them side by side: each is served what it stored, and nothing else."""
    plain: dict[str, Any] = {"model": "m", "revision": "r", "kv_dtype": "k"}
    spaces = {Namespace(**plain | {field: word}) for field in FIELDS for word in WORDS}
    spaces |= {Namespace(**plain, epoch=epoch) for epoch in range(12)}
    chains = [Chain([1, 2], block_size=1, namespace=space.encode()) for space in spaces]

    assert [[number] * 2 for number in range(len(spaces))] == served(make(1), chains)


@BOTH
@pytest.mark.parametrize("text", ["a\x00a\x00a", "\x00\x00\x00\x00", "aaaa", "\x01a\x01a", "11"])
def test_no_text_can_be_cut_into_fields_in_two_ways(make: Make, text: str) -> None:
    """Every way to spread one text over the fields, absent ones included, is a namespace."""
    size = len(text)
    spaces = {
        Namespace(text[:a], text[a:b], text[b:c], adapter, text[d:] or salt)
        for a in range(size + 1)
        for b in range(a, size + 1)
        for c in range(b, size + 1)
        for d in range(c, size + 1)
        for adapter in ({text[c:d], None} if c == d else {text[c:d]})
        for salt in ("", None)
    }
    chains = [Chain([1], block_size=1, namespace=space.encode()) for space in spaces]

    assert [[number] for number in range(len(spaces))] == served(make(1), chains)


@BOTH
def test_every_awkward_word_is_a_salt_of_its_own(make: Make) -> None:
    """Many tenants behind one public block: they share it, and nothing behind it."""
    salts = [None, *(word.encode("utf-8", "surrogatepass") for word in WORDS)]
    chains = [
        Chain([1, 2, 3], block_size=1, namespace=b"n", extras={} if salt is None else {1: salt})
        for salt in salts
    ]

    assert [[0, number, number] for number in range(len(salts))] == served(make(1), chains)
