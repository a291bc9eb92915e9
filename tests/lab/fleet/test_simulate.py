"""Little fleets worked out by hand."""

import pytest

from stemcache.errors import UsageError
from stemcache.lab.fleet.simulate import simulate_fleet
from stemcache.lab.question import Capacity, Question
from stemcache.lab.simulate import simulate
from tests.lab.fleet.fleets import request, setup

# Two conversations, A (blocks 1 …) and B (blocks 11 …), that come in turn every 10 s.
TALKS = [
    request(0.0, 1, 2),
    request(10.0, 11, 12),
    request(20.0, 1, 2, 3),
    request(30.0, 11, 12, 13),
]


def test_round_robin_over_two_keeps_two_conversations_apart_by_luck() -> None:
    """Each replica sees one of them: 4 of 10 blocks are found, and the last ones wait a second."""
    result = simulate_fleet(TALKS, setup(), Question())
    (found,) = result.outcomes
    assert (found.total.hit_blocks, found.total.blocks) == (4, 10)
    assert [share.requests for share in found.shares] == [2, 2]
    assert [share.computed_tokens for share in found.shares] == [300, 300]
    assert found.waits.ordered_s == [1.0, 1.0, 2.0, 2.0]
    assert found.end_s == 31.0
    assert result.one_cache.results[0].total.hit_blocks == 4


def test_round_robin_over_three_finds_nothing() -> None:
    """The third request is the first of the third replica."""
    (found,) = simulate_fleet(TALKS, setup(replicas=3), Question()).outcomes
    assert found.total.hit_blocks == 0
    assert [share.requests for share in found.shares] == [2, 1, 1]


@pytest.mark.parametrize("capacity", [3, 4, 5, 100])
@pytest.mark.parametrize("eviction", ["lru", "fifo", "slru"])
@pytest.mark.parametrize("engine_rules", [False, True])
def test_one_replica_that_serves_one_at_a_time_is_one_cache(
    *, capacity: int, eviction: str, engine_rules: bool
) -> None:
    """Its hits are those of `simulate` without a fleet, whatever evicts."""
    talks = [*TALKS, request(40.0, 1, 2, 4), request(50.0, 11, 12, 13), request(60.0, 1, 2, 3, 5)]
    question = Question(engine_rules=engine_rules)
    fleet = setup(replicas=1, capacity=Capacity(capacity), eviction=eviction, concurrency=1)
    (found,) = simulate_fleet(talks, fleet, question).outcomes
    plain = simulate(
        talks,
        Question(capacities=(Capacity(capacity),), policies=(eviction,), engine_rules=engine_rules),
    )
    assert found.total == plain.results[0].total


def test_session_clocks_and_missing_times_are_refused() -> None:
    """With what to do instead."""
    with pytest.raises(UsageError, match=r"request 1 has no time, .* add --concurrency N"):
        simulate_fleet([request(None, 1)], setup(), Question())
    with pytest.raises(UsageError, match="no requests"):
        simulate_fleet([], setup(), Question())
