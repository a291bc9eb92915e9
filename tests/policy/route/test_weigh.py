"""What the default policy weighs, told seat by seat."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.policy import route
from stemcache.policy.route import NAMES
from stemcache.policy.route.auto import Auto
from stemcache.policy.route.contract import Ask, Reason, View, Weighs
from tests.policy.route.seats import seat
from tests.policy.route.test_auto import fleets

ASK = Ask(2000, head=1, anchor=2)
FULL = {"held_tokens": 10_000, "capacity_tokens": 10_000}


@given(fleets, st.integers(0, 200), st.booleans())
def test_the_least_sum_of_what_is_told_is_chosen(
    views: list[View],
    asked_before: int,
    by_hash: bool,  # noqa: FBT001
) -> None:
    """However often the beginning was asked for; what is told is what is compared."""
    policy = Auto(by_hash=by_hash)
    for _ in range(asked_before):
        policy.choose(ASK, views, now_s=0.0, rng=Random(1))
    told = policy.fork().weigh(ASK, views, now_s=0.0)
    choice = policy.choose(ASK, views, now_s=0.0, rng=Random(1))

    sums = [cost.sum_s for cost in told]
    assert sums[choice.seat] == pytest.approx(min(sums), rel=1e-9, abs=1e-12)
    assert told[choice.seat].wait_s == pytest.approx(choice.ttft_s)


def test_telling_counts_nothing() -> None:
    """A fork may be asked as often as one likes."""
    views = [seat("a", cached_tokens=1500, waiting_tokens=3_000), seat("b")]
    policy = Auto()
    fork = policy.fork()
    told = [fork.weigh(ASK, views, now_s=0.0) for _ in range(100)]
    assert told[0] == told[99] == policy.fork().weigh(ASK, views, now_s=0.0)


def test_the_parts_are_what_they_are_called() -> None:
    """One seat holds the most, one is pressed more, one was given more work."""
    views = [
        seat("holder", cached_tokens=1500, **FULL),
        seat("pressed", fresh_tokens=3_000.0, **FULL),
        seat("worked", recent_s=2.0, **FULL),
    ]
    holder, pressed, worked = Auto().weigh(ASK, views, now_s=0.0)

    assert holder.copy_s == holder.turn_s == holder.place_s == 0.0
    assert pressed.copy_s == worked.copy_s == pytest.approx(16 * 1500 * 1e-4)
    assert pressed.pressure_s > 0.0 > worked.pressure_s
    assert worked.turn_s == pytest.approx(0.04)
    assert pressed.wait_s == pytest.approx(0.01 + 2000 * 1e-4)


def test_a_copy_that_many_will_use_costs_less_than_its_prefill() -> None:
    """The difference is told as less than nothing."""
    views = [seat("a", cached_tokens=1500), seat("b")]
    policy = Auto()
    for _ in range(2000):
        policy.choose(ASK, views, now_s=0.0, rng=Random(1))
    _, other = policy.fork().weigh(ASK, views, now_s=0.0)
    assert -1500 * 1e-4 < other.copy_s < 0.0


def test_by_hash_places_cost_and_pressure_does_not() -> None:
    """Gateways see pressure differently, and must agree."""
    views = [seat(name, fresh_tokens=1000.0 * at, **FULL) for at, name in enumerate("abcde")]
    told = Auto(by_hash=True).weigh(ASK, views, now_s=0.0)
    assert sorted(round(cost.place_s, 6) for cost in told) == [0.0, 1.0, 2.0, 2.0, 2.0]
    assert {cost.pressure_s for cost in told} == {0.0}


def test_where_the_wait_would_have_chosen_otherwise_the_reason_says_so() -> None:
    """Here a copy is made on the seat that would answer later, as its cache is pressed less."""
    views = [
        seat("holder", cached_tokens=1500, waiting_tokens=50_000, **FULL),
        seat("sooner", fresh_tokens=9_000.0, **FULL),
        seat("later", waiting_tokens=500, **FULL),
    ]
    choice = Auto().choose(ASK, views, now_s=0.0, rng=Random(1))
    assert (choice.seat, choice.reason) == (2, Reason.SPREAD)
    waits = [cost.wait_s for cost in Auto().weigh(ASK, views, now_s=0.0)]
    assert waits[1] < choice.ttft_s


def test_what_nobody_holds_is_spread_for_the_same_reason() -> None:
    """It is not where it would be answered soonest."""
    views = [seat("sooner", fresh_tokens=9_000.0, **FULL), seat("later", in_flight=1, **FULL)]
    choice = Auto().choose(ASK, views, now_s=0.0, rng=Random(1))
    assert (choice.seat, choice.reason) == (1, Reason.SPREAD)


@given(fleets)
def test_replicated_and_cold_are_answered_nowhere_sooner(views: list[View]) -> None:
    """By what is predicted: nobody has to wonder why."""
    choice = Auto().choose(ASK, views, now_s=0.0, rng=Random(1))
    soonest = min(cost.wait_s for cost in Auto().weigh(ASK, views, now_s=0.0))
    if choice.reason in (Reason.REPLICATED, Reason.COLD):
        assert choice.ttft_s == pytest.approx(soonest)
    elif choice.reason is Reason.SPREAD:
        assert choice.ttft_s > soonest


@pytest.mark.parametrize("name", NAMES)
def test_only_the_default_weighs_more_than_loads(name: str) -> None:
    """The others have nothing to tell beside the wait."""
    assert isinstance(route.make(name, by_hash=False), Weighs) == (name == "auto")


def test_what_is_behind_a_hot_beginning_is_one_conversation_s_own() -> None:
    """Where the beginning is held already, a copy of the rest is for nobody else, and costs so."""
    ask = Ask(4000, head=1, anchor=2, anchor_tokens=2000)
    views = [
        seat("all of it", cached_tokens=3800),
        seat("the beginning", cached_tokens=2200),
        seat("nothing"),
    ]
    policy = Auto()
    for _ in range(2000):
        policy.choose(ask, views, now_s=0.0, rng=Random(1))
    _, beginning, nothing = policy.fork().weigh(ask, views, now_s=0.0)
    assert beginning.copy_s == pytest.approx(16 * 1600 * 1e-4)
    assert nothing.copy_s < 0.0, "many will use the copy"


def test_a_conversation_stays_where_it_is_while_nothing_waits() -> None:
    """However hot what it shares with others, and however much more work its seat was given."""
    ask = Ask(4000, head=1, anchor=2, anchor_tokens=2000)
    idle = [
        seat("its own", cached_tokens=3800, recent_s=6.0, fresh_tokens=9_000.0),
        seat("other", cached_tokens=2200, recent_s=1.0, fresh_tokens=4_000.0),
    ]
    policy = Auto()
    choices = [policy.choose(ask, idle, now_s=0.0, rng=Random(1)) for _ in range(500)]
    assert {(choice.seat, choice.reason) for choice in choices} == {(0, Reason.CACHED)}
    busy = [seat("its own", cached_tokens=3800, waiting_tokens=60_000), idle[1]]
    assert policy.choose(ask, busy, now_s=0.0, rng=Random(1)).seat == 1
