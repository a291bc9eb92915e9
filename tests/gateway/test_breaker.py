"""When a replica's breaker lets requests through."""

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


def test_health_checks_are_not_believed_again_where_requests_fail() -> None:
    """A page may answer while nothing else does: then the open time holds, until one succeeds."""
    breaker = opened()
    breaker.looked_well(1.0)
    assert breaker.sent(1.0)
    breaker.failed(2.0, trial=True)
    breaker.looked_well(3.0)
    assert not breaker.allows(11.9)
    assert breaker.sent(12.0)
    breaker.succeeded(13.0, trial=True)
    for _ in range(3):
        breaker.failed(20.0)
    breaker.looked_well(21.0)
    assert breaker.allows(21.0)


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
