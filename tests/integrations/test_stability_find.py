"""Which perturbation it was, with builders that are a set of what changes them."""

from collections.abc import Callable, Collection
from random import Random

import pytest

from stemcache.integrations.stability_find import OutOfTime, findings
from stemcache.integrations.stability_prompt import Passage, Seen
from stemcache.integrations.stability_report import Finding
from stemcache.integrations.stability_run import Outcome, Raised
from stemcache.integrations.stability_world import ANYWHERE, IN_A_PROCESS, Perturbation, World

AGAIN, CLOCK, ID, LOCALE = (
    Perturbation.AGAIN,
    Perturbation.CLOCK,
    Perturbation.ID,
    Perturbation.LOCALE,
)


def _seen(text: str) -> Seen:
    return Seen((Passage("system", "/0", "", text),), 1, {})


HELD = _seen("held")


class Tried:
    """A builder in worlds: it changes with any of `causes`, and with all of `together`."""

    def __init__(
        self, causes: Collection[Perturbation] = (), together: Collection[Perturbation] = ()
    ) -> None:
        self.causes, self.together = frozenset(causes), frozenset(together)
        self.worlds: list[frozenset[Perturbation]] = []

    def __call__(self, world: World) -> Outcome:
        varied = frozenset(one for one in IN_A_PROCESS if world.level(one))
        self.worlds.append(varied)
        met = sorted(map(str, self.causes & varied))
        if self.together and self.together <= varied:
            met.append("together")
        return _seen(" ".join(met)) if met else HELD


def _found(tried: Callable[[World], Outcome], *, runs: int = 1) -> tuple[Finding, ...]:
    return findings(HELD, ANYWHERE, seed=0, runs=runs, attempt=tried, unchanged=AGAIN)


def _causes(found: Collection[Finding]) -> list[tuple[str, ...]]:
    return [tuple(map(str, one.causes)) for one in found]


def test_every_set_of_causes_is_found_and_no_other() -> None:
    """Each by itself, in the order in which they are tried."""
    rng = Random(3)
    for _ in range(300):
        causes = rng.sample(ANYWHERE, rng.randrange(len(ANYWHERE) + 1))
        expected = [(str(one),) for one in ANYWHERE if one in causes]
        assert _causes(_found(Tried(causes))) == expected


@pytest.mark.parametrize("cause", IN_A_PROCESS)
def test_one_cause_costs_few_runs(cause: Perturbation) -> None:
    """All at once, nothing, and two for each time that they are halved."""
    tried = Tried([cause])

    found = findings(HELD, IN_A_PROCESS, seed=0, runs=3, attempt=tried, unchanged=AGAIN)

    assert _causes(found) == [(cause,)]
    assert len(tried.worlds) <= 2 + 2 * 4


def test_nothing_is_looked_for_where_nothing_differs() -> None:
    """A run a level."""
    tried = Tried()

    assert _found(tried, runs=3) == ()
    assert tried.worlds == [frozenset(ANYWHERE)] * 3


@pytest.mark.parametrize("together", [(CLOCK, LOCALE), (ID, CLOCK), (CLOCK, ID, LOCALE)])
def test_causes_that_only_meet_are_named_together(together: tuple[Perturbation, ...]) -> None:
    """Also where they are in one half; and one that needs no other is named instead."""
    assert [set(one.causes) for one in _found(Tried(together=together))] == [set(together)]

    both = _found(Tried([Perturbation.ZONE], together=together))
    assert _causes(both) == [("time-zone",)]


def test_what_differs_without_any_change_has_a_name_of_its_own() -> None:
    """One run tells, and no cause is looked for."""
    tries: list[World] = []

    def attempt(world: World) -> Outcome:
        tries.append(world)
        return _seen(f"run {len(tries)}")

    found = findings(
        HELD, ANYWHERE, seed=0, runs=3, attempt=attempt, unchanged=Perturbation.PROCESS
    )

    assert _causes(found) == [("process",)]
    assert len(tries) == 2
    assert not tries[1].levels


def test_where_all_is_allowed_only_that_is_left() -> None:
    """Even of a builder that differs once in a while."""
    answers = iter([HELD, _seen("once"), HELD])

    found = findings(HELD, (), seed=0, runs=3, attempt=lambda _: next(answers), unchanged=AGAIN)

    assert _causes(found) == [("again",)]


def test_what_raises_is_an_effect_like_another() -> None:
    """The clock raises, and the locale only changes."""

    def attempt(world: World) -> Outcome:
        if world.level(CLOCK):
            return Raised("LookupError: evening", "")
        return _seen("other") if world.level(LOCALE) else HELD

    found = _found(attempt)

    assert _causes(found) == [("clock",), ("locale",)]
    assert isinstance(found[0].effect, Raised)
    assert not isinstance(found[1].effect, Raised)


def test_time_that_is_over_leaves_what_is_known() -> None:
    """That something differs, and not what; before that, nobody knows anything."""
    tried = Tried([CLOCK])

    def attempt(world: World) -> Outcome:
        if len(tried.worlds) == 2:
            raise OutOfTime
        return tried(world)

    (found,) = _found(attempt)
    assert (found.causes, found.alone) == (ANYWHERE, False)

    with pytest.raises(OutOfTime):
        _found(attempt)
