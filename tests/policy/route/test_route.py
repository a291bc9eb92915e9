"""Every policy: what holds for all of them."""

from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.policy import route
from stemcache.policy.route.contract import Ask, Reads, Reason
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


@pytest.mark.parametrize("name", route.NAMES)
def test_a_fork_chooses_as_the_policy_would_and_leaves_it_as_it_is(name: str) -> None:
    """So that a choice can be explained before it is made."""
    policy, twin = route.make(name), route.make(name)
    views = [seat("a", in_flight=1), seat("b", weight=2.0), seat("c", cached_tokens=200)]
    for number in range(40):
        ask = Ask(1000, session=f"s{number % 3}", head=number % 5, anchor=number % 7)
        now_s = number / 10
        told = policy.fork().choose(ask, views, now_s=now_s, rng=Random(number))
        chosen = policy.choose(ask, views, now_s=now_s, rng=Random(number))
        assert told == chosen == twin.choose(ask, views, now_s=now_s, rng=Random(number))


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("auto", Reads.PROMPT),
        ("cache-aware", Reads.PROMPT),
        ("least-load", Reads.NOTHING),
        ("power-of-two", Reads.NOTHING),
        ("prefix-hash", Reads.PROMPT),
        ("random", Reads.NOTHING),
        ("round-robin", Reads.NOTHING),
        ("session", Reads.SESSION),
    ],
)
def test_what_a_policy_does_not_read_changes_nothing(name: str, reads: Reads) -> None:
    """What is not read need not be true."""
    assert route.make(name).reads is reads
    if reads is Reads.PROMPT:
        return
    one, other = route.make(name), route.make(name)
    for number in range(30):
        session = f"s{number % 4}" if reads is Reads.SESSION else None
        read = Ask(1000, session=session, head=number, anchor=2 * number)
        full = [seat("a", cached_tokens=500), seat("b", held_tokens=9), seat("c")]
        bare = [seat("a"), seat("b"), seat("c")]
        chosen = one.choose(read, full, now_s=0.0, rng=Random(number))
        unread = other.choose(Ask(1000, session=session), bare, now_s=0.0, rng=Random(number))
        assert chosen.seat == unread.seat
