from random import Random

import pytest

from stemcache.lab.optimum import Future, optimum
from stemcache.lab.policy_cache import PolicyCache
from stemcache.lab.visit import Visit
from stemcache.policy import evict
from tests.lab.histories import plain_optimum, random_trace, visit


def future_of(trace: list[Visit]) -> Future:
    """All of a trace."""
    future = Future()
    for each in trace:
        future.feed(each)
    return future


def hits_of(trace: list[Visit], capacity: int) -> int:
    """Blocks that MIN hits."""
    return sum(hits for _, _, hits in optimum(future_of(trace), capacity))


@pytest.mark.parametrize("seed", range(60))
def test_nothing_hits_more(seed: int) -> None:
    """Trying every order of evictions on small traces finds nothing better, and not less."""
    random = Random(seed)
    trace = random_trace(random, 9, deepest=3, fan=2)
    for capacity in range(1, 8):
        assert hits_of(trace, capacity) == plain_optimum(trace, capacity)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("policy", evict.NAMES)
def test_no_policy_beats_it(policy: str, seed: int) -> None:
    """On longer traces every policy of the engine hits at most as much."""
    trace = random_trace(Random(seed), 200, deepest=8, fan=3, scopes=2)
    for capacity in (1, 5, 20, 60):
        cache = PolicyCache(evict.make(policy), capacity)
        assert sum(map(cache.feed, trace)) <= hits_of(trace, capacity)


def test_a_request_is_admitted_whole() -> None:
    """Bypassing the middle prompt would hit two; admitting it costs one of them."""
    trace = [visit([1, 2]), visit([7]), visit([1, 2])]
    assert hits_of(trace, 2) == 1
    assert hits_of(trace, 3) == 2


def test_a_prompt_that_does_not_fit_keeps_its_beginning() -> None:
    """Three of five blocks stay."""
    trace = [visit([1, 2, 3, 4, 5]), visit([1, 2, 3, 4, 5])]
    assert hits_of(trace, 3) == 3


def test_requests_are_told_with_tenant_and_size() -> None:
    """In order, one for each."""
    trace = [visit([1, 2], tenant="a", short=3), visit([], tenant="b"), visit([1, 2], usable=1)]
    told = list(optimum(future_of(trace), 10))
    assert [(tenant, size.blocks, size.prompt_tokens, hits) for tenant, size, hits in told] == [
        ("a", 2, 5, 0),
        ("b", 0, 0, 0),
        (None, 2, 8, 1),
    ]


def test_the_future_can_be_asked_again_and_can_grow() -> None:
    """Capacities share it; a request more changes it."""
    future = future_of([visit([1]), visit([1])])
    assert sum(hits for *_, hits in optimum(future, 1)) == 1
    assert sum(hits for *_, hits in optimum(future, 1)) == 1
    future.feed(visit([1]))
    assert sum(hits for *_, hits in optimum(future, 1)) == 2
