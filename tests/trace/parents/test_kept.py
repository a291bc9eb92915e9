"""The units of the latest calls, in a ring."""

from random import Random

import numpy as np

from stemcache.trace.parents.content import Content, End
from stemcache.trace.parents.kept import KeptCalls


def content(*units: int) -> Content:
    """Of ten bytes a unit."""
    return Content(
        np.array(units, np.uint64),
        np.full(len(units), 10, np.uint32),
        10 * len(units),
        End(units[-1], 1, 2, 3, 10, 20) if units else End(),
    )


def test_a_call_comes_back_as_it_was_kept() -> None:
    """Units, their bytes, the sum, and the last one."""
    kept = KeptCalls(most_calls=4, most_bytes=1200)
    number = kept.add(content(3, 5, 8), None)
    found = kept.content(number)
    assert (number, len(kept)) == (0, 1)
    assert found.units.tolist() == [3, 5, 8]
    assert found.unit_bytes.tolist() == [10, 10, 10]
    assert (found.content_bytes, found.end) == (30, End(8, 1, 2, 3, 10, 20))


def test_an_empty_call_is_kept_too() -> None:
    """It has no last unit."""
    kept = KeptCalls(most_calls=4, most_bytes=1200)
    found = kept.content(kept.add(content(), 1.0))
    assert (len(found.units), found.content_bytes, found.end) == (0, 0, End())


def test_more_calls_than_there_is_room_for_push_out_the_oldest() -> None:
    """By their number."""
    kept = KeptCalls(most_calls=3, most_bytes=1200)
    for call in range(5):
        kept.add(content(call), None)
    assert [number for number in range(-2, 8) if kept.holds(number)] == [2, 3, 4]


def test_more_units_than_there_is_room_for_push_out_the_oldest() -> None:
    """A call is whole or gone."""
    kept = KeptCalls(most_calls=100, most_bytes=10 * 12)
    for call in range(4):
        kept.add(content(*range(10 * call, 10 * call + 4)), None)
        for number in range(call + 1):
            if kept.holds(number):
                expected = list(range(10 * number, 10 * number + 4))
                assert kept.content(number).units.tolist() == expected
    assert not kept.holds(1)
    assert kept.holds(2)
    assert kept.holds(3)


def test_a_call_longer_than_the_ring_keeps_what_fits() -> None:
    """Its bytes are those of what is kept."""
    kept = KeptCalls(most_calls=4, most_bytes=5 * 12)
    found = kept.content(kept.add(content(*range(9)), None))
    assert found.units.tolist() == [0, 1, 2, 3, 4]
    assert found.content_bytes == 50


def test_only_two_known_times_can_say_that_a_call_was_not_answered_yet() -> None:
    """Unknown ones never rule it out; the same instant does not either."""
    kept = KeptCalls(most_calls=4, most_bytes=1200)
    known, unknown = kept.add(content(1), 100.0), kept.add(content(1), None)
    assert kept.answered_before(known, 100.0)
    assert not kept.answered_before(known, 99.9)
    assert kept.answered_before(known, None)
    assert kept.answered_before(unknown, 0.0)


def test_random_histories_never_return_a_call_that_was_written_over() -> None:
    """What is held equals what was added, whatever the lengths."""
    draw = Random(8)
    kept = KeptCalls(most_calls=12, most_bytes=50 * 12)
    added: list[list[int]] = []
    for call in range(500):
        units = sorted(draw.sample(range(10**6), draw.choice((0, 1, 3, 20, 49))))
        added.append(units)
        assert kept.add(content(*units), None) == call
        held = [number for number in range(call + 1) if kept.holds(number)]
        assert held == list(range(held[0], call + 1))
        for number in held:
            assert kept.content(number).units.tolist() == added[number]
