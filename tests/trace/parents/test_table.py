"""Which calls had a unit."""

from random import Random

import numpy as np
import numpy.typing as npt

from stemcache.trace.parents.table import UnitTable


def units(*numbers: int) -> npt.NDArray[np.uint64]:
    """Digests as far apart as real ones."""
    return np.array(numbers, np.uint64) * np.uint64(0xD6E8FEB86659FD93)


def calls_of(table: UnitTable, unit: int) -> list[int]:
    """The calls that are known for one unit, in no order."""
    seen = table.find(units(unit))
    return sorted(call for call in seen.calls.ravel().tolist() if call >= 0)


def test_a_unit_that_nobody_had_is_not_found() -> None:
    """Zero, which empty slots hold, no more than any other."""
    table = UnitTable(1024)
    assert len(table.find(units(7, 0)).at) == 0
    table.add(units(0), 3)
    assert calls_of(table, 0) == [3]


def test_the_first_two_and_the_latest_six_calls_are_kept() -> None:
    """What came between is forgotten, and counted."""
    table = UnitTable(1024)
    for call in range(20):
        table.add(units(7), call)
    assert calls_of(table, 7) == [0, 1, 14, 15, 16, 17, 18, 19]
    assert table.find(units(7)).counts.tolist() == [20]


def test_few_calls_are_all_kept() -> None:
    """Up to eight."""
    table = UnitTable(1024)
    for call in range(8):
        table.add(units(7, 100 + call), call)
        assert calls_of(table, 7) == list(range(call + 1))
        assert calls_of(table, 100 + call) == [call]


def test_another_unit_in_the_same_slot_takes_it_over() -> None:
    """The one before it is unknown then, and never mistaken for it."""
    table = UnitTable(2)
    names = list(range(1, 40))
    for call, name in enumerate(names):
        table.add(units(name), call)
    known = [name for name in names if calls_of(table, name)]
    assert 1 <= len(known) <= 2
    assert all(calls_of(table, name) == [name - 1] for name in known)


def test_units_of_one_call_that_fall_on_one_slot_do_not_mix() -> None:
    """One of them is known, with that call and no other."""
    table = UnitTable(2)
    table.add(units(*range(1, 30)), 5)
    table.add(units(*range(1, 30)), 6)
    seen = table.find(units(*range(1, 30)))
    assert 1 <= len(seen.at) <= 2
    assert {tuple(row[row >= 0].tolist()) for row in seen.calls} <= {(5, 6), (5,), (6,)}
    assert set(seen.counts.tolist()) <= {1, 2}


def test_random_histories_agree_with_a_list_of_calls_a_unit() -> None:
    """With room for all, the table forgets only what it says."""
    draw = Random(5)
    table, twin = UnitTable(2**16), dict[int, list[int]]()
    for call in range(400):
        names = sorted(draw.sample(range(1, 90), draw.randrange(1, 12)))
        table.add(units(*names), call)
        for name in names:
            twin.setdefault(name, []).append(call)
    for name, calls in twin.items():
        kept = calls if len(calls) <= 8 else calls[:2] + calls[-6:]
        assert calls_of(table, name) == kept
