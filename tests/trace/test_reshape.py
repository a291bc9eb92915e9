from collections.abc import Iterator

from stemcache.trace.record import TraceRequest
from stemcache.trace.reshape import Reshape, in_time_order, shrunk
from tests.trace.traces import request_of, same


def test_shrunk_blocks_shrink_the_prompt() -> None:
    """To as many tokens as its blocks then hold; all else stays."""
    request = request_of(1, 2, 3, prompt_tokens=10, output_tokens=7, arrival_s=1.5, tenant="a")
    expected = request_of(
        1, 2, 3, block_tokens=2, prompt_tokens=6, output_tokens=7, arrival_s=1.5, tenant="a"
    )
    assert same(shrunk(request, 2), expected)


def test_the_limit_counts_before_long_prompts_are_dropped() -> None:
    """Lengths are those after shrinking, and what is dropped is counted."""
    requests = [request_of(*range(n)) for n in (1, 9, 2, 3, 1)]
    reshape = Reshape(limit=4, block_tokens=10, max_prompt_tokens=25)
    assert [one.prompt_tokens for one in reshape(requests)] == [10, 20]
    assert reshape.dropped == 2


def test_nothing_asked_for_changes_nothing() -> None:
    """Not one request."""
    requests = [request_of(1), request_of(2)]
    reshape = Reshape()
    assert all(map(same, reshape(requests), requests))
    assert reshape.dropped == 0


def test_a_limit_ends_the_reading() -> None:
    """What comes behind it is not even looked at."""

    def endless() -> Iterator[TraceRequest]:
        while True:
            yield request_of(1)

    assert len(list(Reshape(limit=3)(endless()))) == 3


def test_sorting_keeps_the_order_of_equal_times() -> None:
    """Requests without a time come last."""
    times = [2.0, None, 1.0, 2.0, -1.0, None]
    requests = [request_of(i, arrival_s=time) for i, time in enumerate(times)]
    assert [int(one.block_ids[0]) for one in in_time_order(requests)] == [4, 2, 0, 3, 1, 5]
