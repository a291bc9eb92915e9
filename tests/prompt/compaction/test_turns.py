"""How many turns are still to come: beside counting."""

from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.compaction.turns import Turns


def test_it_is_the_mean_over_those_that_lasted_longer() -> None:
    """Counted one by one, for every number of turns done."""
    random = Random(1)
    for _ in range(50):
        lengths = [random.randrange(1, 40) for _ in range(30)]
        turns = Turns.of(lengths)
        for done in range(max(lengths)):
            longer = [length - done for length in lengths if length > done]
            assert turns.remaining(done) == pytest.approx(sum(longer) / len(longer))
            for more in (0, 1, 3, 10):
                share = sum(rest >= more for rest in longer) / len(longer)
                assert turns.chance(done, more) == pytest.approx(share)


def test_nothing_is_promised_beyond_what_was_seen() -> None:
    """Neither turns nor a chance of them."""
    turns = Turns.of([3, 9])
    assert turns.remaining(9) == turns.remaining(50) == 0.0
    assert turns.chance(9, 1) == turns.chance(50, 1) == 0.0


def test_running_conversations_say_only_that_they_are_longer() -> None:
    """They raise the estimate and add no end of their own."""
    ended = Turns.of([2, 10])
    running = Turns.of([2, 10], running=[5, 5, 5])
    assert running.remaining(0) > ended.remaining(0)
    assert running.remaining(6) == ended.remaining(6) == 4.0


def test_only_running_conversations_promise_nothing() -> None:
    """No end was ever seen."""
    assert Turns.of([], running=[5]).remaining(1) == 0.0


def test_a_fraction_of_a_turn_asks_for_the_whole_of_it() -> None:
    """A chance of 2.5 turns is one of three."""
    turns = Turns.of([2, 3])
    assert turns.chance(0, 2.0) == 1.0
    assert turns.chance(0, 2.5) == 0.5


def test_nothing_to_learn_from_is_refused() -> None:
    """An estimate from nothing would be made up."""
    with pytest.raises(UsageError, match="no conversation was given to learn from"):
        Turns.of([])
