"""A fleet in time, against a dumb twin that knows no events, no index and no heap."""

from collections.abc import Sequence
from random import Random

import pytest

from stemcache.lab.fleet.belief import Exact
from stemcache.lab.fleet.job import Job
from stemcache.lab.fleet.play import by_clients, by_clock
from stemcache.lab.fleet.replica import Replica, Stay
from stemcache.lab.fleet.router import Router, Sight
from stemcache.lab.fleet.setup import Speeds
from stemcache.policy.route.anchors import Anchors
from stemcache.policy.route.load import Load
from stemcache.trace.record import TraceRequest
from tests.lab.fleet.fleets import Scripted, made, replica, request


def fleet(
    seats: Sequence[int], replicas: int, speeds: Speeds
) -> tuple[list[Replica], Router, Scripted]:
    """Replicas without a bound behind a router that follows a script."""
    all_of_them = [replica(None, speeds) for _ in range(replicas)]
    policy = Scripted(seats)
    sight = Sight(
        Exact([each.cache for each in all_of_them]),
        [Load() for _ in all_of_them],
        Anchors(),
        None,
    )
    return all_of_them, Router(policy, sight, gateways=1, rng=Random(0)), policy


def twin(
    jobs: Sequence[Job], arrivals_s: Sequence[float], seats: Sequence[int], speeds: Speeds
) -> list[tuple[int, float, float]]:
    """Blocks found, first token and end of each: one replica after the other, by definition.

    What earlier requests of the replica had is there when a later one begins, as prefills follow
    each other. A prefill begins when the one before it has ended and when fewer than `slots` of
    those before it have not.
    """
    known: dict[int, set[tuple[int, ...]]] = {}
    before: dict[int, list[tuple[float, float]]] = {}
    told = []
    for job, now_s, seat in zip(jobs, arrivals_s, seats, strict=True):
        beginnings = known.setdefault(seat, set())
        earlier = before.setdefault(seat, [])
        ids = tuple(job.visit.ids.tolist())
        found = sum(ids[: n + 1] in beginnings for n in range(len(ids)))
        beginnings |= {ids[: n + 1] for n in range(len(ids))}
        begin_s = max([now_s, *(first_s for first_s, _ in earlier)])
        ends = sorted(done_s for _, done_s in earlier)
        if len(ends) >= speeds.slots:
            begin_s = max(begin_s, ends[-speeds.slots])
        tokens = job.visit.prompt_tokens - 100 * found
        first_s = begin_s + (speeds.overhead_s + tokens / speeds.prefill_tokens_per_s)
        done_s = first_s + max(0, (job.visit.output_tokens or 0) - 1) / speeds.decode_tokens_per_s
        earlier.append((first_s, done_s))
        told.append((found, first_s, done_s))
    return told


def history(draws: Random, requests: int) -> list[TraceRequest]:
    """Conversations of up to eight turns that come at random."""
    talks: list[list[int]] = []
    came, now_s = [], 0.0
    for number in range(requests):
        now_s += draws.choice([0.0, 0.5, 3.0])
        if talks and draws.random() < 0.6:
            talk = draws.choice(talks)
            talk.append(1000 + number)
        else:
            talk = [draws.choice([1, 2]), 1000 + number]
            talks.append(talk)
        came.append(request(now_s, *talk, output=draws.choice([0, 1, 20, 60])))
    return came


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("slots", [1, 2, 50])
def test_queues_prefills_and_slots_are_those_of_the_twin(seed: int, slots: int) -> None:
    """To the last digit, over three replicas and a hundred requests."""
    draws = Random(seed)
    speeds = Speeds(150.0, 0.25, 10.0, slots)
    jobs = made(*history(draws, 100))
    seats = [draws.randrange(3) for _ in jobs]
    replicas, router, _ = fleet(seats, 3, speeds)
    times = [job.visit.now_s for job in jobs]
    stays = by_clock(jobs, replicas, [router], arrivals_s=times)
    assert [(stay.cached_blocks, stay.first_s, stay.done_s) for stay in stays] == twin(
        jobs, times, seats, speeds
    )


def test_what_ends_at_a_moment_has_ended_for_who_comes_then() -> None:
    """The second request comes as the first answer ends: nothing is in flight, all is known."""
    jobs = made(request(0.0, 1, output=11), request(2.0, 1, 2))
    replicas, router, policy = fleet([0, 0], 1, Speeds(100.0, 0.0, 10.0, 4))
    by_clock(jobs, replicas, [router], arrivals_s=[0.0, 2.0])
    _, views = policy.asked[1]
    assert (views[0].in_flight, views[0].cached_tokens) == (0, 100)


def test_clients_wait_for_their_answers() -> None:
    """Two clients, prefills of a second and answers of one: each third request waits for one."""
    jobs = made(*(request(None, n, output=11) for n in range(4)))
    replicas, router, _ = fleet([0], 1, Speeds(100.0, 0.0, 10.0, 4))
    stays = by_clients(jobs, replicas, [router], clients=2)
    assert [stay.arrived_s for stay in stays] == [0.0, 0.0, 2.0, 3.0]
    assert [stay.first_s for stay in stays] == [1.0, 2.0, 3.0, 4.0]
    assert [stay.done_s for stay in stays] == [2.0, 3.0, 4.0, 5.0]


def test_more_clients_than_requests_all_begin_at_once() -> None:
    """Nobody waits for a client that has nothing to do."""
    jobs = made(request(None, 1), request(None, 2))
    replicas, router, _ = fleet([0, 1], 2, Speeds(100.0, 0.0, 10.0, 4))
    stays: list[Stay] = by_clients(jobs, replicas, [router], clients=9)
    assert [stay.arrived_s for stay in stays] == [0.0, 0.0]
