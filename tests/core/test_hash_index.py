"""What is particular to the table: how much it hashes, and what its check finds."""

from collections.abc import Callable, Mapping

import pytest

from stemcache.core.hash_index import HashIndex
from stemcache.core.hashing import BlockKey, stem_keys
from stemcache.core.tokens import Chain
from stemcache.policy.evict.lru import Lru


def index_of(*texts: str) -> HashIndex[str, int]:
    """A table with these chains, a letter a block."""
    index: HashIndex[str, int] = HashIndex(block_size=1, policy=Lru())
    for text in texts:
        index.insert(chain(text), list(text), now=0.0)
    return index


def chain(text: str) -> Chain:
    """A letter a token, a token a block."""
    return Chain([ord(letter) for letter in text], block_size=1, namespace=b"n")


class Counter:
    """Our scheme, counting the blocks it hashes."""

    def __init__(self) -> None:
        self.blocks = 0

    def __call__(
        self,
        parent: BlockKey | None,
        tokens: bytes,
        block_size: int,
        extras: Mapping[int, bytes],
        first: int,
    ) -> list[BlockKey]:
        keys = stem_keys(parent, tokens, block_size, extras, first)
        self.blocks += len(keys)
        return keys


@pytest.mark.parametrize(
    ("cached", "most"), [(0, 64), (63, 64), (64, 192), (100, 192), (5_000, 16_000)]
)
def test_an_early_miss_hashes_little(cached: int, most: int) -> None:
    """The blocks hashed for a look-up are bounded by those matched, not by the prompt."""
    index: HashIndex[int, int] = HashIndex(block_size=1, policy=Lru())
    index.insert(Chain(range(cached), block_size=1, namespace=b"n"), list(range(cached)), now=0.0)
    counter = Counter()
    asked = Chain(
        [*range(cached), *range(10**6, 10**6 + 20_000)],
        block_size=1,
        namespace=b"n",
        scheme=counter,
    )

    assert cached == index.match(asked).blocks
    assert counter.blocks <= most


@pytest.mark.parametrize("cached", [0, 1, 2, 63, 64, 65, 191, 192, 193, 447, 448, 449])
def test_a_match_is_exact_wherever_strides_end(cached: int) -> None:
    """Bisection finds the first missing block at any place."""
    index: HashIndex[int, int] = HashIndex(block_size=1, policy=Lru())
    whole = Chain(range(500), block_size=1, namespace=b"n")
    index.insert(whole, list(range(cached)), now=0.0)
    with index.pin(whole, now=1.0, max_blocks=cached // 2):
        assert (cached, cached, cached // 2) == index.match(whole)


def damage(change: Callable[[HashIndex[str, int], dict[str, BlockKey]], None]) -> str:
    """What `check` says of a small index after `change`, with keys given as letters."""
    index = index_of("abc", "abd")
    index.pin(chain("ab"), now=1.0)
    index.check()
    keys = dict(zip("abc", chain("abc").keys(3), strict=True)) | {"d": chain("abd").keys(3)[2]}
    change(index, keys)
    with pytest.raises(AssertionError) as error:
        index.check()
    message = str(error.value).partition("\n")[0]
    for letter, key in keys.items():
        message = message.replace(key.hex(), letter)
    return message


def test_check_names_what_is_broken() -> None:
    """Each invariant has a message of its own, with the block that breaks it."""

    def move(index: HashIndex[str, int], keys: dict[str, BlockKey]) -> None:
        index._table[keys["c"]] = index._table[keys["a"]]

    def orphan(index: HashIndex[str, int], keys: dict[str, BlockKey]) -> None:
        del index._table[keys["a"]]

    def pins(
        letter: str, number: int
    ) -> Callable[[HashIndex[str, int], dict[str, BlockKey]], None]:
        def change(index: HashIndex[str, int], keys: dict[str, BlockKey]) -> None:
            index._table[keys[letter]].pins = number

        return change

    def children(index: HashIndex[str, int], keys: dict[str, BlockKey]) -> None:
        index._table[keys["b"]].children = 1

    def withdraw(index: HashIndex[str, int], keys: dict[str, BlockKey]) -> None:
        index._leaves.withdraw(index._table[keys["d"]])

    def outrank(index: HashIndex[str, int], keys: dict[str, BlockKey]) -> None:
        index._table[keys["d"]].state = 99

    def offer(index: HashIndex[str, int], keys: dict[str, BlockKey]) -> None:
        index._leaves.offer(index._table[keys["a"]], (0,))

    def leave(index: HashIndex[str, int], keys: dict[str, BlockKey]) -> None:
        index._table[keys["b"]].children -= 1
        del index._table[keys["d"]]

    def count(index: HashIndex[str, int], keys: dict[str, BlockKey]) -> None:  # noqa: ARG001  no key is needed
        index._pinned = 7

    assert "block a stands under c" == damage(move)
    assert "b outlived its predecessor" == damage(orphan)
    assert "b has more pins than its predecessor" == damage(pins("b", 2))
    assert "b miscounts its children" == damage(children)
    assert "leaf d is queued wrongly" == damage(withdraw)
    assert "leaf d is queued wrongly" == damage(outrank)
    assert "a is queued but not a free leaf" == damage(offer)
    assert "the heap holds blocks that left" == damage(leave)
    assert "2 blocks are pinned, 7 counted" == damage(count)


def test_check_finds_pins_that_descendants_miss() -> None:
    """Leases on two branches both hold the block where they part."""
    index = index_of("abc", "abd")
    index.pin(chain("abc"), now=1.0)
    index.pin(chain("abd"), now=2.0)
    key = chain("ab").keys(2)[1]
    index._table[key].pins = 1
    with pytest.raises(AssertionError) as error:
        index.check()

    assert f"{key.hex()} misses pins of its descendants" == str(error.value).partition("\n")[0]
