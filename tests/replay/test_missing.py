from random import Random

import numpy as np
import pytest

from stemcache.replay.missing import bounded_from, missing
from stemcache.replay.outcome import UNFINISHED, Outcome
from tests.replay.made import outcome


def lost(number: int, *, ttft: float | None = None, waited: float = 2.0004) -> Outcome:
    """One that was given up."""
    return outcome(number, ttft=ttft, e2e=waited, error="timeout")


def test_nothing_is_said_where_nothing_is_missing() -> None:
    """Whole answers all of them, or no request at all."""
    assert missing([outcome(0), outcome(1)]) is None
    assert missing([]) is None


def test_those_given_up_bound_the_percentiles_that_they_would_be_at() -> None:
    """From the first percentile of the tables whose rank is among them."""
    found = missing([outcome(n) for n in range(113)] + [lost(n) for n in range(113, 125)])
    assert found is not None
    assert (found.given_up, found.of) == (12, 125)
    assert (found.ttft_at_least_that_from, found.e2e_at_least_that_from) == ("p95", "p95")
    (line,) = found.in_words
    assert line == (
        "12 of 125 were given up after 2 s and are not in these rows: the true p95 and later are "
        "at least that"
    )


def test_one_that_had_begun_to_answer_does_not_bound_its_first_token() -> None:
    """It only bounds the end."""
    some = [outcome(n) for n in range(90)]
    began = [lost(n, ttft=0.1) for n in range(90, 99)]
    found = missing([*some, *began, lost(99)])
    assert found is not None
    assert found.in_words[0].endswith(
        "the true p95 and later of end to end, and max of TTFT, are at least that"
    )
    none = missing([*some, *began])
    assert none is not None
    assert none.ttft_at_least_that_from is None
    assert none.in_words[0].endswith("the true p95 and later of end to end are at least that")


def test_other_failures_are_said_to_be_left_out_too() -> None:
    """Nothing is known of how long they would have taken."""
    found = missing([outcome(0), outcome(1, error="http_500"), outcome(2, error=UNFINISHED)])
    assert found is not None
    assert (found.given_up, found.given_up_after_s) == (0, None)
    unanswered, failed = found.in_words
    assert unanswered == (
        "1 of 3 was not answered yet when the run was ended, and is not in these rows: "
        "it may have been slow"
    )
    assert failed == (
        "1 of 3 failed otherwise and is not in these rows: what it would have taken is unknown"
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_holds_whatever_they_would_have_taken(seed: int) -> None:
    """On random samples: the percentile is at least the bound, and the one before need not be."""
    random = Random(seed)
    answered = [random.expovariate(1) for _ in range(random.randint(1, 200))]
    given_up = [2 + random.expovariate(1) for _ in range(random.randint(1, 50))]
    everything = answered + given_up
    first = bounded_from(len(given_up), len(everything))
    assert first is not None
    percents = {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "max": 100}
    for percent in percents.values():
        value = np.percentile(everything, percent)
        if percent >= percents[first]:
            assert value >= 2
        else:
            fastest = [0.0] * len(answered) + given_up
            assert percent * (len(fastest) - 1) < 100 * len(answered)


def test_a_bound_is_not_a_millisecond_short_for_a_float() -> None:
    """Two seconds after 0.05 s are less than that in binary."""
    found = missing([outcome(0, due=0.05, ttft=None, e2e=2.0, error="timeout")])
    assert found is not None
    assert found.in_words[0].startswith("1 of 1 was given up after 2 s and is not in these rows")
