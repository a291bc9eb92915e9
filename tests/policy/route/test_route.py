"""Every policy: what holds for all of them."""

from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.policy import route
from stemcache.policy.route.contract import Ask, Reason
from tests.policy.route.seats import seat


def test_the_names_are_sorted_and_each_makes_a_policy() -> None:
    """What the command line offers is what can be made."""
    expected = "auto cache-aware least-load power-of-two prefix-hash random round-robin session"

    assert route.NAMES == tuple(expected.split())
    assert all(callable(route.make(name).choose) for name in route.NAMES)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    """The error says what was given, where, and what there is."""
    with pytest.raises(UsageError, match="unknown policy 'cache' from --policy"):
        route.make("cache")


@pytest.mark.parametrize("name", route.NAMES)
def test_the_only_seat_is_chosen_and_there_is_no_runner_up(name: str) -> None:
    """Whatever the policy."""
    choice = route.make(name).choose(Ask(1000, session="s"), [seat("a")], now_s=0.0, rng=Random(1))

    assert (choice.seat, choice.reason, choice.runner_up) == (0, Reason.ONLY, None)
    assert choice.ttft_s == pytest.approx(0.11)
    assert choice.runner_up_ttft_s is None
