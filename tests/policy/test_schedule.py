"""Orders of admission over the waiting requests."""

from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.policy import schedule
from stemcache.policy.schedule import LPM_PATIENCE_S, Waiting, fcfs, lpm, order


def test_first_come_is_first_served() -> None:
    """Neither matches nor waiting time count, only the order of arrival."""
    waiting = [Waiting(2, 0.0, 900), Waiting(0, 5.0, 0), Waiting(1, 99.0, 10)]

    assert [0, 1, 2] == fcfs(waiting)


def test_the_longest_match_goes_first() -> None:
    """Equal matches go in order of arrival."""
    waiting = [Waiting(0, 4.0, 0), Waiting(1, 3.0, 64), Waiting(2, 2.0, 512), Waiting(3, 1.0, 64)]

    assert [2, 1, 3, 0] == lpm(waiting)


def test_who_has_waited_long_goes_before_any_match() -> None:
    """Nobody starves: past the patience, requests go in order of arrival."""
    waiting = [
        Waiting(0, LPM_PATIENCE_S, 0),
        Waiting(1, LPM_PATIENCE_S + 1.0, 4096),
        Waiting(2, LPM_PATIENCE_S - 0.001, 9999),
        Waiting(3, 0.0, 10_000),
    ]

    assert [0, 1, 3, 2] == lpm(waiting)


def test_nobody_waits_behind_an_endless_stream_of_better_matches() -> None:
    """A request that matches nothing is admitted once its patience is over."""
    admitted_at = next(
        second
        for second in range(100)
        if lpm([Waiting(0, float(second), 0), *(Waiting(n, 0.0, 512) for n in range(1, 5))])[0] == 0
    )

    assert LPM_PATIENCE_S == admitted_at


@pytest.mark.parametrize("name", schedule.NAMES)
def test_an_order_tries_everyone_once(name: str) -> None:
    """An order of any queue is a permutation of it, the empty queue included."""
    random = Random(1)
    queue = [
        Waiting(position, random.choice([0.0, 9.0, 10.0, 60.0]), random.choice([0, 16, 512]))
        for position in range(50)
    ]
    random.shuffle(queue)

    assert list(range(50)) == sorted(order(name)(queue))
    assert [] == order(name)([])


def test_orders_have_the_names_users_give_them() -> None:
    """What `--schedule` takes is what there is."""
    assert ("fcfs", "lpm") == schedule.NAMES
    assert [fcfs, lpm] == [order(name) for name in schedule.NAMES]


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        (
            "fcf",
            "--schedule",
            "unknown schedule 'fcf' from --schedule; did you mean 'fcfs'? (fcfs, lpm)",
        ),
        ("random", "a.toml", "unknown schedule 'random' from a.toml; (fcfs, lpm)"),
    ],
)
def test_an_unknown_order_is_refused_with_the_choices(name: str, source: str, message: str) -> None:
    """What, from where, and what could be meant."""
    with pytest.raises(UsageError) as error:
        order(name, source=source)

    assert message == str(error.value)
