"""The contract, verb by verb, told in small stories that both forms must live through.

Long random histories are in `test_index_histories`; here each rule has a name.
"""

from collections.abc import Callable
from typing import Any

import pytest

from stemcache.core.hash_index import HashIndex
from stemcache.core.index import Inserted, Match, PrefixIndex, Removal
from stemcache.core.radix_index import RadixIndex
from stemcache.core.tokens import Chain
from stemcache.policy.evict.lru import Lru

Make = Callable[[int], PrefixIndex[str]]


def table(block_size: int) -> PrefixIndex[str]:
    """A table of block keys."""
    return HashIndex[str, int](block_size=block_size, policy=Lru())


def tree(block_size: int) -> PrefixIndex[str]:
    """A tree of token runs that keeps keys, so that its victims carry them."""
    return RadixIndex[str, int](block_size=block_size, policy=Lru(), keyed=True)


BOTH = pytest.mark.parametrize("make", [table, tree])


def chain(text: str, **options: Any) -> Chain:
    """A letter a token, a token a block."""
    return Chain([ord(letter) for letter in text], block_size=1, namespace=b"n", **options)


def put(index: PrefixIndex[str], text: str) -> None:
    """Insert a chain whose values are its own prefixes."""
    values = [text[: at + 1] for at in range(len(text))]
    index.insert(chain(text), values, now=0.0)


def drain(index: PrefixIndex[str]) -> list[str]:
    """Evict all that can be, in order."""
    return [victim.value for victim in index.evict(len(index))]


@BOTH
def test_an_empty_index_has_nothing(make: Make) -> None:
    """No verb minds that there is nothing."""
    index = make(1)

    assert Match(0, 0, 0) == index.match(chain("ab"))
    assert ([], Removal((), 0)) == (index.evict(5), index.remove(chain("")))
    assert 0 == index.pin(chain("ab"), now=0.0).blocks
    index.check()


@BOTH
def test_a_match_is_the_longest_cached_prefix(make: Make) -> None:
    """A match ends where the chain leaves what is cached, or where the caller says."""
    index = make(1)
    put(index, "abcd")

    assert [4, 4, 2, 0, 0] == [
        index.match(chain(text)).blocks for text in ("abcd", "abcdef", "abx", "xbcd", "")
    ]
    assert [2, 0, 0, 4] == [
        index.match(chain("abcd"), max_blocks=limit).blocks for limit in (2, 0, -1, 9)
    ]


@BOTH
def test_a_match_counts_whole_blocks(make: Make) -> None:
    """Tokens that agree inside a block do not count."""
    index = make(4)
    stored = Chain(range(12), block_size=4, namespace=b"n")
    index.insert(stored, ["a", "b", "c"], now=0.0)
    asked = Chain([*range(7), 99, *range(8, 12)], block_size=4, namespace=b"n")

    assert Match(1, 4, 0) == index.match(asked)


@BOTH
def test_a_match_changes_nothing(make: Make) -> None:
    """However often one looks, the order of eviction is that of uses."""
    index = make(1)
    put(index, "ab")
    put(index, "xy")
    for _ in range(5):
        index.match(chain("ab"))

    assert ["ab", "a", "xy", "x"] == drain(index)


@BOTH
def test_a_match_tells_what_leases_hold_of_it(make: Make) -> None:
    """Held blocks are counted along the matched path only."""
    index = make(1)
    put(index, "abcd")
    index.pin(chain("abx"), now=1.0)

    assert Match(4, 4, 2) == index.match(chain("abcd"))
    assert Match(1, 1, 1) == index.match(chain("a"))


@BOTH
def test_a_pin_is_a_use(make: Make) -> None:
    """What was used last goes last."""
    index = make(1)
    put(index, "ab")
    put(index, "xy")
    index.pin(chain("ab"), now=1.0).release()

    assert ["xy", "x", "ab", "a"] == drain(index)


@BOTH
def test_a_use_of_a_path_is_a_use_of_all_its_blocks(make: Make) -> None:
    """A shared block goes after everything that was used before it was, though its tip was used."""
    index = make(1)
    put(index, "ab")
    put(index, "x")
    index.pin(chain("ab"), now=1.0).release()
    index.remove(chain("ab"))

    assert ["x", "a"] == drain(index)


@BOTH
def test_an_empty_pin_is_no_use_and_holds_nothing(make: Make) -> None:
    """A miss leaves no trace."""
    index = make(1)
    put(index, "a")
    put(index, "b")
    with index.pin(chain("z"), now=1.0) as lease:
        assert (0, 0, []) == (lease.blocks, lease.tokens, list(lease.values))
        assert 0 == index.pinned


@BOTH
def test_a_lease_keeps_its_path_and_nothing_more(make: Make) -> None:
    """What stands behind it, and beside it, may go."""
    index = make(1)
    put(index, "abcd")
    put(index, "abx")
    lease = index.pin(chain("ab"), now=1.0)

    assert (2, ["a", "ab"]) == (index.pinned, list(lease.values))
    assert ["abcd", "abc", "abx"] == drain(index)
    assert (2, []) == (len(index), drain(index))
    lease.release()
    assert ["ab", "a"] == drain(index)


@BOTH
def test_a_block_is_held_until_the_last_lease_lets_go(make: Make) -> None:
    """Leases count; releasing one twice does not."""
    index = make(1)
    put(index, "ab")
    first, second = index.pin(chain("ab"), now=1.0), index.pin(chain("a"), now=2.0)
    first.release()
    first.release()

    assert (1, ["ab"]) == (index.pinned, drain(index))
    second.release()
    assert (0, ["a"]) == (index.pinned, drain(index))


@BOTH
def test_a_lease_is_released_when_its_block_of_code_fails(make: Make) -> None:
    """An exception does not leak pages."""
    index = make(1)
    put(index, "a")

    def fail() -> None:
        with index.pin(chain("a"), now=1.0):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert 0 == index.pinned


@BOTH
def test_a_lease_stays_right_when_its_path_is_split(make: Make) -> None:
    """Branches that others add inside a held path do not move what is held."""
    index = make(1)
    put(index, "abcdef")
    lease = index.pin(chain("abcd"), now=1.0)
    put(index, "abX")
    put(index, "aY")
    put(index, "abcdZ")

    assert ["a", "ab", "abc", "abcd"] == list(lease.values)
    drain(index)
    assert 4 == len(index)
    index.check()
    lease.release()
    assert ["abcd", "abc", "ab", "a"] == drain(index)


@BOTH
def test_a_released_lease_answers_no_more(make: Make) -> None:
    """What it held may be gone, so asking for it is a mistake."""
    index = make(1)
    put(index, "a")
    lease = index.pin(chain("a"), now=1.0)
    lease.release()
    for ask in (
        lambda: lease.values,
        lambda: lease.tokens,
        lambda: index.insert(chain("ab"), ["x"], now=2.0, lease=lease),
    ):
        with pytest.raises(AssertionError) as error:
            ask()

        assert "the lease was released" == str(error.value)


@BOTH
def test_a_lease_belongs_to_its_index(make: Make) -> None:
    """Growing the lease of another index is a mistake."""
    index, other = make(1), make(1)
    lease = other.pin(chain("a"), now=0.0)

    with pytest.raises(AssertionError) as error:
        index.insert(chain("a"), ["a"], now=0.0, lease=lease)

    assert "the lease is another index's" == str(error.value)


@BOTH
def test_an_insert_gives_back_what_was_there_already(make: Make) -> None:
    """Two that computed the same blocks: the second learns where the first one's are."""
    index = make(1)
    put(index, "ab")

    assert Inserted(2, ("1", "2"), ("a", "ab")) == index.insert(
        chain("abcd"), ["1", "2", "3", "4"], now=1.0
    )
    assert Inserted(4, ("5", "6", "7", "8"), ("a", "ab", "3", "4")) == index.insert(
        chain("abcd"), ["5", "6", "7", "8"], now=2.0
    )
    assert ["4", "3", "ab", "a"] == drain(index)


@BOTH
def test_an_insert_of_what_is_all_there_adds_nothing_and_is_no_use(make: Make) -> None:
    """Every value comes back, and recency stays."""
    index = make(1)
    put(index, "ab")
    put(index, "x")

    assert Inserted(2, ("1", "2"), ("a", "ab")) == index.insert(chain("ab"), ["1", "2"], now=1.0)
    assert ["ab", "a", "x"] == drain(index)


@BOTH
def test_a_lease_grows_with_what_is_inserted(make: Make) -> None:
    """Chunks of one prompt are held as they come, whether new or found."""
    index = make(1)
    put(index, "abc")
    lease = index.pin(chain("a"), now=1.0)

    assert Inserted(3, ("1", "2"), ("ab", "abc")) == index.insert(
        chain("abcd"), ["1", "2", "3"], now=2.0, lease=lease
    )
    assert (4, 4) == (lease.blocks, index.pinned)
    assert ["a"] == list(lease.values)  # as it was pinned
    assert Inserted(4, (), ()) == index.insert(chain("abcdef"), ["4", "5"], now=3.0, lease=lease)
    assert (6, []) == (lease.blocks, drain(index))
    lease.release()
    assert ["5", "4", "3", "abc", "ab", "a"] == drain(index)


@BOTH
def test_an_insert_may_stop_short_of_the_chain(make: Make) -> None:
    """As many blocks are published as there are values."""
    index = make(1)
    index.insert(chain("abcdef"), ["a", "b"], now=0.0)

    assert 2 == index.match(chain("abcdef")).blocks


@BOTH
def test_more_values_than_blocks_are_a_mistake(make: Make) -> None:
    """A value without a block would be lost."""
    with pytest.raises(AssertionError) as error:
        make(1).insert(chain("ab"), ["a", "b", "c"], now=0.0)

    assert "3 blocks of a chain of 2" == str(error.value)


@BOTH
def test_a_chain_cut_differently_is_a_mistake(make: Make) -> None:
    """Block sizes of index and chain must agree; a mismatch would only look like a miss."""
    with pytest.raises(AssertionError) as error:
        make(4).match(chain("ab"))

    assert "a chain of 1-token blocks met an index of 4" == str(error.value)


@BOTH
def test_eviction_takes_leaves_only(make: Make) -> None:
    """A block goes after everything behind it, however old it is."""
    index = make(1)
    put(index, "ab")
    put(index, "abcd")
    put(index, "abx")

    assert [["abcd"], ["abc", "abx"], ["ab", "a"]] == [
        [victim.value for victim in index.evict(blocks)] for blocks in (1, 2, 9)
    ]


@BOTH
@pytest.mark.parametrize("blocks", [0, -1])
def test_evicting_nothing_evicts_nothing(make: Make, blocks: int) -> None:
    """A demand that is already met costs no block."""
    index = make(1)
    put(index, "ab")

    assert ([], 2) == (index.evict(blocks), len(index))
    index.check()


@BOTH
def test_victims_carry_their_keys(make: Make) -> None:
    """What left can be told to others."""
    index = make(1)
    put(index, "ab")

    assert list(reversed(chain("ab").keys(2))) == [victim.key for victim in index.evict(2)]


@BOTH
def test_a_removal_drops_a_block_and_all_behind_it(make: Make) -> None:
    """What precedes it stays, and can be evicted at once if nothing else follows."""
    index = make(1)
    put(index, "abcd")
    put(index, "abxy")
    done = index.remove(chain("abc"))

    assert (["abcd", "abc"], 0) == ([victim.value for victim in done.removed], done.held)
    index.check()
    assert ["abxy", "abx", "ab", "a"] == drain(index)


@BOTH
def test_a_removal_inside_a_run_lets_what_precedes_be_evicted(make: Make) -> None:
    """The block in front of what was removed is a leaf now."""
    index = make(1)
    put(index, "abcd")
    index.remove(chain("ab"))
    index.check()

    assert ["a"] == drain(index)


@BOTH
def test_a_removal_leaves_what_leases_hold_and_says_how_much(make: Make) -> None:
    """Running requests keep what they stand on."""
    index = make(1)
    put(index, "abcd")
    put(index, "abx")
    index.pin(chain("abc"), now=1.0)
    done = index.remove(chain(""))

    assert {"abcd", "abx"} == {victim.value for victim in done.removed}
    assert (3, 3) == (done.held, len(index))
    assert 2 == index.remove(chain("ab")).held
    index.check()


@BOTH
def test_a_removal_of_what_is_not_cached_in_full_removes_nothing(make: Make) -> None:
    """A longer chain is not its prefix."""
    index = make(1)
    put(index, "ab")

    assert [Removal((), 0)] * 2 == [index.remove(chain(text)) for text in ("abc", "x")]
    assert 2 == len(index)


@BOTH
def test_a_very_deep_chain_is_no_danger(make: Make) -> None:
    """Nothing recurses: not a match, not a removal, not the end of the index itself."""
    index = make(1)
    deep = Chain(range(20_000), block_size=1, namespace=b"n")
    with index.pin(deep, now=0.0) as lease:
        for stop in range(2_000, 20_001, 2_000):
            index.insert(deep, ["v"] * 2_000, now=0.0, lease=lease)
            branch = [*range(stop - 1), 10**6]
            index.insert(Chain(branch, block_size=1, namespace=b"n"), ["b"] * stop, now=0.0)
        index.check()

        assert 20_000 == lease.blocks
    assert 20_010 == len(index)
    assert 20_010 == len(index.remove(chain("")).removed)
    index.insert(deep, ["v"] * 20_000, now=0.0)
    del index
