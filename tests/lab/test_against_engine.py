"""The simulator against the engine: one trace through both, every decision compared."""

from random import Random

import numpy as np
import pytest

from stemcache.engine.config import IndexForm
from stemcache.lab.policy_cache import PolicyCache
from stemcache.lab.question import Capacity, Question
from stemcache.lab.simulate import simulate
from stemcache.lab.visit import visits
from stemcache.policy import evict
from stemcache.trace.record import TraceRequest
from tests.engine.harness import Harness
from tests.lab.histories import chained

BLOCK = 4
PAGES = 20


def prompts(seed: int) -> list[list[int]]:
    """Paths through a small tree: they share, fork, end inside each other and repeat."""
    random = Random(seed)
    return [[random.randrange(3) for _ in range(random.randrange(1, 7))] for _ in range(150)]


def as_tokens(path: list[int]) -> list[int]:
    """What the engine is asked."""
    return [10 + 5 * branch + place for branch in path for place in range(BLOCK)]


def as_request(path: list[int], at_s: float) -> TraceRequest:
    """What the simulator is told."""
    ids = np.array(chained(path), np.int64)
    return TraceRequest(ids, BLOCK, len(path) * BLOCK, output_tokens=1, arrival_s=at_s)


@pytest.mark.parametrize("policy", evict.NAMES)
@pytest.mark.parametrize("form", ["hash", "radix"])
@pytest.mark.parametrize("seed", range(2))
def test_every_prompt_hits_in_the_engine_what_it_hits_in_the_simulator(
    form: IndexForm, policy: str, seed: int
) -> None:
    """Request by request, under every policy, in a pool so small that most are evicted."""
    engine = Harness(pages=PAGES, block_size=BLOCK, index=form, eviction=policy)
    cache = PolicyCache(evict.make(policy, block_tokens=BLOCK), PAGES)
    for number, path in enumerate(prompts(seed)):
        usage = engine.ask(str(number), as_tokens(path), max_tokens=1).usage
        (visit,) = visits([as_request(path, engine.clock.now())], engine_rules=True)
        assert usage is not None
        assert usage.cached_tokens == BLOCK * cache.feed(visit), f"prompt {number}"


@pytest.mark.parametrize("policy", ["lru", "slru"])
def test_a_whole_simulation_is_the_engines_sum(policy: str) -> None:
    """With the engine's rules, `simulate` reports what the engine's usage adds up to."""
    engine = Harness(pages=PAGES, block_size=BLOCK, eviction=policy)
    cached, trace = 0, []
    for number, path in enumerate(prompts(7)):
        usage = engine.ask(str(number), as_tokens(path), max_tokens=1).usage
        assert usage is not None
        cached += usage.cached_tokens
        trace.append(as_request(path, engine.clock.now()))
    question = Question(capacities=(Capacity(blocks=PAGES),), policies=(policy,), engine_rules=True)
    (result,) = simulate(trace, question).results
    assert result.total.hit_tokens == cached
