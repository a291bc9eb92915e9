from typing import Any

import numpy as np
import pytest

from stemcache.errors import UsageError
from stemcache.lab.visit import Tally, Times, visits
from stemcache.trace.record import TraceRequest


def request(
    blocks: int, tokens: int | None = None, *, at: float | None = None, **more: Any
) -> TraceRequest:
    """A prompt of that many blocks of four tokens."""
    return TraceRequest(
        np.arange(1, blocks + 1, dtype=np.int64),
        4,
        blocks * 4 if tokens is None else tokens,
        arrival_s=at,
        **more,
    )


def test_times_never_go_back() -> None:
    """A request that is late in the file comes when the one before it did; it is counted."""
    seen = Times()
    times = [each.now_s for each in visits([request(1, at=t) for t in (5, 3, 9, 1)], times=seen)]
    assert times == [5, 5, 9, 9]
    assert (seen.late, seen.furthest_back_s) == (2, 8)


def test_sessions_with_clocks_of_their_own_do_not_disturb_each_other() -> None:
    """A second session begins at zero again."""
    seen = Times()
    trace = [request(1, at=t, session=s, session_clock=True) for s, t in [("a", 9.0), ("b", 0.0)]]
    assert [each.now_s for each in visits(trace, times=seen)] == [9, 0]
    assert seen.late == 0


def test_without_times_requests_come_a_second_apart() -> None:
    """Order is all that is known."""
    seen = Times()
    assert [each.now_s for each in visits([request(1), request(1)], times=seen)] == [1, 2]
    assert seen.missing == 2


@pytest.mark.parametrize(
    ("blocks", "tokens", "ids", "size"),
    [
        (8, 32, [4, 8], 2),
        (7, 28, [4], 1),
        (3, 12, [], 0),
        (8, 31, [4, 8], 2),
        (9, 35, [4, 8, 9], 3),
        (3, 11, [3], 1),
    ],
)
def test_regrouped_blocks_are_named_by_their_end_and_partial_ones_stay(
    blocks: int, tokens: int, ids: list[int], size: int
) -> None:
    """The id of the last block of four stands for all before it; a partial one is left over."""
    (each,) = visits([request(blocks, tokens)], regroup=4)
    assert each.ids.tolist() == ids
    assert each.size == (size, 16, tokens)


@pytest.mark.parametrize(
    ("blocks", "tokens", "kept", "usable"),
    [(3, 12, 3, 2), (3, 11, 2, 2), (3, 9, 2, 2), (2, 11, 2, 2), (0, 3, 0, 0), (1, 4, 1, 0)],
)
def test_engines_share_full_blocks_and_compute_a_last_token(
    blocks: int, tokens: int, kept: int, usable: int
) -> None:
    """A partial block is dropped; a prompt of full blocks is never found whole."""
    (each,) = visits([request(blocks, tokens)], engine_rules=True)
    assert (len(each.ids), each.usable_blocks) == (kept, usable)


def test_tenants_can_be_kept_apart() -> None:
    """No two pairs of scope and tenant give one scope."""
    trace = [
        request(1, scope="a", tenant="b:c"),
        request(1, scope="a:b", tenant="c"),
        request(1, scope="a"),
    ]
    assert len({each.scope for each in visits(trace, isolate_tenants=True)}) == 3
    assert {each.scope for each in visits(trace)} == {"a", "a:b"}


def test_a_tally_counts_what_a_partial_block_holds() -> None:
    """Five blocks of four with one token missing."""
    tally = Tally()
    (each,) = visits([request(5, 19)])
    tally.add(each.size, 5)
    assert (tally.requests, tally.hit_blocks, tally.hit_tokens) == (1, 5, 19)
    assert (tally.block_hit_rate, tally.token_hit_rate) == (1.0, 1.0)


def test_split_blocks_share_as_before_and_keep_their_length() -> None:
    """Five blocks of four with a token missing become nineteen of one, or ten of two."""
    (ones,) = visits([request(5, 19)], split=4)
    assert ones.size == (19, 1, 19)
    (twos,) = visits([request(5, 19)], split=2)
    assert twos.size == (10, 2, 19)
    (other,) = visits([request(3)], split=4)
    assert other.ids.tolist() == ones.ids[:12].tolist()
    assert len(set(ones.ids.tolist())) == 19


def test_blocks_that_cannot_be_split_evenly_are_refused() -> None:
    """Four tokens are not three equal parts."""
    with pytest.raises(UsageError, match="blocks of 4 tokens cannot be cut into 3 equal ones"):
        list(visits([request(1)], split=3))


@pytest.mark.parametrize("own", [True, False])
def test_a_clock_starts_at_its_first_time(own: bool) -> None:  # noqa: FBT001
    """Be it below zero: the first request of a clock is never late."""
    seen = Times()
    trace = [request(1, at=t, session="a", session_clock=own) for t in (-5.0, -7.0, -1.0, 2.0)]
    assert [each.now_s for each in visits(trace, times=seen)] == [-5, -5, -1, 2]
    assert (seen.late, seen.furthest_back_s) == (1, 2)
