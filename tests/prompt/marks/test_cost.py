"""What marks are expected to cost is what the simulated cache and the price list say they cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from random import Random
from statistics import fmean, stdev

import numpy as np
import pytest

from stemcache.prompt.marks.cost import Set, expected
from stemcache.prompt.marks.forecasts import Poisson
from stemcache.prompt.marks.ground import Ground, ground_of, windows
from stemcache.prompt.marks.place import place
from stemcache.prompt.marks.placement import Held
from stemcache.prompt.marks.terms import Terms, terms_of
from stemcache.prompt.piece import Laid
from stemcache.prompt.stability import Stability
from stemcache.provider.cache.outcome import Outcome
from stemcache.provider.cache.simulate import PromptCache
from stemcache.provider.price import Price, cost
from stemcache.provider.rule import Range, Rule
from stemcache.provider.shape import Mark, Position, Shape
from stemcache.provider.usage import Usage
from stemcache.wire.api import Api
from tests.prompt.placing import Table, laid_of, marker_rule, piece

PRICE = Price(
    provider="made-up",
    model="m",
    input_usd_per_mtok=3.0,
    read_usd_per_mtok=0.3,
    write_usd_per_mtok={"5m": 3.75, "1h": 6.0},
)
LEVELS = (Stability.STATIC, Stability.REFERENCE, Stability.SESSION)


def _shape(
    laid: Laid, ids: Sequence[int], terms: Terms, marks: Sequence[Set], *, implicit: bool = True
) -> Shape:
    """The request as the simulator sees it; `ids` say which content each piece has."""
    set_at = {mark.boundary: terms.lifetimes[mark.lifetime].name for mark in marks}
    chain = 0
    positions = []
    tokens = laid.tokens()
    for at, (one, name) in enumerate(zip(laid.pieces, ids, strict=True), 1):
        chain = hash((chain, name)) & (2**64 - 1)
        source = getattr(one.source, "speaker", "user")
        positions.append(
            Position(
                chain=chain,
                end_tokens=tokens[at],
                section=one.section,
                role="system" if one.section == "system" else source,
                ends_message=one.ends_message,
                mark=Mark(set_at[at]) if at in set_at else None,
                run=one.run,
            )
        )
    return Shape(
        positions=tuple(positions),
        fine_chain=np.array([], np.uint64),
        fine_tokens=np.array([], np.int64),
        api=Api.MESSAGES,
        implicit=implicit,
    )


def _usd(outcome: Outcome, laid: Laid, rule: Rule) -> float:
    usage = Usage(
        prompt_tokens=laid.tokens()[-1],
        read_tokens=outcome.read_tokens,
        written_tokens=outcome.written_tokens,
        written_by_ttl=outcome.written_by_ttl,
    )
    paid = cost(usage, PRICE, rule=rule)
    assert paid is not None
    return paid.input_usd


def _three_levels(chance: Random) -> Laid:
    """Static, reference, session and turn pieces, some of each."""
    pieces = [
        piece(chance.randint(50, 3000), level)
        for level in (*LEVELS, Stability.TURN)
        for _ in range(chance.randint(1, 3))
    ]
    return laid_of(*pieces)


@pytest.mark.parametrize("seed", range(6))
def test_an_average_request_costs_what_poisson_schedules_cost(seed: int) -> None:
    """Two levels of sharing, requests at random: the mean of the simulation is what is expected."""
    chance = Random(seed)
    laid = _three_levels(chance)
    rule = marker_rule(minimum_tokens=Range(low=0, high=0, likely=500, sources=()))
    terms = terms_of(rule, PRICE, prompt_tokens=laid.tokens()[-1])
    assert terms is not None
    references, sessions = 3, 4
    per_s = 1 / chance.choice([4.0, 20.0, 60.0])
    forecast = Poisson(
        laid,
        dict(zip(LEVELS, (per_s, per_s / references, per_s / references / sessions), strict=True)),
        goes_on=1,
    )
    ground = ground_of(
        laid, rule=rule, terms=terms, forecast=forecast, held=(), last=windows(laid, rule)
    )
    allowed = [at for at in range(1, ground.last + 1) if ground.allowed[at]]
    places = sorted(chance.sample(allowed, min(3, len(allowed))))
    numbers = sorted(chance.choices(range(len(terms.lifetimes)), k=len(places)))
    marks = [Set(*one) for one in zip(places, numbers, strict=True)]
    crowd = _Crowd(per_s=per_s, references=references, sessions=sessions)
    paid = _simulated(crowd, rule, lambda ids: _shape(laid, ids, terms, marks), laid, chance)
    figures = expected(ground, terms, marks)
    # Requests near each other are alike, so the error is told by means of batches.
    batches = [fmean(paid[at : at + 500]) for at in range(0, len(paid), 500)]
    error = stdev(batches) / sqrt(len(batches))
    assert figures.cost == pytest.approx(fmean(paid), abs=4 * error + 1e-9)


@dataclass(frozen=True)
class _Crowd:
    """Who asks: `references` documents, each with so many `sessions`, all equally often."""

    per_s: float
    references: int
    sessions: int


def _simulated(
    crowd: _Crowd,
    rule: Rule,
    shape_of: Callable[[Sequence[int]], Shape],
    laid: Laid,
    chance: Random,
) -> list[float]:
    cache = PromptCache(rule)
    paid = []
    now_s = 0.0
    for number in range(6_500):
        now_s += chance.expovariate(crowd.per_s)
        reference = chance.randrange(crowd.references)
        session = reference * crowd.sessions + chance.randrange(crowd.sessions)
        names = {
            Stability.STATIC: 0,
            Stability.REFERENCE: 1_000 + reference,
            Stability.SESSION: 2_000 + session,
            Stability.TURN: 10_000 + number,
        }
        shape = shape_of([names[one.stability] for one in laid.pieces])
        outcome = cache.look(shape, now_s=now_s, scope="")
        cache.keep(shape, outcome, now_s=now_s, readable_s=None, scope="")
        if number >= 500:
            paid.append(_usd(outcome, laid, rule))
    return paid


@pytest.mark.parametrize("seed", range(30))
def test_a_known_request_costs_what_the_simulator_says(seed: int) -> None:
    """What earlier marks left is read where a look-back ends, runs counted as the rule has it."""
    chance = Random(seed)
    for _ in range(10):
        count = chance.randint(2, 12)
        laid = laid_of(
            *(
                piece(
                    chance.randint(1, 400),
                    history=True,
                    run=chance.choice([None, "tool_use", "tool_result", "tool_result"]),
                )
                for _ in range(count)
            )
        )
        rule = marker_rule(
            look_back=chance.choice([1, 2, 3, 5]),
            runs_collapse=chance.random() < 0.5,
            minimum_tokens=Range(low=0, high=0, likely=chance.choice([0, 300]), sources=()),
        )
        terms = terms_of(rule, PRICE, prompt_tokens=laid.tokens()[-1])
        assert terms is not None
        usual = terms.usual
        left = sorted(chance.sample(range(1, count + 1), chance.randint(1, min(3, count))))
        places = sorted(chance.sample(range(1, count + 1), chance.randint(1, min(4, count))))
        alive = chance.choice([0.0, 0.3, 1.0])
        ground = _known(laid, rule, terms, [Held(at, alive) for at in left])
        marks = [Set(at, usual) for at in places if ground.allowed[at]]
        figures = expected(ground, terms, marks)
        ids = list(range(count))
        cache = PromptCache(rule)
        before = _shape(laid, ids, terms, [Set(at, usual) for at in left])
        cache.keep(before, Outcome(read_tokens=0), now_s=0.0, readable_s=None, scope="")
        shape = _shape(laid, ids, terms, marks)
        there = cache.look(shape, now_s=10.0, scope="")
        gone = cache.look(shape, now_s=1_000.0, scope="")
        mean = alive * _usd(there, laid, rule) + (1 - alive) * _usd(gone, laid, rule)
        assert figures.cost == pytest.approx(mean)
        assert figures.read_tokens == pytest.approx(alive * there.read_tokens)
        written = alive * there.written_tokens + (1 - alive) * gone.written_tokens
        assert figures.written_tokens == pytest.approx(written)


def _known(laid: Laid, rule: Rule, terms: Terms, held: Sequence[Held]) -> Ground:
    nobody = Table({one.lasts_s: (1.0,) + (0.0,) * len(laid.pieces) for one in terms.lifetimes})
    return ground_of(
        laid, rule=rule, terms=terms, forecast=nobody, held=held, last=windows(laid, rule)
    )


@pytest.mark.parametrize("seconds", [60.0, 200.0, 290.0, 310.0, 900.0])
@pytest.mark.parametrize("added", [2, 25])
def test_conversations_cost_what_is_expected_turn_by_turn(seconds: float, added: int) -> None:
    """A conversation marked by `place` costs in the simulator what each placement said."""
    rule = marker_rule()
    cache = PromptCache(rule)
    held: list[Held] = []
    history = 0
    for turn in range(6):
        history += added
        laid = laid_of(piece(4_000), *(piece(150, history=True) for _ in range(history)))
        forecast = Poisson(laid, {Stability.STATIC: 0.0, Stability.SESSION: 0.0})
        if turn:
            forecast = Poisson(laid, {Stability.STATIC: 1 / seconds})
        alive = 1.0 if turn and seconds <= 300 else 0.0
        held = [replace(one, alive=alive) for one in held]
        placement = place(laid, rule=rule, price=PRICE, forecast=forecast, held=held)
        terms = terms_of(rule, PRICE, prompt_tokens=1)
        assert terms is not None
        names = [one.name for one in terms.lifetimes]
        marks = [Set(one.boundary, names.index(one.ttl)) for one in placement.marks]
        shape = _shape(laid, list(range(history + 1)), terms, marks)
        outcome = cache.look(shape, now_s=turn * seconds, scope="")
        cache.keep(shape, outcome, now_s=turn * seconds, readable_s=None, scope="")
        if alive and turn > 1:
            assert outcome.read_tokens == 4_000 + 150 * (history - added)
            assert placement.expected_usd == pytest.approx(_usd(outcome, laid, rule))
        held = [Held(one.boundary, 1.0) for one in placement.marks]


def test_figures_of_one_request_add_up() -> None:
    """What is read, written and left is all of the prompt, and costs the sum of its parts."""
    ground = Ground(
        tokens=(0, 1000, 3000, 3500),
        allowed=(False, True, True, False),
        alive=((1.0, 0.9, 0.5, 0.0),),
    )
    terms = terms_of(marker_rule(ttls=marker_rule().ttls[:1]), PRICE, prompt_tokens=1)
    assert terms is not None
    figures = expected(ground, terms, [Set(1, 0), Set(2, 0)])
    assert figures.read_tokens == pytest.approx(900 + 1000)
    assert figures.written_tokens == pytest.approx(100 + 1000)
    usd = (1900 * 0.3 + 1100 * 3.75 + 500 * 3.0) / 1e6
    assert figures.cost == figures.score == pytest.approx(usd)
