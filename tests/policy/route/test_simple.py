"""Policies that look at load, turns and matches alone, and garbage that none may fall over."""

from collections import Counter
from dataclasses import replace
from math import inf, isfinite, nan
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.policy import route
from stemcache.policy.route.contract import Ask, Choice, Rates, Reason, View
from stemcache.policy.route.heat import Heat
from stemcache.policy.route.predict import tidy
from tests.policy.route.seats import RATES, seat

ASK = Ask(1000, session="s", head=3, anchor=4)


def pick(name: str, views: list[View], *, times: int = 1, ask: Ask = ASK) -> list[Choice]:
    """Choices of one policy, one after the other; nothing comes of them."""
    policy, rng = route.make(name), Random(7)
    return [policy.choose(ask, views, now_s=0.0, rng=rng) for _ in range(times)]


def test_turns_go_round_by_weight_and_not_twice_in_a_row() -> None:
    """Weights 2, 1, 1."""
    views = [seat("a", weight=2.0), seat("b"), seat("c")]

    assert [choice.seat for choice in pick("round-robin", views, times=8)] == [
        0, 1, 2, 0, 0, 1, 2, 0,
    ]  # fmt: skip


def test_a_seat_that_is_left_out_of_a_turn_does_not_disturb_the_others() -> None:
    """A retry passes by the seat that failed."""
    policy, rng = route.make("round-robin"), Random(1)
    views = [seat(name) for name in "abc"]
    turns = []
    for turn in range(9):
        offered = views[1:] if turn == 3 else views
        turns.append(offered[policy.choose(ASK, offered, now_s=0.0, rng=rng).seat].name)

    assert Counter(turns) == {"a": 3, "b": 3, "c": 3}


def test_chance_follows_weights() -> None:
    """A seat of weight 3 gets three quarters."""
    counts = Counter(
        choice.seat for choice in pick("random", [seat("a", weight=3.0), seat("b")], times=2000)
    )

    assert 1420 < counts[0] < 1580


def test_the_least_loaded_is_fewest_in_flight_for_its_size() -> None:
    """Then what waits, then work lately."""
    views = [seat("a", in_flight=4), seat("b", in_flight=4, weight=4.0), seat("c", in_flight=2)]
    assert pick("least-load", views)[0].seat == 1

    views = [seat("a", waiting_tokens=5), seat("b", recent_s=1.0), seat("c", recent_s=2.0)]
    choice = pick("least-load", views)[0]
    assert (choice.seat, choice.runner_up) == (1, 2)


def test_of_two_seats_power_of_two_takes_the_less_loaded() -> None:
    """With more, the worst of all is never taken."""
    views = [seat("a", in_flight=9), seat("b", in_flight=1), seat("c", in_flight=2)]
    seats = {choice.seat for choice in pick("power-of-two", views, times=100)}

    assert seats == {1, 2}


def test_cache_aware_takes_the_longest_match_until_it_has_too_much_to_do() -> None:
    """With three in flight at one seat and none elsewhere already."""
    views = [seat("a", cached_tokens=300), seat("b", cached_tokens=900), seat("c")]
    held = pick("cache-aware", views)[0]
    views[1] = replace(views[1], in_flight=3)
    spilled = pick("cache-aware", views)[0]

    assert (held.seat, held.reason, held.runner_up) == (1, Reason.CACHED, 0)
    assert (spilled.seat, spilled.reason) == (0, Reason.REPLICATED)


def test_cache_aware_goes_by_load_where_nobody_holds_a_tenth() -> None:
    """A few blocks that everybody shares do not decide."""
    views = [seat("a", cached_tokens=90, recent_s=1.0), seat("b")]
    choice = pick("cache-aware", views)[0]

    assert (choice.seat, choice.reason) == (1, Reason.COLD)


def ask(
    heat: Heat, anchor: int, *, now_s: float = 0.0, held_tokens: int = 0, holders: int = 1
) -> float:
    """A request to a fleet of four, all with one head."""
    return heat.asked(
        anchor, head=5, held_tokens=held_tokens, holders=holders, seats=4, now_s=now_s
    )


def test_heat_falls_with_requests_and_comes_back_with_time() -> None:
    """A copy for one is worth all its cost, one for hundreds next to nothing."""
    heat = Heat()
    parts = [ask(heat, number % 2, now_s=0.0) for number in range(400)]

    assert parts[:2] == [1.0, 1.0]
    assert parts[-1] < 0.02
    assert ask(heat, 1, now_s=3600.0) == 1.0


def test_what_is_held_to_one_length_by_many_is_hot_though_their_anchors_are_not_known() -> None:
    """It lies before all their anchors. Held to lengths of their own, it is conversations."""
    shared, own = Heat(), Heat()
    for number in range(200):
        hot = ask(shared, number, now_s=0.0, held_tokens=2000)
        cool = ask(own, number, now_s=0.0, held_tokens=16 * number)

    assert hot < 0.01
    assert cool == 1.0


def test_who_holds_it_already_share_what_is_asked() -> None:
    """A second copy of a beginning that is a quarter of the traffic pays, a third one hardly."""
    heat = Heat()
    for number in range(400):
        ask(heat, number % 4)
    parts = [ask(heat.fork(), 1, holders=holders) for holders in (1, 2, 3, 4)]

    assert parts[0] < 0.03
    assert parts[1] > 4 * parts[0]
    assert parts == sorted(parts)


def test_a_beginning_that_is_little_of_the_traffic_stays_dear_to_copy_at_any_rate() -> None:
    """One of 60 that are asked for alike, 50 times each."""
    heat = Heat()
    parts = [ask(heat, number % 60) for number in range(3000)]

    assert parts[-1] > 0.7


def test_heat_is_bounded() -> None:
    """A million anchors that come once."""
    heat = Heat()
    for number in range(20_000):
        ask(heat, number, now_s=float(number))

    assert len(heat) == 16_384


garbage = st.sampled_from([0, -1, -(10**30), 10**400, nan, inf, -inf, None, 1e-320, "x"])


def view_of(name: str, numbers: list[Any], rates: list[Any]) -> View:
    """A seat whose every figure is whatever it is given."""
    return View(name, *[*numbers[:7], Rates(*rates), *numbers[7:]])


rubbish = st.builds(
    view_of,
    st.sampled_from(["a", "b", "", "\ud800"]),
    st.lists(garbage, min_size=10, max_size=10),
    st.lists(garbage, min_size=4, max_size=4),
)


@pytest.mark.parametrize("name", route.NAMES)
@settings(max_examples=40)
@given(views=st.lists(rubbish | st.just(seat("ok")), min_size=1, max_size=5), prompt=garbage)
def test_figures_that_make_no_sense_crash_nobody(name: str, views: list[View], prompt: Any) -> None:
    """They count as nothing, and some seat is chosen all the same."""
    for by_hash in (False, True):
        policy = route.make(name, by_hash=by_hash)
        ask = Ask(prompt, session="\ud800", head=-1, anchor=2**70)
        choice = policy.choose(ask, views, now_s=0.0, rng=Random(1))

        assert 0 <= choice.seat < len(views)
        assert choice.runner_up != choice.seat
        assert isfinite(choice.ttft_s)


def test_tidy_views_are_not_copied() -> None:
    """What is right is used as it is; only what is not is replaced."""
    views = [seat("a"), seat("b", in_flight=-1)]
    _, tidied = tidy(ASK, views)

    assert tidied[0] is views[0]
    assert tidied[1] == seat("b", rates=RATES)


@pytest.mark.parametrize("name", route.NAMES)
def test_sixty_four_seats_are_no_trouble(name: str) -> None:
    """All equal; the runner-up is another one."""
    for choice in pick(name, [seat(f"s{number}") for number in range(64)], times=20):
        assert choice.runner_up is not None
        assert choice.runner_up != choice.seat
