"""Hashing to seats: sessions, heads, bounded loads."""

from collections import Counter
from dataclasses import replace
from random import Random

from stemcache.policy import route
from stemcache.policy.route.bounded import first_with_room
from stemcache.policy.route.contract import Ask, Reason
from stemcache.policy.route.rendezvous import Rendezvous, key_of
from tests.policy.route.seats import seat

KEYS = [key_of(f"key {number}") for number in range(4000)]


def test_keys_spread_by_weight() -> None:
    """A seat of weight 2 has twice as many."""
    views = [seat("a"), seat("b", weight=2.0), seat("c")]
    counts = Counter(Rendezvous().order(key, views)[0] for key in KEYS)

    assert 900 < counts[0] < 1100
    assert 1880 < counts[1] < 2120
    assert 900 < counts[2] < 1100


def test_only_the_keys_of_a_seat_that_goes_move() -> None:
    """And they spread over all that stay."""
    views = [seat(name) for name in "abcde"]
    hashing = Rendezvous()
    before = [views[hashing.order(key, views)[0]].name for key in KEYS]
    after = [views[:4][hashing.order(key, views[:4])[0]].name for key in KEYS]
    moved = Counter(new for old, new in zip(before, after, strict=True) if old == "e")

    assert all(old == new for old, new in zip(before, after, strict=True) if old != "e")
    assert set(moved) == set("abcd")


def test_every_gateway_orders_alike() -> None:
    """Fixed, or gateways of two releases would not agree."""
    views = [seat(f"10.0.0.{number}:8000") for number in range(4)]

    assert [Rendezvous().order(key, views) for key in (0, 1, 2**64 - 1)] == [
        [3, 0, 2, 1],
        [0, 2, 1, 3],
        [1, 2, 3, 0],
    ]


def test_names_that_were_seen_are_forgotten_in_the_end() -> None:
    """Replicas that come and go for ever do not fill the memory."""
    hashing = Rendezvous()
    for number in range(10_000):
        hashing.order(1, [seat(f"s{number}")])

    assert len(hashing._seeds) <= 4096


def test_a_seat_with_two_in_flight_is_not_full_in_an_idle_fleet() -> None:
    """A factor of the mean alone would overflow at the first request."""
    views = [seat("a", in_flight=2), seat("b"), seat("c"), seat("d")]
    assert first_with_room([0, 1, 2, 3], views) == 1
    assert first_with_room([0, 1, 2, 3], [replace(views[0], in_flight=1), *views[1:]]) == 0


def test_a_seat_far_above_the_mean_overflows_to_the_next_with_room() -> None:
    """1.25 x 41 / 4 + 2 is 14.8."""
    views = [seat("a", in_flight=20), seat("b", in_flight=15), seat("c", in_flight=5), seat("d")]

    assert first_with_room([0, 1, 2, 3], views) == 2


def test_a_session_stays_and_overflows_to_one_other() -> None:
    """Its requests go to the first of its order, to the second while that has too much to do."""
    policy, rng = route.make("session"), Random(1)
    views = [seat(name) for name in "abcd"]
    ask = Ask(1000, session="tenant/s1", head=1)
    home = policy.choose(ask, views, now_s=0.0, rng=rng)
    views[home.seat] = replace(views[home.seat], in_flight=9)
    away = [policy.choose(replace(ask, head=head), views, now_s=0.0, rng=rng) for head in range(5)]

    assert home.reason is Reason.SESSION
    assert {choice.seat for choice in away} == {home.runner_up}
    assert {choice.reason for choice in away} == {Reason.LEAST_LOADED}


def test_without_a_session_the_prompts_head_decides() -> None:
    """As prefix-hash does."""
    views, rng = [seat(name) for name in "abcd"], Random(1)
    for key in KEYS[:50]:
        by_session = route.make("session").choose(Ask(9, head=key), views, now_s=0.0, rng=rng)
        by_head = route.make("prefix-hash").choose(Ask(9, head=key), views, now_s=0.0, rng=rng)
        assert by_session == by_head
        assert by_head.reason is Reason.HASHED
