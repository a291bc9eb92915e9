"""What a router believes of caches: exactly, and by guessing."""

from stemcache.lab.fleet.belief import Exact, Guess
from stemcache.lab.fleet.cache import ReplicaCache
from stemcache.lab.fleet.job import Job
from stemcache.policy.evict import Lru
from tests.lab.fleet.fleets import made, request


def serve(cache: ReplicaCache, job: Job) -> int:
    """Play a request by itself; how many blocks were found."""
    entry = cache.enter(job, now_s=0.0, alone=True)
    assert entry is not None
    cache.publish(entry, now_s=0.0)
    cache.leave(entry)
    return entry.found


def test_exact_knows_what_is_there_and_what_is_on_its_way() -> None:
    """A prompt counts once it is sent; blocks that were evicted do not."""
    caches = [ReplicaCache(Lru(), 3), ReplicaCache(Lru(), 3)]
    exact = Exact(caches)
    first, longer, other = made(request(0, 1, 2), request(0, 1, 2, 3, 4), request(0, 9, 8, 7))
    assert exact.cached_blocks(longer, 0) == 0
    exact.sent(first, 0)
    assert [exact.cached_blocks(longer, at) for at in (0, 1)] == [2, 0]
    serve(caches[0], first)
    exact.answered(first, 0, predicted=0, reported=0)
    assert exact.cached_blocks(longer, 0) == 2
    assert exact.held_blocks(0) == 2
    serve(caches[0], other)
    assert exact.cached_blocks(longer, 0) == 0


def test_exact_adds_what_is_on_its_way_to_what_is_there() -> None:
    """Two blocks are there, a third and fourth will be; an unrelated end is not believed."""
    caches = [ReplicaCache(Lru(), 100)]
    exact = Exact(caches)
    short, longer, other, asked = made(
        request(0, 1, 2), request(0, 1, 2, 3, 4), request(0, 1, 2, 9), request(0, 1, 2, 3, 4, 5)
    )
    serve(caches[0], short)
    exact.sent(longer, 0)
    exact.sent(other, 0)
    assert exact.cached_blocks(asked, 0) == 4
    exact.answered(longer, 0, predicted=2, reported=2)
    assert exact.cached_blocks(asked, 0) == 2
    assert exact.cached_blocks(other, 0) == 3
    exact.answered(other, 0, predicted=2, reported=2)
    assert exact.cached_blocks(other, 0) == 2


def test_the_same_prompt_twice_on_its_way_stays_until_both_are_answered() -> None:
    """The first answer does not make the second forgotten."""
    exact = Exact([ReplicaCache(Lru(), 100)])
    one, two = made(request(0, 1, 2), request(0, 1, 2))
    exact.sent(one, 0)
    exact.sent(two, 0)
    exact.answered(one, 0, predicted=0, reported=0)
    assert exact.cached_blocks(one, 0) == 2
    exact.answered(two, 0, predicted=2, reported=2)
    assert exact.cached_blocks(one, 0) == 0


def test_a_guess_is_what_was_sent_and_is_bounded() -> None:
    """The least recently sent goes first; nobody tells of what the replica did."""
    guess = Guess(2, 20)
    jobs = made(*(request(0, *range(10 * n, 10 * n + 10)) for n in range(3)))
    for job in jobs:
        guess.sent(job, 0)
    assert [guess.cached_blocks(job, 0) for job in jobs] == [0, 10, 10]
    assert [guess.cached_blocks(job, 1) for job in jobs] == [0, 0, 0]
    assert (guess.held_blocks(0), guess.held_blocks(1)) == (20, 0)


def test_a_guess_that_was_too_high_believes_less() -> None:
    """4 blocks fewer were found than thought: room for 16, so the oldest 4 blocks go."""
    guess = Guess(1, 20)
    old, young = made(request(0, *range(10)), request(0, *range(10, 20)))
    guess.sent(old, 0)
    guess.sent(young, 0)
    guess.answered(young, 0, predicted=4, reported=0)
    assert [guess.cached_blocks(job, 0) for job in (old, young)] == [6, 10]


def test_a_guess_that_was_too_low_believes_more() -> None:
    """What was found makes room for as much more."""
    guess = Guess(1, 20)
    jobs = made(*(request(0, *range(10 * n, 10 * n + 10)) for n in range(3)))
    guess.answered(jobs[0], 0, predicted=0, reported=10)
    for job in jobs:
        guess.sent(job, 0)
    assert guess.held_blocks(0) == 30


def test_a_guess_never_shrinks_to_nothing() -> None:
    """However wrong it was, 16 blocks remain, so that it can learn again."""
    guess = Guess(1, 20)
    (job,) = made(request(0, *range(30)))
    guess.answered(job, 0, predicted=10**9, reported=0)
    guess.sent(job, 0)
    assert guess.held_blocks(0) == 16


def test_a_cache_without_a_bound_is_guessed_with_one() -> None:
    """Memory is bounded whatever the replica says."""
    guess = Guess(1, None)
    (job,) = made(request(0, 1, 2))
    guess.answered(job, 0, predicted=0, reported=10**12)
    guess.sent(job, 0)
    assert guess.cached_blocks(job, 0) == 2


def test_a_prompt_that_repeats_an_id_is_counted_and_forgotten_whole() -> None:
    """Ids of a trace may be anything; nothing stays behind and nothing fails."""
    exact = Exact([ReplicaCache(Lru(), 2)])
    odd, again = made(request(0, 1, 1, 1, 7), request(0, 1, 1, 1, 7))
    exact.sent(odd, 0)
    assert exact.cached_blocks(again, 0) == 4
    exact.answered(odd, 0, predicted=0, reported=0)
    assert exact.cached_blocks(again, 0) == 0
