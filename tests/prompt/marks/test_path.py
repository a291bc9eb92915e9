"""Marks are the best there are: beside all placements, and beside paths over all boundaries."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from time import perf_counter

import pytest

from stemcache.prompt.marks.cost import Set, expected
from stemcache.prompt.marks.forecasts import Poisson
from stemcache.prompt.marks.ground import Found, Ground, ground_of, windows
from stemcache.prompt.marks.path import _shortest, best_marks, candidates
from stemcache.prompt.marks.placement import Held
from stemcache.prompt.marks.terms import Lifetime, Terms, terms_of
from stemcache.prompt.stability import Stability
from tests.prompt.placing import (
    Case,
    Table,
    laid_of,
    marker_rule,
    piece,
    placements,
    random_case,
    twin_score,
)

TERMS = Terms(
    input=1.0,
    read=0.1,
    lifetimes=(Lifetime("1h", 3600, 2.0), Lifetime(None, 300, 1.25)),
    in_usd=False,
)


def _ground(case: Case, terms: Terms, *, own: tuple[int, ...] = ()) -> Ground:
    return ground_of(
        case.laid,
        rule=case.rule,
        terms=terms,
        forecast=case.forecast,
        held=case.held,
        last=windows(case.laid, case.rule),
        own=own,
    )


def _readable(ground: Ground, marks: Sequence[tuple[int, int]]) -> list[tuple[int, float]] | None:
    if not ground.known:
        return None
    return [
        (one.boundary, one.alive)
        for one in ground.found
        if any(one.boundary <= mark[0] <= one.last for mark in marks)
    ]


def _twin(ground: Ground, terms: Terms, marks: Sequence[tuple[int, int]]) -> float:
    return twin_score(
        ground.tokens,
        marks=marks,
        alive=ground.alive,
        prices=(terms.input, terms.read, [one.write for one in terms.lifetimes], terms.usual),
        readable=_readable(ground, marks),
    )


def _least(ground: Ground, terms: Terms, most: int) -> float:
    """The least score of all placements, by the twin."""
    allowed = [
        at for at in range(1, ground.last + 1) if ground.allowed[at] and at not in ground.own
    ]
    lifetimes = len(terms.lifetimes)
    scores = []
    for marks in placements(allowed, most, lifetimes):
        whole = sorted([*marks, *((at, terms.usual) for at in ground.own)])
        numbers = [one[1] for one in whole]
        if numbers == sorted(numbers):
            scores.append(_twin(ground, terms, whole))
    return min(scores)


@pytest.mark.parametrize("seed", range(20))
def test_no_placement_is_cheaper(seed: int) -> None:
    """On 1,000 random layouts, rules, prices and forecasts none of all placements costs less."""
    chance = Random(seed)
    for _ in range(50):
        case = random_case(chance, count=chance.randint(1, 7))
        terms = terms_of(case.rule, case.price, prompt_tokens=1)
        assert terms is not None
        own = (chance.randint(1, len(case.laid.pieces)),) if chance.random() < 0.2 else ()
        ground = _ground(case, terms, own=own)
        most = chance.choice([0, 1, 2, 3, 4])
        marks = best_marks(ground, terms, most)
        assert sum(1 for mark in marks if mark.boundary not in ground.own) <= most
        assert all(ground.allowed[at] or at in ground.own for at, _ in marks)
        assert {(at, terms.usual) for at in ground.own} <= set(marks)
        assert [mark.lifetime for mark in marks] == sorted(mark.lifetime for mark in marks)
        score = expected(ground, terms, marks).score
        assert score == pytest.approx(_twin(ground, terms, marks), rel=1e-9, abs=1e-9)
        assert score <= _least(ground, terms, most) + 2e-9 * terms.input * ground.tokens[-1]


@pytest.mark.parametrize("seed", range(10))
def test_other_boundaries_do_not_matter(seed: int) -> None:
    """A path over all boundaries is no cheaper than one over the candidates alone."""
    chance = Random(1_000 + seed)
    fewer = 0
    for _ in range(10):
        case = random_case(chance, count=chance.randint(8, 40))
        terms = terms_of(case.rule, case.price, prompt_tokens=1)
        assert terms is not None
        own = (chance.randint(1, len(case.laid.pieces)),) if chance.random() < 0.3 else ()
        ground = _ground(case, terms, own=own)
        places = tuple(
            at for at in range(1, ground.last + 1) if ground.allowed[at] or at in ground.own
        )
        fewer += len(candidates(ground)) < len(places)
        whole = expected(ground, terms, _shortest(ground, terms, places, 4, 0.0)).score
        score = expected(ground, terms, best_marks(ground, terms, 4)).score
        assert score <= whole + 2e-9 * terms.input * ground.tokens[-1]
    assert fewer


def test_of_equal_placements_the_one_with_fewest_marks() -> None:
    """Where all pieces are found as often, one mark behind the last is enough."""
    ground = Ground(
        tokens=(0, 100, 200, 300),
        allowed=(False, True, True, True),
        alive=((1.0, 0.9, 0.9, 0.9), (1.0, 0.8, 0.8, 0.8)),
    )
    assert best_marks(ground, TERMS, 4) == (Set(3, 0),)


def test_of_equal_lifetimes_the_shorter() -> None:
    """Where all is always found nothing is written, and the longer lifetime buys nothing."""
    ground = Ground(
        tokens=(0, 100, 200), allowed=(False, True, True), alive=((1.0, 1.0, 0.9), (1.0, 1.0, 0.5))
    )
    assert best_marks(ground, TERMS, 4) == (Set(1, 0), Set(2, 0))
    ground = replace(ground, alive=((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)))
    assert best_marks(ground, TERMS, 4) == (Set(2, 1),)


@pytest.mark.parametrize(
    ("writes", "chosen"),
    [((2.0, 1.25), 1), ((1.25, 2.0), 0), ((1.25, 1.25), 1)],
)
@pytest.mark.parametrize("entries", [(), (Found(1, 1.0, 2),)])
def test_of_equal_scores_the_cheaper_write(
    writes: tuple[float, float], chosen: int, entries: tuple[Found, ...]
) -> None:
    """Longer or shorter; where both cost the same, the shorter. Longer ones still stand first."""
    lifetimes = (Lifetime("1h", 3600, writes[0]), Lifetime(None, 300, writes[1]))
    terms = replace(TERMS, lifetimes=lifetimes)
    ground = Ground(
        tokens=(0, 100, 200),
        allowed=(False, True, True),
        alive=((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
        known=bool(entries),
        found=entries,
    )
    assert {mark.lifetime for mark in best_marks(ground, terms, 4)} == {chosen}


def test_a_cheaper_write_stands_behind_no_shorter_lifetime() -> None:
    """The hour costs less here: where the first mark needs no hour, both take it all the same."""
    lifetimes = (Lifetime("1h", 3600, 1.25), Lifetime(None, 300, 2.0))
    ground = Ground(
        tokens=(0, 100, 200), allowed=(False, True, True), alive=((1.0, 1.0, 0.9), (1.0, 1.0, 0.5))
    )
    marks = best_marks(ground, replace(TERMS, lifetimes=lifetimes), 4)
    assert marks == (Set(1, 0), Set(2, 0))


@pytest.mark.parametrize("entry", range(2, 9))
def test_a_mark_bridges_to_what_is_held_beyond_the_look_back(entry: int) -> None:
    """A turn that added more blocks than a look-back has gets a mark, and at what is held."""
    laid = laid_of(piece(5000), *(piece(203, history=True) for _ in range(30)))
    rule = marker_rule()
    forecast = Poisson(laid, {Stability.STATIC: 1.0, Stability.SESSION: 1 / 60})
    ground = ground_of(
        laid,
        rule=rule,
        terms=TERMS,
        forecast=forecast,
        held=[Held(entry, 1.0)],
        last=windows(laid, rule),
    )
    marks = best_marks(ground, TERMS, 2)
    assert [mark.boundary for mark in marks] == [entry, 31]  # not at the last that reads it
    assert expected(ground, TERMS, marks).read_tokens == pytest.approx(laid.tokens()[entry])


def test_a_bridge_within_the_look_back_is_not_built() -> None:
    """Where the mark at the end reads what is held, the other marks go where they earn."""
    laid = laid_of(piece(5000), *(piece(200, history=True) for _ in range(15)))
    rule = marker_rule()
    forecast = Poisson(laid, {Stability.STATIC: 1.0, Stability.SESSION: 1 / 60})
    ground = ground_of(
        laid,
        rule=rule,
        terms=TERMS,
        forecast=forecast,
        held=[Held(3, 1.0)],
        last=windows(laid, rule),
    )
    assert [mark.boundary for mark in best_marks(ground, TERMS, 2)] == [1, 16]


def test_the_last_turn_reads_and_writes_nothing() -> None:
    """Where nobody will ask again, the one mark stands at what is held: it is read, not written."""
    laid = laid_of(piece(5000), *(piece(200, history=True) for _ in range(6)))
    rule = marker_rule()
    rows = {ttl_s: (1.0, 0.99, *[0.0] * 6) for ttl_s in (300.0, 3600.0)}
    ground = ground_of(
        laid,
        rule=rule,
        terms=TERMS,
        forecast=Table(rows),
        held=[Held(4, 1.0)],
        last=windows(laid, rule),
    )
    marks = best_marks(ground, TERMS, 4)
    assert [mark.boundary for mark in marks] == [1, 4]
    figures = expected(ground, TERMS, marks)
    assert figures.written_tokens == pytest.approx(0)
    assert figures.read_tokens == pytest.approx(5600)


def test_without_marks_there_is_one_placement() -> None:
    """No mark allowed, or none possible: the prompt costs what it costs."""
    ground = Ground(tokens=(0, 100), allowed=(False, False), alive=((1.0, 1.0), (1.0, 1.0)))
    assert best_marks(ground, TERMS, 4) == ()
    assert best_marks(Ground(tokens=(0,), allowed=(False,), alive=((1.0,), (1.0,))), TERMS, 4) == ()
    assert expected(ground, TERMS, ()).cost == 100


def test_thousands_of_pieces_take_milliseconds() -> None:
    """The log of a long agent has a dozen candidates, whatever its length."""
    laid = laid_of(
        *(piece(100) for _ in range(20)),
        *(piece(50, Stability.REFERENCE) for _ in range(20)),
        *(piece(80, history=True, run="tool_result") for _ in range(5_000)),
    )
    rule = marker_rule()
    forecast = Poisson(
        laid, {Stability.STATIC: 1, Stability.REFERENCE: 0.1, Stability.SESSION: 0.01}
    )
    held = [Held(20, 1.0), Held(40, 0.99), Held(4_000, 0.9), Held(4_990, 0.9)]
    terms = terms_of(rule, None, prompt_tokens=1)
    assert terms is not None
    ground = ground_of(
        laid, rule=rule, terms=terms, forecast=forecast, held=held, last=windows(laid, rule)
    )
    assert len(candidates(ground)) < 20
    started = perf_counter()
    best_marks(ground, terms, 4)
    assert perf_counter() - started < 2  # some 20 ms; a path over all boundaries takes minutes
