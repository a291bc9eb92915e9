"""The default policy: single choices, and what they come to in a fleet in simulated time."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.policy.route.auto import Auto
from stemcache.policy.route.contract import Ask, Rates, Reason, View
from tests.policy.route.seats import RATES, Fleet, groups, seat

ASK = Ask(2000, head=1, anchor=2)


def choose(views: list[View], ask: Ask = ASK, *, by_hash: bool = False, seed: int = 1) -> Any:
    """A choice of a policy that has seen nothing before."""
    return Auto(by_hash=by_hash).choose(ask, views, now_s=0.0, rng=Random(seed))


def test_the_seat_that_holds_the_prompt_is_chosen() -> None:
    """Idle seats of equal speed differ in what they must compute."""
    choice = choose([seat("a"), seat("b", cached_tokens=1500), seat("c", cached_tokens=500)])

    assert (choice.seat, choice.runner_up, choice.reason) == (1, 2, Reason.CACHED)
    assert choice.ttft_s == pytest.approx(0.01 + 500 * 1e-4)
    assert choice.runner_up_ttft_s == pytest.approx(0.01 + 1500 * 1e-4)


def test_a_queue_longer_than_a_copy_is_worth_sends_the_request_elsewhere() -> None:
    """A copy costs its prefill and what others lose by it; beyond that it is the better way."""
    short = choose([seat("a", cached_tokens=1500, waiting_tokens=5_000), seat("b")])
    long = choose([seat("a", cached_tokens=1500, waiting_tokens=50_000), seat("b")])

    assert (short.seat, short.reason) == (0, Reason.CACHED)
    assert (long.seat, long.reason) == (1, Reason.REPLICATED)


def test_a_beginning_that_all_ask_for_is_copied_before_it_queues() -> None:
    """The same queue keeps a conversation and spreads a hot prefix."""
    views = [seat("a", cached_tokens=1500, waiting_tokens=3_000, in_flight=4), seat("b")]
    policy, rng = Auto(), Random(1)
    first = [policy.choose(ASK, views, now_s=0.0, rng=rng).seat for _ in range(3)]
    for _ in range(200):
        policy.choose(ASK, views, now_s=0.0, rng=rng)

    assert first == [0, 0, 0]
    assert policy.choose(ASK, views, now_s=0.0, rng=rng).seat == 1
    assert policy.choose(ASK, views, now_s=3600.0, rng=rng).seat == 0


def test_who_holds_a_hot_beginning_counts_whatever_else_another_holds() -> None:
    """A third copy is worth less than a second, also where one conversation is longer at one."""
    ask = Ask(2000, head=1, anchor=2, anchor_tokens=1400)
    policy, rng = Auto(), Random(1)

    def copy_s(*cached: int) -> float:
        views = [seat(name, cached_tokens=held) for name, held in zip("abcd", cached, strict=True)]
        return policy.fork().weigh(ask, views, now_s=0.0)[3].copy_s

    for turn in range(300):  # it is a fifth of what is asked for
        for each in (ask, *(Ask(2000, head=9, anchor=10 + 4 * turn + n) for n in range(4))):
            policy.choose(each, [seat("a"), seat("b")], now_s=0.0, rng=rng)

    assert copy_s(1500, 0, 0, 0) < copy_s(1500, 1500, 0, 0) < copy_s(1500, 1500, 1500, 0)
    assert copy_s(1900, 1500, 1500, 0) > copy_s(1900, 0, 0, 0)
    assert copy_s(1000, 1000, 1000, 0) == copy_s(1000, 0, 0, 0), "that is not all of it"


def test_nobody_holds_it_so_the_least_pressed_cache_gets_it() -> None:
    """Where caches are full, new tokens push out what others would hit."""
    full = {"held_tokens": 10_000, "capacity_tokens": 10_000}
    choice = choose(
        [seat("a", fresh_tokens=9_000.0, **full), seat("b", fresh_tokens=6_000.0, **full)]
    )

    assert (choice.seat, choice.reason) == (1, Reason.COLD)


def test_idle_seats_take_turns_by_the_work_that_each_was_given() -> None:
    """Requests that come one at a time find nobody busy, and still do not all go to one."""
    assert (
        choose([seat("a", recent_s=2.0), seat("b", recent_s=1.0), seat("c", recent_s=3.0)]).seat
        == 1
    )


def test_a_tier_that_is_slower_still_beats_computing() -> None:
    """Tokens from it are taken at a fifth of a prefill."""
    choice = choose([seat("a", cached_tokens=200), seat("b", slow_tokens=1500)])

    assert choice.seat == 1
    assert choice.ttft_s == pytest.approx(0.01 + (500 + 1500 * 0.2) * 1e-4)


def test_a_slow_seat_is_passed_by_unless_it_holds_enough() -> None:
    """Rates are the seat's own."""
    slow = Rates(base_s=0.03, prefill_s=3e-4, busy_s=0.003)

    assert choose([seat("a", rates=slow), seat("b")]).seat == 1
    assert choose([seat("a", rates=slow, cached_tokens=1900), seat("b")]).seat == 0


def test_equal_seats_are_chosen_equally_often() -> None:
    """Chance decides where nothing else does."""
    views = [seat(name) for name in "abcd"]
    rng, policy = Random(4), Auto()
    counts = Counter(
        policy.choose(Ask(2000, anchor=n), views, now_s=float(n), rng=rng).seat for n in range(2000)
    )

    assert all(420 <= counts[number] <= 580 for number in range(4))


def test_by_hash_all_gateways_send_what_nobody_holds_to_the_same_seat() -> None:
    """Each has its own counters, its own chance, and its own order of seats."""
    names = ["a", "b", "c", "d", "e"]
    for anchor in range(50):
        ask = replace(ASK, anchor=anchor * 0x9E3779B97F4A7C15 % 2**64)
        chosen = set()
        for seed in range(4):
            Random(seed).shuffle(names)
            views = [seat(name, fresh_tokens=100.0 * seed) for name in names]
            chosen.add(views[choose(views, ask, by_hash=True, seed=seed).seat].name)
        assert len(chosen) == 1


def test_by_hash_an_overloaded_seat_overflows_to_the_second_of_the_order() -> None:
    """All gateways take the same second."""
    views = [seat(name) for name in "abcd"]
    first = choose(views, by_hash=True)
    views[first.seat] = replace(views[first.seat], waiting_tokens=50_000)
    seconds = {choose(views, by_hash=True, seed=seed).seat for seed in range(20)}

    assert first.reason is Reason.HASHED
    assert seconds == {first.runner_up}


def test_by_hash_a_queue_of_a_few_prompts_sends_nobody_to_the_second() -> None:
    """Each gateway sees another part of it, and where they part, there are two copies for good."""
    views = [seat(name) for name in "abcd"]
    first = choose(views, by_hash=True)
    for prompts, stays in ((2, True), (4, True), (6, False)):
        busy = list(views)
        busy[first.seat] = replace(views[first.seat], waiting_tokens=prompts * ASK.prompt_tokens)
        assert (choose(busy, by_hash=True).seat == first.seat) is stays


def test_by_hash_what_is_known_to_be_held_comes_first() -> None:
    """A hash is for what nobody is known to hold."""
    views = [seat(name) for name in "abcd"]
    for number in range(4):
        held = list(views)
        held[number] = replace(views[number], cached_tokens=1900)
        assert choose(held, by_hash=True).seat == number


tokens = st.integers(0, 5000)
view_fields = st.fixed_dictionaries(
    {
        "cached_tokens": tokens,
        "slow_tokens": tokens,
        "in_flight": st.integers(0, 50),
        "waiting_tokens": st.integers(0, 50_000),
        "recent_s": st.floats(0, 60),
        "fresh_tokens": st.floats(0, 1e6),
        "held_tokens": st.integers(0, 100_000),
        "capacity_tokens": st.none() | st.integers(1, 100_000),
        "weight": st.floats(0.1, 10),
    }
)
fleets = st.lists(view_fields, min_size=2, max_size=8).map(
    lambda all_fields: [seat(f"s{at}", **fields) for at, fields in enumerate(all_fields)]
)


@given(fleets, st.integers(0, 2**32), st.booleans())
def test_the_order_of_the_views_does_not_matter(
    views: list[View],
    seed: int,
    by_hash: bool,  # noqa: FBT001
) -> None:
    """Only exact ties are left to chance."""
    shuffled = list(views)
    Random(seed).shuffle(shuffled)
    one = choose(views, by_hash=by_hash)
    other = choose(shuffled, by_hash=by_hash)

    assert views[one.seat].name == shuffled[other.seat].name or one.ttft_s == other.ttft_s


@given(fleets, st.sampled_from([1 / 1024, 1 / 4, 8, 1024]))
def test_a_fleet_that_is_faster_throughout_is_used_alike(views: list[View], scale: float) -> None:
    """Only the relation of costs matters, not the unit that they are counted in."""
    rates = Rates(
        base_s=RATES.base_s * scale, prefill_s=RATES.prefill_s * scale, busy_s=RATES.busy_s * scale
    )
    scaled = [replace(view, rates=rates, recent_s=view.recent_s * scale) for view in views]

    assert choose(views).seat == choose(scaled).seat


@given(fleets, st.integers(1, 2000))
def test_a_seat_that_holds_more_is_not_less_likely(views: list[View], more: int) -> None:
    """Whoever was chosen is chosen still when it holds more of the prompt."""
    seat_before = choose(views).seat
    view = views[seat_before]
    views[seat_before] = replace(view, cached_tokens=view.cached_tokens + more, slow_tokens=0)
    if view.slow_tokens == 0:
        assert choose(views).seat == seat_before


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_paced_one_at_a_time_nothing_is_computed_twice_and_all_seats_work(seed: int) -> None:
    """From cold, with nobody busy at any choice: 60 groups over four seats."""
    chains = groups(300, of=60, seed=seed)
    out = Fleet(seed=seed).run(chains, at_a_time=1)
    seen = {chain[0] for chain in chains}

    assert out.cached == 31 * (300 - len(seen))
    assert out.imbalance < 1.35


def test_paced_one_hot_prefix_is_shared_out() -> None:
    """Every seat computes it once."""
    out = Fleet().run(groups(300, of=1, seed=1), at_a_time=1)

    assert min(out.requests) > 50
    assert out.cached == 31 * 296


@pytest.mark.parametrize("streams", [True, False])
def test_many_at_a_time_hits_are_kept_and_the_load_is_even(streams: bool) -> None:  # noqa: FBT001
    """60 groups, 24 at a time, four caches that hold 1.7 times the groups together."""
    chains = groups(3000, of=60, seed=3)
    out = Fleet(streams=streams).run(chains, at_a_time=24)

    assert out.hit_rate > 0.87
    assert out.imbalance <= 1.10


def test_one_hot_prefix_runs_as_fast_as_in_turn() -> None:
    """40 at a time over four seats of eight places: no queue while a seat is idle."""
    chains = groups(1500, of=1, seed=1, shared=125)
    auto = Fleet(policy="auto").run(chains, at_a_time=40)
    turns = Fleet(policy="round-robin").run(chains, at_a_time=40)

    assert auto.rate >= 0.98 * turns.rate
    assert auto.cached == turns.cached


def test_a_slow_replica_gets_less_and_once_recovered_its_part() -> None:
    """It is four times slower for the first ten seconds."""
    chains = groups(6000, of=60, seed=5)
    slow = Fleet(slowness=lambda number, _: 4.0 if number == 0 else 1.0)
    always = slow.run(chains[:2000], at_a_time=24)

    assert always.requests[0] < 0.8 * sum(always.requests[1:]) / 3
    assert always.hit_rate > 0.84


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_two_gateways_that_agree_by_hash_lose_little(seed: int) -> None:
    """Without it each learns alone where things are, and everything is computed twice."""
    chains = groups(3000, of=60, seed=seed)
    one = Fleet().run(chains, at_a_time=24)
    agreed = Fleet(gateways=2, by_hash=True).run(chains, at_a_time=24)
    apart = Fleet(gateways=2).run(chains, at_a_time=24)

    assert agreed.hit_rate > one.hit_rate - 0.01
    assert apart.hit_rate < one.hit_rate - 0.05
