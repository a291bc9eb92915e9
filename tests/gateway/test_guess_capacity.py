"""What answers say of how much a seat can hold."""

from random import Random

import pytest

from stemcache.gateway.guess_capacity import Capacity, Finding


def answers(capacity: Capacity, real: int, count: int, random: Random, start: int = 0) -> int:
    """So many answers of a seat that holds `real` units, at distances of every size."""
    for number in range(start, start + count):
        distance = int(real * random.uniform(0.02, 3))
        if distance <= real:
            capacity.had(distance, used=max(0, number - 50), number=number)
        else:
            capacity.lost(distance, used=max(0, number - 50), number=number)
    return start + count


@pytest.mark.parametrize("thought", [None, 100_000, 5000, 500, 40])
@pytest.mark.parametrize("real", [30, 800, 60_000])
def test_the_capacity_is_found_whatever_was_thought(thought: int | None, real: int) -> None:
    """To some percent, from above and below."""
    capacity = Capacity(thought)
    answers(capacity, real, 600, Random(1))
    assert capacity.units is not None
    assert real * 0.95 <= capacity.units <= real * 1.05


def test_what_is_right_stays() -> None:
    """No answer contradicts it, so it does not move."""
    capacity = Capacity(800)
    answers(capacity, 800, 600, Random(2))
    assert capacity.units == 800


def test_a_seat_that_never_loses_anything_has_no_capacity_yet() -> None:
    """Unknown is not a number."""
    capacity = Capacity(None)
    for number in range(500):
        assert capacity.had(number, used=0, number=number) is Finding.NOTHING
    assert capacity.units is None


def test_two_outliers_move_nothing() -> None:
    """Neither a loss that should not be, nor a find."""
    capacity = Capacity(800)
    number = answers(capacity, 800, 400, Random(3))
    for distance in (790, 600):
        capacity.lost(distance, used=max(0, number - 50), number=number)
    for distance in (900, 1200):
        capacity.had(distance, used=number - 60, number=number)
    answers(capacity, 800, 30, Random(4), number + 1)
    assert capacity.units == 800


@pytest.mark.parametrize("new", [300, 2000])
def test_another_capacity_is_found_within_some_hundred_answers(new: int) -> None:
    """Old answers fade."""
    capacity = Capacity(None)
    number = answers(capacity, 800, 500, Random(5))
    answers(capacity, new, 900, Random(6), number)
    assert capacity.units is not None
    assert new * 0.93 <= capacity.units <= new * 1.07


def test_answers_half_of_which_are_wrong_near_the_edge_find_the_middle() -> None:
    """Another gateway's requests blur the edge; the estimate stays within the blur."""
    capacity, random = Capacity(None), Random(7)
    for number in range(1500):
        distance = int(800 * random.uniform(0.02, 3))
        if distance <= 800 * random.uniform(0.7, 1.3):
            capacity.had(distance, used=max(0, number - 50), number=number)
        else:
            capacity.lost(distance, used=max(0, number - 50), number=number)
    assert capacity.units is not None
    assert 640 <= capacity.units <= 960


def test_a_seat_that_was_emptied_is_told_by_a_few_losses_and_not_learned_from() -> None:
    """What is always found is lost, some times in a row."""
    capacity = Capacity(None)
    number = answers(capacity, 800, 600, Random(8))
    learned = capacity.units
    found = [capacity.lost(200, used=number - 9, number=number + at) for at in range(6)]
    assert found[:2] == [Finding.NOTHING, Finding.NOTHING]
    assert Finding.RESET in found
    assert capacity.emptied_before == number
    assert capacity.units == learned


def test_something_old_that_is_found_ends_the_suspicion() -> None:
    """Two losses, a find from before them, two losses: no reset, as the seat proved to be whole."""
    capacity = Capacity(None)
    number = answers(capacity, 800, 600, Random(9))
    for _ in range(6):
        for _ in range(2):
            finding = capacity.lost(200, used=number - 40, number=number)
            assert finding is not Finding.RESET
            number += 1
        capacity.had(200, used=number - 40, number=number)
    assert capacity.emptied_before == 0


def test_something_found_that_was_used_since_ends_no_suspicion() -> None:
    """An emptied seat finds what it has computed again."""
    capacity = Capacity(None)
    start = answers(capacity, 800, 600, Random(10))
    findings = []
    for number in range(start, start + 12, 2):
        findings.append(capacity.lost(200, used=start - 9, number=number))
        capacity.had(5, used=number, number=number + 1)
    assert Finding.RESET in findings


def test_losses_of_what_was_used_since_are_no_sign_of_the_same_reset() -> None:
    """They must have another cause, and so may the first one."""
    capacity = Capacity(None)
    number = answers(capacity, 800, 600, Random(11))
    assert capacity.lost(200, used=number - 9, number=number) is Finding.NOTHING
    for at in range(1, 30):
        assert capacity.lost(200, used=number + at, number=number + at + 9) is not Finding.RESET


def test_a_suspicion_ends_when_all_from_before_it_would_be_evicted() -> None:
    """What is older than the cache is large proves nothing, and cannot be proved."""
    capacity = Capacity(None)
    number = answers(capacity, 800, 600, Random(12))
    for _ in range(20):
        assert capacity.lost(200, used=number - 9, number=number) is Finding.NOTHING
        capacity.had(790, used=number + 1, number=number + 60)
        number += 100


def test_a_seat_that_finds_nothing_any_more_is_reset_once_and_then_small() -> None:
    """Its cache was switched off: that is learned, as nothing proves otherwise."""
    capacity = Capacity(None)
    number = answers(capacity, 800, 600, Random(13))
    findings = [capacity.lost(60, used=number, number=number + at + 1) for at in range(300)]
    assert findings.count(Finding.RESET) <= 1
    assert capacity.units is not None
    assert capacity.units <= 60


def test_losses_beyond_the_capacity_are_no_reset() -> None:
    """Nor those near it."""
    capacity = Capacity(800)
    number = answers(capacity, 800, 600, Random(12))
    for at in range(50):
        finding = capacity.lost(700 + 40 * at, used=number - 20, number=number + at)
        assert finding is not Finding.RESET


def test_any_number_is_taken() -> None:
    """Nothing, and more than any cache has."""
    capacity = Capacity(None)
    for distance in (0, 1, 10**15):
        capacity.had(distance, used=0, number=1)
        capacity.lost(distance, used=0, number=2)


def test_weights_stay_finite_over_many_answers() -> None:
    """They are scaled down before they overflow, and nothing learned is lost by it."""
    capacity = Capacity(None)
    number = answers(capacity, 800, 300, Random(13))
    for at in range(12_000):
        capacity.had(3, used=number, number=number + at)
    answers(capacity, 800, 600, Random(14), number + 12_000)
    assert capacity.units is not None
    assert 760 <= capacity.units <= 840
