"""What is particular to the tree: its shape, that it hashes nothing, what its check finds."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from stemcache.core.hash_index import HashIndex
from stemcache.core.hashing import BlockKey
from stemcache.core.index import PrefixIndex, Rank, Stamp
from stemcache.core.radix_index import RadixIndex
from stemcache.core.radix_run import Run
from stemcache.core.tokens import Chain
from stemcache.policy.evict.lru import Lru


def no_keys(
    parent: BlockKey | None,
    tokens: bytes,
    block_size: int,
    extras: Mapping[int, bytes],
    first: int,
) -> list[BlockKey]:
    """A scheme that must not be asked."""
    raise AssertionError("keys were computed", parent, tokens, block_size, extras, first)


def chain(text: str, **options: Any) -> Chain:
    """A letter a token, a token a block, no keys."""
    tokens = [ord(letter) for letter in text]
    return Chain(tokens, block_size=1, namespace=b"n", scheme=no_keys, **options)


def index_of(*texts: str) -> RadixIndex[str, int]:
    """A tree with these chains, without keys."""
    index: RadixIndex[str, int] = RadixIndex(block_size=1, policy=Lru())
    for text in texts:
        index.insert(chain(text), list(text), now=0.0)
    return index


def shape(index: RadixIndex[str, int]) -> dict[str, Any]:
    """The tree as nested dictionaries of run texts."""

    def below(runs: Mapping[Any, Run[str, int]]) -> dict[str, Any]:
        return {"".join(run.values): below(run.children) for run in runs.values()}

    return below(index._roots)


def test_a_run_splits_where_chains_part() -> None:
    """There is one run for every stretch without a branch."""
    index = index_of("abcd")

    assert {"abcd": {}} == shape(index)
    index.insert(chain("abx"), list("abx"), now=1.0)
    assert {"ab": {"cd": {}, "x": {}}} == shape(index)
    index.insert(chain("q"), ["q"], now=2.0)
    assert {"ab": {"cd": {}, "x": {}}, "q": {}} == shape(index)


def test_a_look_up_changes_no_shape() -> None:
    """Neither a match nor a pin nor a release splits a run, wherever it ends."""
    index = index_of("abcdef")
    index.match(chain("abx"))
    lease = index.pin(chain("abcx"), now=1.0)
    index.pin(chain("ab"), now=2.0).release()
    lease.release()

    assert {"abcdef": {}} == shape(index)
    index.check()


def test_chunks_extend_their_run() -> None:
    """A prompt that comes in pieces is one run in the end."""
    index = index_of()
    whole = chain("abcdefgh")
    with index.pin(whole, now=0.0) as lease:
        for at in range(0, 8, 2):
            index.insert(whole, whole_part("abcdefgh", at), now=0.0, lease=lease)

    assert {"abcdefgh": {}} == shape(index)


def whole_part(text: str, at: int) -> list[str]:
    """Two letters of a text."""
    return list(text[at : at + 2])


def test_a_block_with_an_extra_begins_a_run() -> None:
    """The extra is part of the edge, so it is compared once, not block by block."""
    index = index_of()
    index.insert(chain("abcd", extras={2: b"x"}), list("abcd"), now=0.0)
    index.insert(chain("abcd"), list("abCD"), now=1.0)

    assert {"ab": {"cd": {}, "CD": {}}} == shape(index)
    index.check()


def test_no_key_is_computed_unless_keys_are_kept() -> None:
    """All verbs work on tokens alone, and victims have no key then."""
    index = index_of("abc", "abd")
    with index.pin(chain("ab"), now=1.0) as lease:
        index.insert(chain("abe"), ["e"], now=1.0, lease=lease)
    index.match(chain("abe"))
    index.remove(chain("abd"))

    assert [None] * 4 == [victim.key for victim in index.evict(9)]


def test_a_removed_subtree_is_walked_not_searched() -> None:
    """Removal from a run's middle keeps the head as one run."""
    index = index_of("abcdef", "abcxyz")
    index.remove(chain("abcde"))
    index.remove(chain("abcx"))

    assert {"abc": {"d": {}}} == shape(index)
    index.check()


def test_siblings_of_one_first_token_share_a_run_only_at_equal_blocks() -> None:
    """At block size 2 children are told apart by their whole first block."""
    index: RadixIndex[str, int] = RadixIndex(block_size=2, policy=Lru())
    for tokens in ([1, 2], [1, 3]):
        index.insert(Chain(tokens, block_size=2, namespace=b"n"), ["v"], now=0.0)

    assert 2 == len(index._roots)
    index.check()


def test_memory_follows_what_is_left() -> None:
    """A long run evicted to its head does not keep the tokens that left."""
    index: RadixIndex[int, int] = RadixIndex(block_size=1, policy=Lru())
    whole = Chain(np.arange(100_000), block_size=1, namespace=b"n")
    index.insert(whole, list(range(100_000)), now=0.0)
    index.evict(99_990)
    (run,) = index._roots.values()

    assert len(run.tokens._buffer) <= 4 * 10 + 64


def test_a_use_at_the_end_of_a_run_makes_no_span() -> None:
    """Conversations that come back to where they ended leave no trace but their recency."""
    index = index_of("abcd")
    for now in range(100):
        index.pin(chain("abcd"), now=float(now)).release()
    (run,) = index._roots.values()

    assert (1, 101) == (len(run.spans), run.last)


def test_eviction_inside_spans_keeps_the_order_of_uses() -> None:
    """Blocks taken many at once come in the order in which they would come one by one."""
    index = index_of("abcdefgh", "xyz")
    index.pin(chain("abcd"), now=1.0).release()
    index.pin(chain("x"), now=2.0).release()

    assert list("hgfezy") == [victim.value for victim in index.evict(6)]
    assert list("dcbax") == [victim.value for victim in index.evict(9)]


def damage(change: Callable[[RadixIndex[str, int], dict[str, Run[str, int]]], None]) -> str:
    """What `check` says of a small index after `change`; runs are named by their texts."""
    index = index_of("abcd", "abxy")
    index.pin(chain("ab"), now=1.0)
    index.check()
    (top,) = index._roots.values()
    runs = {"".join(run.values): run for run in (top, *top.children.values())}
    change(index, runs)
    with pytest.raises(AssertionError) as error:
        index.check()
    return str(error.value).partition("\n")[0]


def test_check_names_what_is_broken() -> None:
    """Each invariant has a message of its own."""
    Runs = dict[str, Run[str, int]]  # noqa: N806  a type

    def move(index: RadixIndex[str, int], runs: Runs) -> None:  # noqa: ARG001  one signature
        runs["ab"].children[b"elsewhere"] = runs["ab"].children.pop(runs["cd"].edge)

    def shift(index: RadixIndex[str, int], runs: Runs) -> None:  # noqa: ARG001  one signature
        runs["cd"].start = 1

    def key(index: RadixIndex[str, int], runs: Runs) -> None:  # noqa: ARG001  one signature
        runs["cd"].keys = [BlockKey(b"c"), BlockKey(b"d")]

    def pin_below(index: RadixIndex[str, int], runs: Runs) -> None:  # noqa: ARG001  one signature
        runs["cd"].spans[0].pins = 2

    def pin_both(index: RadixIndex[str, int], runs: Runs) -> None:
        for text in ("cd", "xy"):
            runs[text].spans[0].pins = 1
            index._leaves.withdraw(runs[text])

    def withdraw(index: RadixIndex[str, int], runs: Runs) -> None:
        index._leaves.withdraw(runs["cd"])

    def outrank(index: RadixIndex[str, int], runs: Runs) -> None:  # noqa: ARG001  one signature
        runs["cd"].last = 99

    def offer(index: RadixIndex[str, int], runs: Runs) -> None:
        index._leaves.offer(runs["ab"], (0,))

    def leave(index: RadixIndex[str, int], runs: Runs) -> None:
        del runs["ab"].children[runs["cd"].edge]
        index._blocks -= 2

    def count(index: RadixIndex[str, int], runs: Runs) -> None:  # noqa: ARG001  one signature
        index._blocks = 9

    def count_pins(index: RadixIndex[str, int], runs: Runs) -> None:  # noqa: ARG001  one signature
        index._pinned = 9

    assert "a run is not where its edge says" == damage(move)
    assert "a run starts elsewhere" == damage(shift)
    assert "a run keeps keys against the setting" == damage(key)
    assert "a run has more pins than what precedes it" == damage(pin_below)
    assert "a run misses pins of its descendants" == damage(pin_both)
    assert "a leaf is queued wrongly" == damage(withdraw)
    assert "a leaf is queued wrongly" == damage(outrank)
    assert "a run is queued but its end is not free" == damage(offer)
    assert "the heap holds runs that left" == damage(leave)
    assert "6 blocks stand in the tree, 9 counted" == damage(count)
    assert "2 blocks are pinned, 9 counted" == damage(count_pins)


class Heavy(NamedTuple):
    """How many blocks stood behind a block, itself included, and when one was last used."""

    blocks: int
    last: int


class Weigh:
    """A policy whose states grow with every descendant that leaves; no policy of ours does that."""

    name = "weigh"

    def inserted(self, stamp: Stamp) -> Heavy:
        return Heavy(1, stamp.seq)

    def used(self, state: Heavy, stamp: Stamp) -> Heavy:
        return Heavy(state.blocks, stamp.seq)

    def inherited(self, state: Heavy, child: Heavy) -> Heavy:
        return Heavy(state.blocks + child.blocks, max(state.last, child.last))

    def evicted(self, state: Heavy) -> None:
        pass

    def rank(self, state: Heavy) -> Rank:
        return state


@pytest.mark.parametrize("seed", range(50))
def test_any_policy_sees_what_it_would_see_of_a_table(seed: int) -> None:
    """Where ranks change as a run shrinks, its blocks go one by one, in the table's order."""
    random = Random(seed)
    forms: list[PrefixIndex[int]] = [
        HashIndex[int, Heavy](block_size=1, policy=Weigh()),
        RadixIndex[int, Heavy](block_size=1, policy=Weigh()),
    ]
    for step in range(60):
        text = [random.randint(0, 1) for _ in range(random.randint(1, 8))]
        some = Chain(text, block_size=1, namespace=b"n")
        for form in forms:
            form.insert(some, [100 * step + at for at in range(len(text))], now=0.0)
            form.pin(some, now=0.0, max_blocks=step % 5).release()
        if random.random() < 0.3:
            top = Chain(text[: random.randint(1, 8)], block_size=1, namespace=b"n")
            left, right = ({victim.value for victim in form.remove(top).removed} for form in forms)

            assert left == right
        blocks = random.randint(0, 12)
        left_out, right_out = ([victim.value for victim in form.evict(blocks)] for form in forms)

        assert left_out == right_out
        forms[1].check()
