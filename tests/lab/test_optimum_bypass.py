"""MIN that need not admit."""

from random import Random

import pytest

from stemcache.lab.optimum import Future, optimum
from stemcache.lab.visit import Visit
from tests.lab.histories import random_trace, visit


def hits_of(trace: list[Visit], capacity: int, *, bypass: bool) -> int:
    """Blocks that MIN hits."""
    future = Future()
    for each in trace:
        future.feed(each)
    return sum(hits for *_, hits in optimum(future, capacity, bypass=bypass))


def test_a_prompt_that_never_returns_passes_by() -> None:
    """Two blocks stay while one passes."""
    trace = [visit([1, 2]), visit([7]), visit([1, 2])]
    assert hits_of(trace, 2, bypass=True) == 2


@pytest.mark.parametrize("seed", range(20))
def test_a_choice_more_never_hurts(seed: int) -> None:
    """With bypass the optimum is at least what it is without, and at most the ideal."""
    trace = random_trace(Random(seed), 150, deepest=6, fan=3)
    ideal = hits_of(trace, 10_000, bypass=False)
    for capacity in (1, 3, 10, 40):
        forced = hits_of(trace, capacity, bypass=False)
        free = hits_of(trace, capacity, bypass=True)
        assert forced <= free <= ideal
