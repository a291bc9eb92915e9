"""What a fake worker holds."""

from collections import OrderedDict
from random import Random

from benchmarks.route.cache import BLOCK_CHARACTERS, BlockCache, chain


def test_only_whole_blocks_have_keys() -> None:
    """A text of two blocks and a half has two keys."""
    assert BLOCK_CHARACTERS == 64
    assert chain("") == []
    assert chain("a" * 63) == []
    assert len(chain("a" * 64)) == 1
    assert len(chain("a" * 160)) == 2


def test_a_key_stands_for_all_before_it() -> None:
    """Texts that differ in the first block share no key, those that differ in the second one."""
    one, other = "a" * 64 + "b" * 64, "c" * 64 + "b" * 64
    assert not set(chain(one)) & set(chain(other))
    assert chain(one)[0] == chain("a" * 128)[0]
    assert chain(one)[1] != chain("a" * 128)[1]


def test_matching_is_of_prefixes() -> None:
    """What is held counts from the first block on, and matching changes nothing."""
    cache = BlockCache(10)
    assert cache.match([1, 2]) == 0
    assert cache.store([1, 2, 3]) == []
    assert cache.match([1, 2, 4]) == 2
    assert cache.match([9, 2, 3]) == 0
    assert cache.match([1, 2, 3]) == 3
    assert len(cache) == 3
    cache.clear()
    assert cache.match([1, 2, 3]) == 0


def test_the_end_of_the_least_recent_chain_goes_first() -> None:
    """Of two chains the one used longer ago loses its last block first."""
    cache = BlockCache(5)
    cache.store([1, 2, 3])
    assert cache.store([7, 8, 9]) == [3]
    assert cache.match([1, 2, 3]) == 2
    assert cache.store([1]) == []
    assert cache.store([5]) == [2]
    assert cache.store([6]) == [9]


def test_a_prompt_larger_than_the_cache_keeps_its_beginning() -> None:
    """Its own last blocks go."""
    cache = BlockCache(2)
    assert cache.store([1, 2, 3, 4]) == [4, 3]
    assert cache.match([1, 2, 3, 4]) == 2


def test_it_agrees_with_a_dumb_twin() -> None:
    """Under random histories it is closed under prefix and holds what a list of uses says."""
    random = Random(4)
    cache = BlockCache(40)
    uses: OrderedDict[tuple[int, ...], None] = OrderedDict()
    for _ in range(2_000):
        words = [random.randrange(3) for _ in range(random.randrange(1, 9))]
        prefixes = [tuple(words[: end + 1]) for end in range(len(words))]
        keys = [hash(prefix) for prefix in prefixes]
        found = cache.match(keys)
        held = [prefix in uses for prefix in prefixes]
        assert found == (held.index(False) if False in held else len(held))
        assert not any(held[found:])
        cache.store(keys)
        for prefix in reversed(prefixes):
            uses[prefix] = None
            uses.move_to_end(prefix)
        while len(uses) > 40:
            uses.popitem(last=False)
        assert len(cache) == len(uses)
