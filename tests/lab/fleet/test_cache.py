"""A replica's cache under random histories: its room is never exceeded, and nothing is lost."""

from random import Random

import pytest

from stemcache.lab.fleet.cache import Entry, ReplicaCache
from stemcache.lab.policy_cache import PolicyCache
from stemcache.policy import evict
from tests.lab.fleet.fleets import made, request


@pytest.mark.parametrize("name", evict.NAMES)
def test_one_at_a_time_is_the_cache_of_the_plain_simulator(name: str) -> None:
    """Every request finds the same, under every policy."""
    draws = Random(3)
    requests = [
        request(float(n), *([draws.randrange(3)] + [10 * draws.randrange(9) + k for k in range(3)]))
        for n in range(200)
    ]
    mine, plain = ReplicaCache(evict.make(name), 12), PolicyCache(evict.make(name), 12)
    for job in made(*requests):
        entry = mine.enter(job, now_s=job.visit.now_s, alone=True)
        assert entry is not None
        mine.publish(entry, now_s=job.visit.now_s)
        mine.leave(entry)
        assert entry.found == plain.feed(job.visit)


@pytest.mark.parametrize("seed", range(5))
def test_what_runs_is_never_evicted_and_the_room_never_exceeded(seed: int) -> None:
    """With up to four answers at once, over 300 requests."""
    draws = Random(seed)
    cache, capacity = ReplicaCache(evict.make("lru"), 20), 20
    running: list[Entry] = []
    for job in made(
        *(
            request(0, *(100 * draws.randrange(4) + k for k in range(draws.randrange(1, 9))))
            for _ in range(300)
        )
    ):
        while (entry := cache.enter(job, now_s=0.0, alone=not running)) is None:
            cache.leave(running.pop(draws.randrange(len(running))))
        assert len(cache) + entry.missing <= capacity
        cache.publish(entry, now_s=0.0)
        running.append(entry)
        for each in running:
            assert cache.match(each.job) == each.job.chain.blocks
        if len(running) == 4:
            cache.leave(running.pop(draws.randrange(4)))


def test_a_smaller_room_drops_what_was_used_least_recently() -> None:
    """Three of five blocks go, from the ends."""
    cache = ReplicaCache(evict.make("lru"), 5)
    jobs = made(request(0, 1, 2, 3), request(1, 8, 9))
    for job in jobs:
        entry = cache.enter(job, now_s=0.0, alone=True)
        assert entry is not None
        cache.publish(entry, now_s=0.0)
        cache.leave(entry)
    cache.resize(3)
    assert [cache.match(job) for job in jobs] == [1, 2]
    cache.resize(50)
    assert len(cache) == 3
