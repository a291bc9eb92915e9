"""One replica: its queue, its slots and its room, worked out by hand."""

from stemcache.lab.fleet.job import Job
from stemcache.lab.fleet.replica import Replica, Stay
from stemcache.lab.fleet.setup import Speeds
from stemcache.policy.route.contract import Choice, Reason
from tests.lab.fleet.fleets import made, replica, request

CHOICE = Choice(0, Reason.ONLY, None, 0.0, None)


def arrive(at: Replica, job: Job, now_s: float) -> Stay:
    """Put a request into its queue."""
    stay = Stay(job, 0, now_s, CHOICE, 0)
    at.take(stay)
    return stay


def test_prefill_takes_the_overhead_and_what_is_not_cached() -> None:
    """300 tokens at 100 a second and half a second, then only the 100 that are new."""
    one = replica(speeds=Speeds(100.0, 0.5, 10.0, 4))
    first, second = made(request(0, 1, 2, 3), request(1, 1, 2, 4))
    stay = arrive(one, first, 0.0)
    assert one.begin(now_s=0.0) is stay
    assert (stay.cached_tokens, stay.first_s) == (0, 3.5)
    one.computed(stay)
    one.finished(stay)
    again = arrive(one, second, 10.0)
    assert one.begin(now_s=10.0) is again
    assert (again.cached_tokens, again.first_s) == (200, 11.5)
    assert one.busy_s == 5.0


def test_one_prefill_at_a_time_first_come_first_served() -> None:
    """The second waits until the first has its first token, not until its answer ends."""
    one = replica()
    jobs = made(request(0, 1, output=100), request(0, 2))
    stays = [arrive(one, job, 0.0) for job in jobs]
    assert one.begin(now_s=0.0) is stays[0]
    assert one.begin(now_s=0.0) is None
    one.computed(stays[0])
    assert one.begin(now_s=1.0) is stays[1]
    assert stays[1].first_s == 2.0


def test_a_sibling_that_came_during_the_prefill_finds_what_it_computed() -> None:
    """It is looked up when its own prefill begins."""
    one = replica()
    jobs = made(request(0, 1, 2), request(0, 1, 2, 3))
    stays = [arrive(one, job, 0.0) for job in jobs]
    one.begin(now_s=0.0)
    assert one.cache.match(jobs[1]) == 0
    one.computed(stays[0])
    assert one.cache.match(jobs[1]) == 2
    one.begin(now_s=2.0)
    assert (stays[1].cached_blocks, stays[1].first_s) == (2, 3.0)


def test_an_answer_lasts_from_its_first_token_to_its_last() -> None:
    """11 tokens at 10 a second are a second apart; one token, none and an unknown number end."""
    for output, done_s in ((11, 2.0), (1, 1.0), (0, 1.0), (None, 1.0)):
        one = replica()
        stay = arrive(one, made(request(0, 1, output=output))[0], 0.0)
        one.begin(now_s=0.0)
        one.computed(stay)
        assert stay.done_s == done_s


def test_no_prefill_begins_while_all_slots_are_taken() -> None:
    """One slot: the second begins when the first answer has ended."""
    one = replica(speeds=Speeds(100.0, 0.0, 10.0, 1))
    stays = [arrive(one, job, 0.0) for job in made(request(0, 1, output=11), request(0, 2))]
    one.begin(now_s=0.0)
    one.computed(stays[0])
    assert one.begin(now_s=1.0) is None
    one.finished(stays[0])
    assert one.begin(now_s=2.0) is stays[1]


def test_no_prefill_begins_while_running_requests_leave_no_room() -> None:
    """Room for 4 blocks: 3 are held by an answer, so a prompt of 2 new ones waits for its end."""
    one = replica(4)
    jobs = made(request(0, 1, 2, 3, output=11), request(0, 4, 5))
    stays = [arrive(one, job, 0.0) for job in jobs]
    one.begin(now_s=0.0)
    one.computed(stays[0])
    assert one.begin(now_s=3.0) is None
    one.finished(stays[0])
    assert one.begin(now_s=4.0) is stays[1]
    one.computed(stays[1])
    assert len(one.cache) == 4
    assert one.cache.match(jobs[0]) == 2  # its last block made room


def test_what_it_shares_with_running_requests_takes_no_room() -> None:
    """3 of 4 blocks are held; a prompt that shares 3 and adds 1 fits."""
    one = replica(4)
    stays = [
        arrive(one, job, 0.0)
        for job in made(request(0, 1, 2, 3, output=11), request(0, 1, 2, 3, 4))
    ]
    one.begin(now_s=0.0)
    one.computed(stays[0])
    assert one.begin(now_s=3.0) is stays[1]
    assert stays[1].cached_blocks == 3


def test_a_prompt_larger_than_the_cache_keeps_its_first_blocks() -> None:
    """It is computed whole; the next one finds what fitted."""
    one = replica(2)
    jobs = made(request(0, 1, 2, 3), request(0, 1, 2, 3))
    stay = arrive(one, jobs[0], 0.0)
    one.begin(now_s=0.0)
    assert stay.first_s == 3.0
    one.computed(stay)
    one.finished(stay)
    assert one.cache.match(jobs[1]) == 2


def test_a_cache_without_a_bound_keeps_all() -> None:
    """Nothing is ever evicted."""
    one = replica(None)
    for at, job in enumerate(made(*(request(n, 2 * n, 2 * n + 1) for n in range(500)))):
        stay = arrive(one, job, float(at))
        one.begin(now_s=float(at))
        one.computed(stay)
        one.finished(stay)
    assert len(one.cache) == 1000
