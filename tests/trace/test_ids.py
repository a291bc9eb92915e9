import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.trace.ids import block_ids, chained, check_cover, mixed
from stemcache.trace.problem import BadLineError
from tests.trace.traces import request_of, shared_blocks


def test_integers_of_64_bits_keep_their_bits() -> None:
    """Unsigned ones wrap around."""
    values: list[int | str] = [0, 1, -1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]
    assert block_ids(values).tolist() == [0, 1, -1, 2**63 - 1, -(2**63), -(2**63), -1]
    assert block_ids([]).tolist() == []
    assert block_ids([5]).dtype == np.int64


def test_larger_integers_and_texts_are_hashed() -> None:
    """To 64 bits that are the same in every run, and told apart from one another."""
    values: list[int | str] = [2**64, -(2**63) - 1, 2**200, "", "1", "a", "\ud800", 1]
    ids = block_ids(values).tolist()
    assert len(set(ids)) == len(values)
    assert ids == block_ids(values).tolist()
    assert ids[-1] == 1


@given(st.lists(st.integers(0, 2), max_size=8), st.lists(st.integers(0, 2), max_size=8))
def test_chained_ids_share_what_the_blocks_did(left: list[int], right: list[int]) -> None:
    """Equal up to the first block that differs, and different from there on."""
    one, other = (request_of(*chained(request_of(*ids).block_ids)) for ids in (left, right))
    shared = shared_blocks(request_of(*left), request_of(*right))
    assert shared_blocks(one, other) == shared
    rest = set(one.block_ids.tolist()[shared:]) & set(other.block_ids.tolist()[shared:])
    assert not rest


def test_a_block_that_comes_again_gets_another_chained_id() -> None:
    """For it stands behind another prefix."""
    assert len(set(chained(request_of(7, 7, 7, 7).block_ids).tolist())) == 4


def test_mixing_is_a_bijection() -> None:
    """On the numbers that traces have, at least."""
    values = np.arange(100_000, dtype=np.uint64)
    assert len(set(mixed(values).tolist())) == len(values)


@pytest.mark.parametrize(("count", "tokens"), [(0, 0), (0, 3), (1, 3), (1, 4), (1, 5), (2, 5)])
def test_ids_cover_the_prompt_with_or_without_the_partial_block(count: int, tokens: int) -> None:
    """Both habits are found in traces."""
    check_cover(count, tokens, 4)


@pytest.mark.parametrize(
    ("count", "tokens", "takes"), [(1, 0, "0"), (0, 4, "1"), (2, 4, "1"), (3, 5, "1 or 2")]
)
def test_ids_that_do_not_cover_the_prompt_are_told(count: int, tokens: int, takes: str) -> None:
    """With how many there should be, and the flag that may be wrong."""
    with pytest.raises(BadLineError) as caught:
        check_cover(count, tokens, 4)
    assert caught.value.reason == (
        f"{count} block ids for {tokens} tokens at 4 a block, which takes {takes}"
    )
    assert caught.value.fix == "give the right --block-size, mend the line"
