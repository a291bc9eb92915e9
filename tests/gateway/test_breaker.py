"""When a replica's breaker lets requests through."""

import pytest

from stemcache.gateway.breaker import Breaker, BreakerState
from stemcache.gateway.settings import HealthSettings

SETTINGS = HealthSettings(breaker_failures=3, breaker_open_s=10.0)


def opened(at_s: float = 0.0) -> Breaker:
    """A breaker that has just opened."""
    breaker = Breaker(SETTINGS)
    for _ in range(3):
        breaker.failed(at_s)
    return breaker


def test_a_breaker_begins_closed() -> None:
    """Nothing is held back of a replica that has not failed."""
    breaker = Breaker(SETTINGS)
    assert breaker.allows(0.0)
    assert breaker.state(0.0) is BreakerState.CLOSED
    assert breaker.opened == 0


def test_failures_in_a_row_open_it() -> None:
    """The third failure in a row is the one too many."""
    breaker = Breaker(SETTINGS)
    breaker.failed(1.0)
    breaker.failed(2.0)
    assert breaker.allows(2.0)
    breaker.failed(3.0)
    assert not breaker.allows(3.0)
    assert breaker.state(3.0) is BreakerState.OPEN
    assert breaker.opened == 1


def test_a_success_between_failures_starts_the_count_again() -> None:
    """Failures that are not in a row do not add up."""
    breaker = Breaker(SETTINGS)
    for _ in range(10):
        breaker.failed(1.0)
        breaker.failed(1.0)
        breaker.succeeded(1.0)
    assert breaker.allows(1.0)
    assert breaker.opened == 0


def test_it_stays_open_for_its_time_and_then_lets_one_try() -> None:
    """After the time one request may go, and no second beside it."""
    breaker = opened()
    assert not breaker.allows(9.999)
    assert breaker.allows(10.0)
    assert breaker.state(10.0) is BreakerState.HALF_OPEN
    breaker.sent(10.0)
    assert not breaker.allows(10.0)
    assert not breaker.allows(19.0)


def test_asking_takes_nothing() -> None:
    """Seats are asked for every request and few are chosen: asking does not use up the try."""
    breaker = opened()
    assert all(breaker.allows(11.0) for _ in range(5))


def test_a_try_that_succeeds_closes_it() -> None:
    """One answer is enough."""
    breaker = opened()
    assert breaker.sent(10.0)
    breaker.succeeded(10.5, trial=True)
    assert breaker.state(10.5) is BreakerState.CLOSED
    assert breaker.allows(10.5)


def test_after_closing_it_takes_as_many_failures_as_at_first() -> None:
    """What was counted before it opened is forgotten."""
    breaker = opened()
    assert breaker.sent(10.0)
    breaker.succeeded(10.5, trial=True)
    breaker.failed(11.0)
    breaker.failed(11.0)
    assert breaker.allows(11.0)
    breaker.failed(11.0)
    assert not breaker.allows(11.0)


def test_a_try_that_fails_opens_it_for_the_whole_time_again() -> None:
    """One failure is enough, and the time runs from it."""
    breaker = opened()
    assert breaker.sent(12.0)
    breaker.failed(15.0, trial=True)
    assert breaker.state(15.0) is BreakerState.OPEN
    assert not breaker.allows(24.9)
    assert breaker.allows(25.0)
    assert breaker.opened == 2


def test_a_try_that_is_given_up_frees_the_place() -> None:
    """A client that leaves says nothing of the replica: another request may try at once."""
    breaker = opened()
    breaker.sent(10.0)
    breaker.abandoned()
    assert breaker.allows(10.0)
    assert breaker.state(10.0) is BreakerState.HALF_OPEN


def test_a_try_of_which_nothing_is_heard_does_not_hold_the_place_for_ever() -> None:
    """After the open time another may try."""
    breaker = opened()
    breaker.sent(10.0)
    assert not breaker.allows(19.9)
    assert breaker.allows(20.0)


def test_what_ends_while_it_is_open_is_not_counted() -> None:
    """Requests sent before it opened neither close it nor keep it open longer."""
    breaker = opened()
    breaker.succeeded(5.0)
    assert not breaker.allows(5.0)
    breaker.failed(9.0)
    assert breaker.allows(10.0)
    assert breaker.opened == 1


def test_what_was_sent_before_it_opened_does_not_decide_the_try() -> None:
    """It may end well or badly while another tries."""
    breaker = opened()
    assert breaker.sent(10.0)
    breaker.succeeded(11.0)
    assert breaker.state(11.0) is BreakerState.HALF_OPEN
    breaker.failed(12.0)
    assert breaker.state(12.0) is BreakerState.HALF_OPEN
    assert breaker.opened == 1


def test_a_good_health_check_lets_one_try_at_once() -> None:
    """A replica that was restarted is not kept out for the whole time."""
    breaker = opened()
    breaker.looked_well(1.0)
    assert breaker.state(1.0) is BreakerState.HALF_OPEN
    assert breaker.sent(1.0)
    assert not breaker.allows(1.0)
    breaker.succeeded(1.5, trial=True)
    assert breaker.state(1.5) is BreakerState.CLOSED


def tried_again(breaker: Breaker, opened_s: float) -> float:
    """How long good checks, ten a second, had not been believed when one was; it fails again."""
    for tenths in range(200):
        now_s = opened_s + tenths / 10
        breaker.looked_well(now_s)
        if breaker.allows(now_s):
            assert breaker.sent(now_s)
            breaker.failed(now_s, trial=True)
            return tenths / 10
    raise AssertionError("it has to be tried at last")


def test_health_checks_are_believed_later_each_time_where_requests_fail() -> None:
    """A page may answer while nothing else does: at last the open time holds."""
    breaker, now_s = opened(), 0.0
    waits = []
    for _ in range(7):
        waits.append(tried_again(breaker, now_s))
        now_s += waits[-1]
    assert waits == [0.0, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_health_checks_are_believed_at_once_again_after_an_answer() -> None:
    """What was long ago says nothing of another trouble."""
    breaker = opened()
    breaker.looked_well(1.0)
    assert breaker.sent(1.0)
    breaker.failed(2.0, trial=True)
    breaker.looked_well(2.5)
    assert not breaker.allows(2.5)
    breaker.looked_well(3.0)
    assert breaker.sent(3.0)
    breaker.succeeded(4.0, trial=True)
    for _ in range(3):
        breaker.failed(20.0)
    breaker.looked_well(20.0)
    assert breaker.allows(20.0)


def test_what_is_sent_through_an_open_one_closes_it_if_it_is_answered() -> None:
    """Where nobody else could take it: it was sent after the failures, so it says what is now."""
    breaker = opened()
    assert breaker.sent(5.0)
    breaker.failed(5.1, trial=True)
    assert breaker.opened == 1
    assert breaker.open_left_s(5.1) == pytest.approx(4.9)
    assert breaker.sent(6.0)
    breaker.succeeded(6.1, trial=True)
    assert breaker.state(6.1) is BreakerState.CLOSED


def test_how_long_it_stays_open_is_told() -> None:
    """In seconds, to nothing when one may try."""
    breaker = opened()
    assert [breaker.open_left_s(now_s) for now_s in (0.0, 9.5, 10.0, 99.0)] == [10.0, 0.5, 0.0, 0.0]
    breaker.looked_well(3.0)
    assert breaker.open_left_s(3.0) == 0.0
    assert Breaker(SETTINGS).open_left_s(1.0) == 0.0


def test_a_busy_replica_is_left_alone_as_long_as_it_says() -> None:
    """It is not broken: nothing is counted, and nothing has to try."""
    breaker = Breaker(SETTINGS)
    breaker.busy(1.0, for_s=3.0)
    assert not breaker.allows(3.9)
    assert breaker.busy_left_s(2.0) == 2.0
    assert breaker.state(2.0) is BreakerState.CLOSED
    assert (breaker.rests(2.0), breaker.rests(4.0)) == (False, True)
    assert breaker.allows(4.0)
    assert not breaker.sent(4.0)
    assert breaker.opened == 0


@pytest.mark.parametrize("said_s", [10.5, 86_400.0, float("inf")])
def test_a_replica_is_not_believed_to_be_busy_for_longer_than_a_breaker_is_open(
    said_s: float,
) -> None:
    """Whatever it says."""
    breaker = Breaker(SETTINGS)
    breaker.busy(0.0, for_s=said_s)
    assert breaker.busy_left_s(0.0) == 10.0


def test_what_is_said_to_be_busy_longest_holds() -> None:
    """Answers come in any order; a time that has passed, or is none, changes nothing."""
    breaker = Breaker(SETTINGS)
    breaker.busy(0.0, for_s=5.0)
    breaker.busy(1.0, for_s=1.0)
    breaker.busy(1.0, for_s=-7.0)
    assert breaker.busy_left_s(1.0) == 4.0
    breaker.reset()
    assert breaker.allows(1.0)


def test_a_good_health_check_changes_nothing_of_a_closed_one() -> None:
    """Failures that were counted stay counted."""
    breaker = Breaker(SETTINGS)
    breaker.failed(0.0)
    breaker.failed(0.0)
    breaker.looked_well(0.0)
    assert breaker.state(0.0) is BreakerState.CLOSED
    breaker.failed(0.0)
    assert breaker.state(0.0) is BreakerState.OPEN


def test_sending_through_a_closed_one_takes_no_place() -> None:
    """Only a half-open breaker counts tries."""
    breaker = Breaker(SETTINGS)
    breaker.sent(0.0)
    breaker.sent(0.0)
    assert breaker.allows(0.0)


def test_no_failures_allowed_of_zero_turns_it_off() -> None:
    """A bound of 0 means that it never opens."""
    breaker = Breaker(HealthSettings(breaker_failures=0))
    for _ in range(1000):
        breaker.failed(0.0)
    assert breaker.allows(0.0)
    assert breaker.state(0.0) is BreakerState.CLOSED


def test_reset_closes_it() -> None:
    """A replica that is known to have restarted begins anew."""
    breaker = opened()
    breaker.reset()
    assert breaker.allows(0.0)
    assert breaker.state(0.0) is BreakerState.CLOSED


def test_other_settings_hold_from_then_on() -> None:
    """A reload changes bounds and keeps what was counted."""
    breaker = Breaker(SETTINGS)
    breaker.failed(0.0)
    breaker.configure(HealthSettings(breaker_failures=2, breaker_open_s=1.0))
    breaker.failed(0.0)
    assert not breaker.allows(0.5)
    assert breaker.allows(1.0)


def test_turning_it_off_closes_an_open_one() -> None:
    """A breaker that never opens is not left open."""
    breaker = opened()
    breaker.configure(HealthSettings(breaker_failures=0))
    assert breaker.allows(0.0)
