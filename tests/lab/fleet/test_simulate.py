"""Little fleets worked out by hand."""

from dataclasses import replace
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.lab.fleet.setup import Agreement, Knowledge
from stemcache.lab.fleet.simulate import play_fleet, simulate_fleet
from stemcache.lab.question import Capacity, Question
from stemcache.lab.simulate import simulate
from stemcache.trace.record import TraceRequest
from tests.lab.fleet.fleets import Scripted, made, request, setup

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


def talks(requests: int = 150, seed: int = 1) -> list[TraceRequest]:
    """Conversations that come back at random, a request a second."""
    draws = Random(seed)
    open_talks: list[list[int]] = []
    came = []
    for number in range(requests):
        if open_talks and draws.random() < 0.7:
            talk = draws.choice(open_talks)
        else:
            open_talks.append(talk := [1])
        talk.append(1000 + number)
        came.append(request(float(number), *talk, output=30))
    return came


def test_session_clocks_need_a_common_one() -> None:
    """Replicas live on one clock."""
    alone = [replace(request(0.0, 1, session="a"), session_clock=True)]
    with pytest.raises(UsageError, match="add --multiplex N"):
        simulate_fleet(alone, setup(), Question())


def test_the_same_every_time_for_one_seed_and_other_draws_for_another() -> None:
    """Whatever other routings are tried beside it."""
    trace = talks()
    names = ("random", "power-of-two", "auto", "cache-aware")
    first = simulate_fleet(trace, setup(routings=names, replicas=4), Question())
    again = simulate_fleet(trace, setup(routings=names[::-1], replicas=4), Question())
    other = simulate_fleet(trace, setup(routings=names, replicas=4, seed=1), Question())
    assert {each.routing: each for each in first.outcomes} == {
        each.routing: each for each in again.outcomes
    }
    assert first.outcomes[0] != other.outcomes[0]


def test_cache_aware_routings_find_more_than_round_robin() -> None:
    """On conversations that return, with room for all of them."""
    routings = ("auto", "cache-aware", "round-robin", "random")
    fleet = setup(replicas=4, routings=routings, capacity=Capacity(1000), speed=0.05)
    auto, aware, turn, chance = (
        each.total.hit_tokens for each in simulate_fleet(talks(), fleet, Question()).outcomes
    )
    assert min(auto, aware) > 1.1 * max(turn, chance)


def test_one_cache_is_as_large_as_all_and_ideal_has_no_bound() -> None:
    """2 x 5 blocks, simulated as without a fleet."""
    trace = talks()
    result = simulate_fleet(trace, setup(capacity=Capacity(5)), Question())
    plain = simulate(trace, Question(capacities=(Capacity(10),)))
    assert result.one_cache.results[0].total == plain.results[0].total
    assert result.one_cache.results[0].capacity_blocks == 10
    assert result.capacity_blocks == 5
    unbounded = simulate_fleet(trace, setup(capacity=Capacity()), Question())
    assert unbounded.one_cache.results[0].total == unbounded.one_cache.survey.ideal


def test_tokens_and_bytes_make_blocks() -> None:
    """950 tokens are 9 blocks of 100."""
    result = simulate_fleet(TALKS, setup(capacity=Capacity(tokens=950)), Question())
    assert result.capacity_blocks == 9
    sized = Question(bytes_per_token=10)
    result = simulate_fleet(TALKS, setup(capacity=Capacity(memory_bytes=5000)), sized)
    assert result.capacity_blocks == 5


def test_the_warm_up_fills_caches_and_is_not_counted() -> None:
    """The second half of two conversations finds all of the first half."""
    result = simulate_fleet(TALKS, setup(), Question(warmup_requests=2))
    (found,) = result.outcomes
    assert (found.total.requests, found.total.hit_blocks, found.total.blocks) == (2, 4, 6)
    assert result.output_tokens == 0


def test_tenants_that_are_kept_apart_share_nothing() -> None:
    """The same prompt of two tenants is computed twice."""
    trace = [request(0.0, 1, 2, tenant="a"), request(10.0, 1, 2, tenant="b")]
    one = setup(replicas=1)
    together, apart = (
        simulate_fleet(trace, one, Question(isolate_tenants=isolated)).outcomes[0].total.hit_blocks
        for isolated in (False, True)
    )
    assert (together, apart) == (2, 0)


def test_gateways_take_turns_and_have_policies_of_their_own() -> None:
    """Two round robins over two replicas: pairs of requests go to each in turn."""
    fleet = setup(routers=2, concurrency=1)
    jobs = made(*(request(None, n) for n in range(8)))
    policies = [Scripted([0, 1]), Scripted([0, 1])]
    play_fleet(jobs, fleet, "round-robin", capacity_blocks=100, policies=policies)
    assert [len(policy.asked) for policy in policies] == [4, 4]


def test_what_gateways_see_of_each_other() -> None:
    """Alone: only what oneself sent; by hash: work of as many as there are; shared: all."""
    seen = {}
    for agreement in Agreement:
        jobs = made(*(request(0.0, n) for n in range(4)))
        policies = [Scripted([0]), Scripted([0])]
        fleet = setup(replicas=1, routers=2, agreement=agreement)
        play_fleet(jobs, fleet, "round-robin", capacity_blocks=100, policies=policies)
        _, views = policies[1].asked[1]
        seen[agreement] = views[0]
    assert seen[Agreement.ALONE].in_flight == 1
    assert seen[Agreement.SHARED].in_flight == 3
    assert seen[Agreement.HASH].recent_s == 2 * seen[Agreement.ALONE].recent_s > 0


def test_a_gateway_knows_what_another_sent_by_events_and_not_by_guessing() -> None:
    """Once it is computed; where they share one memory, at once."""
    jobs = made(request(0.0, 1, 2), request(10.0, 1, 2, 3))
    cached = {}
    for knowledge in Knowledge:
        for agreement in Agreement:
            policies = [Scripted([0]), Scripted([0])]
            fleet = setup(replicas=1, routers=2, agreement=agreement, knowledge=knowledge)
            play_fleet(jobs, fleet, "random", capacity_blocks=100, policies=policies)
            cached[str(knowledge), str(agreement)] = policies[1].asked[0][1][0].cached_tokens
    assert cached == {
        ("exact", "alone"): 200,
        ("exact", "hash"): 200,
        ("exact", "shared"): 200,
        ("guess", "alone"): 0,
        ("guess", "hash"): 0,
        ("guess", "shared"): 200,
    }


def test_a_policy_sees_the_replica_as_the_gateway_would_show_it() -> None:
    """What is cached, what waits, what it holds and can hold."""
    jobs = made(request(0.0, 1, 2, output=101), request(1.0, 7), request(3.0, 1, 2, 3))
    policy = Scripted([0])
    fleet = setup(replicas=1)
    play_fleet(jobs, fleet, "random", capacity_blocks=50, policies=[policy])
    ask, (view,) = policy.asked[2]
    assert (ask.prompt_tokens, ask.head, ask.session) == (300, jobs[2].head, None)
    assert (view.name, view.cached_tokens, view.in_flight) == ("replica-0", 200, 1)
    assert (view.held_tokens, view.capacity_tokens) == (300, 5000)
    _, (early,) = policy.asked[1]
    assert (early.cached_tokens, early.in_flight, early.held_tokens) == (0, 1, 0)
    assert 0 < early.waiting_tokens <= 200


def test_an_unknown_routing_is_named_with_those_that_are_known() -> None:
    """As any other choice."""
    with pytest.raises(UsageError, match=r"unknown policy 'sesion' from --routing; did you mean"):
        simulate_fleet(TALKS, setup(routings=("sesion",)), Question())


@pytest.mark.parametrize("name", ["min", "arc"])
def test_what_no_engine_does_cannot_run_in_a_replica(name: str) -> None:
    """The optimum knows the future."""
    with pytest.raises(UsageError, match=f"--policy {name} cannot run in a replica; use one of"):
        simulate_fleet(TALKS, setup(eviction=name), Question())


def test_an_empty_prompt_is_served() -> None:
    """It has no blocks; it takes the overhead."""
    fleet = setup(routings=("auto", "session", "prefix-hash"))
    for found in simulate_fleet([request(0.0), request(1.0)], fleet, Question()).outcomes:
        assert found.waits.ordered_s == [0.0, 0.0]
