"""The order by hash that is made even where there are few beginnings."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.policy.route.auto import Auto
from stemcache.policy.route.contract import Ask, Reason, View
from stemcache.policy.route.homes import Homes, evened
from stemcache.policy.route.rendezvous import Rendezvous
from tests.policy.route.seats import seat

VIEWS = [seat(f"w{number}") for number in range(4)]


def keys_of(homes: dict[str, int], *, seed: int = 1) -> list[int]:
    """Keys whose own seats by hash alone are so many of each."""
    random, hashing, wanted = Random(seed), Rendezvous(), Counter(homes)
    found = []
    while wanted.total():
        key = random.getrandbits(64)
        name = VIEWS[hashing.order(key, VIEWS)[0]].name
        if wanted[name]:
            wanted[name] -= 1
            found.append(key)
    return found


UNEVEN = keys_of({"w0": 12, "w1": 23, "w2": 15, "w3": 10})
CHANCE = keys_of({"w0": 17, "w1": 19, "w2": 13, "w3": 11})


def ask(homes: Homes, keys: list[int], count: int, *, seed: int = 1) -> None:
    """So many requests for these keys, in an order of their own."""
    random = Random(seed)
    for _ in range(count):
        homes.asked(random.choice(keys), VIEWS)


def home_of(homes: Homes, key: int) -> str:
    """The name of a key's first seat."""
    return VIEWS[homes.order(key, VIEWS)[0]].name


def test_what_chance_does_stays_as_it_is() -> None:
    """No key has another home than by hash alone."""
    homes, alone = Homes(), Rendezvous()
    ask(homes, CHANCE, 4000)

    assert all(homes.order(key, VIEWS) == alone.order(key, VIEWS) for key in CHANCE)
    assert all(homes.moved(key, VIEWS) is None for key in CHANCE)


def test_a_seat_with_far_too_many_is_left_by_some() -> None:
    """After 256 requests; nobody else gets too many by that."""
    homes, alone = Homes(), Rendezvous()
    ask(homes, UNEVEN, 255)
    assert all(homes.moved(key, VIEWS) is None for key in UNEVEN)
    ask(homes, UNEVEN, 1)

    has = Counter(home_of(homes, key) for key in UNEVEN)
    moved = [key for key in UNEVEN if homes.order(key, VIEWS)[0] != alone.order(key, VIEWS)[0]]
    assert max(has.values()) <= 18
    assert 5 <= len(moved) <= 8
    for key in UNEVEN:
        where = homes.moved(key, VIEWS)
        assert where == (homes.order(key, VIEWS)[0] if key in moved else None)


def test_gateways_that_see_other_requests_come_to_the_same_homes() -> None:
    """But for a few that are near the bound."""
    gateways = []
    for seed in range(4):
        gateways.append(homes := Homes())
        ask(homes, UNEVEN, 600, seed=seed)

    for other in gateways[1:]:
        same = sum(home_of(gateways[0], key) == home_of(other, key) for key in UNEVEN)
        assert same >= 57


def test_what_is_asked_for_often_is_not_moved() -> None:
    """It is copied to where there is time for it."""
    homes = Homes()
    ask(homes, UNEVEN, 256)
    key = next(key for key in UNEVEN if homes.moved(key, VIEWS) is not None)
    for _ in range(100):
        homes.asked(key, VIEWS)

    assert homes.moved(key, VIEWS) is None


def test_many_beginnings_are_even_by_themselves() -> None:
    """However uneven those few are that were looked at before."""
    homes = Homes()
    ask(homes, UNEVEN, 256)
    assert homes._factors
    for number in range(2000):
        homes.asked(number * 0x9E3779B97F4A7C15 % 2**64, VIEWS)

    assert not homes._factors
    assert len(homes._counts) <= 256


def test_beginnings_that_are_hardly_asked_for_again_say_nothing_of_those_to_come() -> None:
    """Two requests for each, and most for one seat: conversations that end."""
    homes = Homes()
    keys = keys_of({"w0": 20, "w1": 70, "w2": 20, "w3": 18})
    for key in keys * 2:
        homes.asked(key, VIEWS)
    assert homes._requests == 0
    assert not homes._factors
    for key in keys * 2:
        homes.asked(key, VIEWS)

    assert homes._factors, "four for each do"


def test_a_retry_that_sees_fewer_seats_is_not_looked_at() -> None:
    """The seat that failed would seem to have no beginnings at all."""
    homes = Homes()
    ask(homes, CHANCE, 255)
    homes.asked(CHANCE[0], VIEWS[1:])
    assert homes._requests == 256
    homes.asked(CHANCE[0], VIEWS)
    homes.asked(CHANCE[0], VIEWS)

    assert homes._requests == 0
    assert not homes._factors


def test_looks_are_as_far_apart_as_all_before_and_no_more_than_4096_requests() -> None:
    """Early ones find what is there, later ones what has changed."""
    homes, looks, before = Homes(), [], None
    for number in range(20_000):
        homes.asked(CHANCE[number % 60], VIEWS)
        if homes._before is not before and number:
            looks.append(number + 1)
        before = homes._before

    assert looks[:6] == [256, 512, 1024, 2048, 4096, 8192]
    assert looks[6] == 12_288


def test_a_fork_says_the_same_and_counts_nothing() -> None:
    """It is asked what would be chosen."""
    homes = Homes()
    ask(homes, UNEVEN, 256)
    fork = homes.fork()
    ask(fork, CHANCE, 5000)

    assert fork._requests == 0 == homes._requests
    assert all(fork.order(key, VIEWS) == homes.order(key, VIEWS) for key in UNEVEN)
    assert all(fork.moved(key, VIEWS) == homes.moved(key, VIEWS) for key in UNEVEN)


@given(
    st.integers(1, 200),
    st.lists(st.sampled_from([1e-9, 0.01, 1.0, 3.0, 1e9]), min_size=1, max_size=12),
    st.integers(0, 99),
)
def test_factors_are_numbers_whatever_seats_weigh(
    keys: int, weights: list[float], seed: int
) -> None:
    """One is 1, and none is more."""
    random, hashing = Random(seed), Rendezvous()
    views = [seat(f"w{number}", weight=weight) for number, weight in enumerate(weights)]
    scores = np.array([hashing.scores(random.getrandbits(64), views) for _ in range(keys)])
    parts = np.array(weights) / sum(weights)
    found = evened(scores, parts, np.ones(len(views)))

    assert np.all(np.isfinite(found))
    assert np.all(found > 0.0)
    assert found.max() == 1.0


@pytest.mark.parametrize("seats", [2, 4, 8, 16])
def test_too_many_are_left_to_others_at_any_number_of_seats(seats: int) -> None:
    """All of 20 keys a seat have one seat: it keeps about its part."""
    random = np.random.default_rng(1)
    scores = random.exponential(size=(20 * seats, seats))
    scores[:, 0] /= 50.0
    parts = np.full(seats, 1.0 / seats)
    found = evened(scores, parts, np.ones(seats))
    has = np.bincount((scores / found).argmin(axis=1), minlength=seats)

    assert has[0] <= 20 + 0.8 * 20**0.5 < 24
    assert has.max() <= 27


def ready(count: int = 256) -> tuple[Auto, int]:
    """A policy that has found the hash uneven, and a key that has moved."""
    policy, random = Auto(by_hash=True), Random(1)
    for _ in range(count):
        chosen = Ask(500, anchor=random.choice(UNEVEN))
        policy.choose(chosen, VIEWS, now_s=0.0, rng=random)
    homes = policy._homes
    assert homes is not None
    return policy, next(key for key in UNEVEN if homes.moved(key, VIEWS) is not None)


def test_the_default_sends_what_has_moved_home_though_it_is_held_elsewhere() -> None:
    """Once; then its home holds it, and nobody looks where it was before."""
    policy, key = ready()
    assert policy._homes is not None
    home = policy._homes.moved(key, VIEWS)
    ask = Ask(500, anchor=key)

    def held(*seats: int | None) -> list[View]:
        return [
            seat(view.name, cached_tokens=498 if number in seats else 0)
            for number, view in enumerate(VIEWS)
        ]

    others = [number for number in range(4) if number != home]
    for where in others:
        choice = policy.choose(ask, held(where), now_s=0.0, rng=Random(1))
        assert (choice.seat, choice.reason) == (home, Reason.HASHED)
        choice = policy.choose(ask, held(where, home), now_s=0.0, rng=Random(1))
        assert (choice.seat, choice.reason) == (home, Reason.CACHED)


def test_what_is_told_of_a_prompt_that_has_moved_is_what_is_chosen_by() -> None:
    """As if its home alone could hold it; and asking changes no view."""
    policy, key = ready()
    views = [seat(view.name, cached_tokens=498) for view in VIEWS]
    told = policy.fork().weigh(Ask(500, anchor=key), views, now_s=0.0)
    choice = policy.choose(Ask(500, anchor=key), views, now_s=0.0, rng=Random(1))

    sums = [cost.sum_s for cost in told]
    assert sums[choice.seat] == min(sums)
    assert sorted(cost.copy_s > 0.0 for cost in told) == [False, True, True, True]
    assert all(view.cached_tokens == 498 for view in views)
