"""Token runs and chains: views, cuts, extras, and keys on demand."""

from array import array
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.core.hashing import BlockKey, stem_keys
from stemcache.core.namespace import Namespace, fields_digestible
from stemcache.core.tokens import Chain, TokenRun, Tokens, common_prefix
from stemcache.errors import RequestError


def ids(*tokens: int) -> Tokens:
    """An array of tokens."""
    return np.array(tokens, np.uint32)


# --- common_prefix


@pytest.mark.parametrize("length", [0, 1, 2, 255, 256, 257, 767, 768, 769, 2000])
def test_the_common_prefix_is_found_wherever_it_ends(length: int) -> None:
    """Strides of the comparison do not show in the result."""
    left = np.arange(3000, dtype=np.uint32)
    right = left.copy()
    right[length] += 1

    assert length == common_prefix(left, right)
    assert length == common_prefix(left[:length], left)
    assert length == common_prefix(left, left[:length])


@given(left=st.lists(st.integers(0, 1), max_size=700), right=st.lists(st.integers(0, 1)))
def test_the_common_prefix_is_that_of_a_token_by_token_walk(
    left: list[int], right: list[int]
) -> None:
    """It agrees with the loop anyone would write."""
    expected = 0
    while left[expected : expected + 1] == right[expected : expected + 1] != []:
        expected += 1

    assert expected == common_prefix(ids(*left), ids(*right))


# --- TokenRun


def test_a_run_holds_its_own_copy() -> None:
    """What the caller does to the array afterwards changes nothing."""
    source = ids(1, 2, 3)
    run = TokenRun(source)
    source[:] = 9

    assert [1, 2, 3] == run.view(0, 3).tolist()


def test_a_view_shares_memory() -> None:
    """Looking at tokens copies none."""
    run = TokenRun(ids(*range(100)))

    assert np.shares_memory(run.view(0, 50), run.view(25, 75))


def test_a_view_taken_before_an_append_stays_unchanged() -> None:
    """Growth never writes into what was there."""
    run = TokenRun(ids(1, 2, 3))
    view = run.view(1, 3)
    for token in range(1000):
        run.append(ids(token))

    assert [2, 3] == view.tolist()
    assert [1, 2, 3, *range(1000)] == run.view(0, len(run)).tolist()


def test_cuts_give_memory_back() -> None:
    """A run cut to a fraction does not keep its former size."""
    tail, head = TokenRun(ids(*range(10_000))), TokenRun(ids(*range(10_000)))
    tail.cut_tail(10)
    head.cut_head(9_990)

    assert list(range(10)) == tail.view(0, 10).tolist()
    assert list(range(9_990, 10_000)) == head.view(0, 10).tolist()
    assert (10, 10) == (len(tail._buffer), len(head._buffer))


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["append", "cut_tail", "cut_head"]), st.integers(0, 300)),
    max_size=30,
)


@given(operations=OPERATIONS)
def test_a_run_is_a_list_that_grows_and_is_cut(operations: list[tuple[str, int]]) -> None:
    """Any history of appends and cuts leaves what it leaves of a list; memory follows length."""
    run, twin = TokenRun(ids()), list[int]()
    for name, number in operations:
        if name == "append":
            new = list(range(number))
            run.append(ids(*new))
            twin += new
        elif name == "cut_tail":
            keep = min(number, len(twin))
            run.cut_tail(keep)
            del twin[keep:]
        else:
            drop = min(number, len(twin))
            run.cut_head(drop)
            del twin[:drop]

        assert twin == run.view(0, len(run)).tolist()
        assert len(run._buffer) <= 4 * len(twin) + 64 + 300


# --- Chain


class Recorder:
    """A scheme that writes down what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def __call__(
        self,
        parent: BlockKey | None,
        tokens: bytes,
        block_size: int,
        extras: Mapping[int, bytes],
        first: int,
    ) -> list[BlockKey]:
        keys = stem_keys(parent, tokens, block_size, extras, first)
        self.calls.append((first, len(keys)))
        return keys


def test_only_full_blocks_count() -> None:
    """A tail shorter than a block belongs to the chain, but is no block."""
    chain = Chain(range(10), block_size=4, namespace=b"n")

    assert (10, 2) == (len(chain), chain.blocks)
    assert [4, 5, 6, 7] == chain.view(1, 2).tolist()
    assert list(range(10)) == chain.tokens().tolist()


def test_keys_are_computed_once_and_on_demand() -> None:
    """Each block is hashed when it is first asked for, and never again."""
    scheme = Recorder()
    chain = Chain(range(40), block_size=4, namespace=b"n", scheme=scheme)
    chain.keys(0)
    chain.keys(2)
    chain.keys(1)
    chain.keys(5)
    chain.extend(range(4))
    chain.keys(11)

    assert [(0, 2), (2, 3), (5, 6)] == scheme.calls


@given(
    tokens=st.lists(st.integers(0, 2**32 - 1), max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    stops=st.lists(st.integers(0, 20), max_size=5),
    extras=st.dictionaries(st.integers(0, 20), st.binary(max_size=4), max_size=3),
)
def test_how_a_chain_grew_does_not_show_in_its_keys(
    tokens: list[int], cuts: list[int], stops: list[int], extras: dict[int, bytes]
) -> None:
    """Keys are those of the whole, however tokens came and whenever keys were asked for."""
    whole = Chain(tokens, block_size=3, namespace=b"n", extras=extras)
    pieces = Chain([], block_size=3, namespace=b"n", extras=extras)
    edges = sorted({0, len(tokens), *(cut for cut in cuts if cut < len(tokens))})
    for start, stop in pairwise(edges):
        pieces.extend(tokens[start:stop])
        for at in stops:
            pieces.keys(min(at, pieces.blocks))

    assert whole.keys(whole.blocks) == pieces.keys(pieces.blocks)


def test_asking_for_keys_of_blocks_that_are_not_there_is_a_mistake() -> None:
    """A partial block has no key."""
    chain = Chain(range(7), block_size=4, namespace=b"n")

    with pytest.raises(AssertionError) as error:
        chain.keys(2)

    assert "block 2 of a chain of 1" == str(error.value)


def test_block_0_carries_the_namespace() -> None:
    """Blocks carry their extra, the first one the namespace, with its own extra if it has one."""
    plain = Chain(range(8), block_size=2, namespace=b"n", extras={2: b"salt"})
    media = Chain(range(8), block_size=2, namespace=b"n", extras={0: b"image"})

    assert [b"n", None, b"salt", None] == [plain.extra(block) for block in range(4)]
    assert [fields_digestible(b"n", b"image"), None, None, None] == [
        media.extra(block) for block in range(4)
    ]


@given(
    left=st.binary(max_size=30),
    right=st.binary(max_size=30),
    extra=st.none() | st.binary(min_size=0),
)
def test_no_extra_of_block_0_turns_one_namespace_into_another(
    left: bytes, right: bytes, extra: bytes | None
) -> None:
    """A namespace with an extra is never the encoding of another namespace, with or without."""
    here = Namespace(left.hex(), salt=right.hex()).encode()
    there = Namespace(right.hex(), salt=left.hex()).encode()
    extras = {} if extra is None else {0: extra}
    chains = [
        Chain([1], block_size=1, namespace=here, extras=extras),
        Chain([1], block_size=1, namespace=here, extras={0: there}),
        Chain([1], block_size=1, namespace=there),
    ]
    distinct = {
        (left, right, 0 if extra is None else (1, extra)),
        (left, right, (1, there)),
        (right, left, 0),
    }

    assert len(distinct) == len({chain.keys(1)[0] for chain in chains})


def test_the_next_extra_is_found_from_any_block() -> None:
    """Where a run of the tree must end: the next block that carries an extra, or the end."""
    chain = Chain(range(20), block_size=2, namespace=b"n", extras={7: b"x", 3: b"y", 50: b"z"})

    assert [0, 3, 3, 3, 7, 7, 7, 7, 10, 10, 10] == [chain.next_extra(block) for block in range(11)]


def test_a_block_size_below_one_is_a_mistake() -> None:
    """There is no block of no tokens."""
    with pytest.raises(AssertionError) as error:
        Chain([1], block_size=0, namespace=b"n")

    assert "block_size is 0" == str(error.value)


@pytest.mark.parametrize(
    "tokens",
    [
        [1, 2, 2**32 - 1],
        (1, 2, 2**32 - 1),
        array("L", [1, 2, 2**32 - 1]),
        np.array([1, 2, 2**32 - 1], np.int64),
        np.array([1, 2, 2**32 - 1], np.uint32),
        np.array([1, 2, 2**32 - 1], np.uint64),
        [np.int64(1), np.uint8(2), 2**32 - 1],
    ],
    ids=["list", "tuple", "array", "int64", "uint32", "uint64", "list of numpy integers"],
)
def test_tokens_come_in_any_sequence_of_whole_numbers(tokens: list[int]) -> None:
    """Lists, tuples and arrays of every integer type give one chain."""
    assert [1, 2, 2**32 - 1] == Chain(tokens, block_size=1, namespace=b"").tokens().tolist()


@pytest.mark.parametrize("tokens", [[], (), np.array([]), np.array([], np.int64)])
def test_no_tokens_are_an_empty_chain(tokens: list[int]) -> None:
    """Emptiness has no type."""
    assert 0 == len(Chain(tokens, block_size=1, namespace=b""))


OUTSIDE = "token id {} is outside 0 to 4294967295; send valid ids"
NOT_WHOLE = "tokens are not whole numbers; send a list of token ids"


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([1, -1], OUTSIDE.format(-1)),
        ((1, -1), OUTSIDE.format(-1)),
        (np.array([1, -1]), OUTSIDE.format(-1)),
        ([1, 2**32], OUTSIDE.format(2**32)),
        (np.array([1, 2**32]), OUTSIDE.format(2**32)),
        (np.array([1, 2**64 - 1], np.uint64), OUTSIDE.format(2**64 - 1)),
        ([2**63, -1], OUTSIDE.format(2**63)),
        ([10**30], OUTSIDE.format(10**30)),
        ([1, 1.0], NOT_WHOLE),
        ([1, "2"], NOT_WHOLE),
        ([None], NOT_WHOLE),
        ([[1, 2], [3, 4]], NOT_WHOLE),
        ([float("nan")], NOT_WHOLE),
        ("12", NOT_WHOLE),
        (np.array([1.0]), NOT_WHOLE),
        (np.array([True]), NOT_WHOLE),
    ],
)
def test_what_is_no_token_is_refused(tokens: list[int], message: str) -> None:
    """A request's bad ids are named, at construction and when a chain grows."""
    chain = Chain([], block_size=1, namespace=b"")
    for attempt in (
        lambda: Chain(tokens, block_size=1, namespace=b""),
        lambda: chain.extend(tokens),
    ):
        with pytest.raises(RequestError) as error:
            attempt()

        assert message == str(error.value)
    assert 0 == len(chain)
