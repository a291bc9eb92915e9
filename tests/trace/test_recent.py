from hypothesis import given
from hypothesis import strategies as st

from stemcache.trace.recent import Recent, common_blocks
from tests.trace.traces import request_of, shared_blocks

IDS = st.lists(st.integers(0, 2), max_size=6)


@given(IDS, IDS)
def test_common_blocks_are_counted_as_one_by_one(left: list[int], right: list[int]) -> None:
    """Also where one is the beginning of the other, or empty."""
    one, other = request_of(*left), request_of(*right)
    assert common_blocks(one.block_ids, other.block_ids) == shared_blocks(one, other)


def test_the_latest_of_each_place_is_given_once() -> None:
    """A place is a scope and a session."""
    recent: Recent[str] = Recent()
    first, again, other = request_of(1), request_of(1, 2), request_of(1, session="s")
    assert recent.take(first) is None
    recent.put(first, "first")
    assert recent.take(other) is None
    seen = recent.take(again)
    assert seen is not None
    assert (seen.ids.tolist(), seen.made) == ([1], "first")
    assert recent.take(again) is None


def test_the_least_recent_are_forgotten() -> None:
    """When all together have more blocks than may be kept."""
    recent: Recent[int] = Recent(kept_blocks=5)
    requests = [request_of(1, 2, session=str(i)) for i in range(3)]
    for i, request in enumerate(requests):
        recent.put(request, i)
    kept = [seen.made for request in requests if (seen := recent.take(request))]
    assert kept == [1, 2]


def test_places_without_blocks_are_bounded_too() -> None:
    """Empty prompts of many sessions do not fill the memory."""
    recent: Recent[int] = Recent(kept_blocks=5)
    requests = [request_of(session=str(i)) for i in range(9)]
    for i, request in enumerate(requests):
        recent.put(request, i)
    assert sum(recent.take(request) is not None for request in requests) == 5
