"""Forecasts: chances are probabilities, fall with the boundary and rise with the lifetime."""

from math import exp, inf, nan
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.marks.forecast import Forecast
from stemcache.prompt.marks.forecasts import (
    AlwaysAlive,
    Arrival,
    FromGaps,
    Poisson,
    a_request_a_minute,
    gaps_of,
)
from stemcache.prompt.stability import Stability
from tests.prompt.placing import laid_of, piece

STATIC, REFERENCE, SESSION, TURN = Stability
LAID = laid_of(
    piece(),
    piece(stability=REFERENCE),
    piece(stability=SESSION),
    piece(history=True),
    piece(1, TURN),
)


def _is_a_forecast(forecast: Forecast) -> None:
    for ttl_s in (0.0, 1.0, 300.0, 3600.0, inf):
        row = [forecast.alive(at, ttl_s) for at in range(len(LAID.pieces) + 1)]
        assert all(0 <= chance <= 1 for chance in row)
        assert row == sorted(row, reverse=True)
        assert row[-1] == 0
    for at in range(len(LAID.pieces) + 1):
        column = [forecast.alive(at, ttl_s) for ttl_s in (0.0, 1.0, 300.0, 3600.0, inf)]
        assert column == sorted(column)


def test_always_alive_is_all_but_turns() -> None:
    """What is not a turn piece is always found, unless a lifetime is none."""
    forecast = AlwaysAlive(LAID)
    assert [forecast.alive(at, 300) for at in range(6)] == [1, 1, 1, 1, 1, 0]
    assert forecast.alive(1, 0) == 0
    _is_a_forecast(forecast)


def test_poisson_is_the_chance_of_a_request_in_time() -> None:
    """One less the chance that nobody comes, at the rate of the least stable piece before."""
    forecast = Poisson(LAID, {STATIC: 1.0, REFERENCE: 0.01, SESSION: 0.001}, goes_on=0.9)
    assert forecast.alive(2, 300) == pytest.approx(1 - exp(-3))
    assert forecast.alive(3, 300) == forecast.alive(4, 300) == pytest.approx(0.9 * (1 - exp(-0.3)))
    assert forecast.alive(4, inf) == pytest.approx(0.9)
    _is_a_forecast(forecast)


@pytest.mark.parametrize("seed", range(20))
def test_any_rates_make_a_forecast(seed: int) -> None:
    """Whatever the rates and gaps, chances are nested."""
    chance = Random(seed)
    rates = sorted((chance.choice([0.0, chance.random()]) for _ in range(3)), reverse=True)
    _is_a_forecast(
        Poisson(LAID, dict(zip(Stability, rates, strict=False)), goes_on=chance.random())
    )
    gaps = {
        level: [chance.choice([inf, chance.expovariate(0.01)]) for _ in range(chance.randint(0, 9))]
        for level in (STATIC, REFERENCE, SESSION)
    }
    gaps[REFERENCE].append(1.0)
    _is_a_forecast(FromGaps(LAID, gaps))


def test_a_rate_left_out_is_that_of_what_is_more_stable() -> None:
    """Only the static rate given: all is shared as often. Nothing given: nobody comes."""
    forecast = Poisson(LAID, {STATIC: 0.01}, goes_on=1)
    assert forecast.alive(4, 300) == forecast.alive(1, 300) == pytest.approx(1 - exp(-3))
    assert Poisson(LAID, {}).alive(1, 300) == 0
    assert Poisson(LAID, {}).alive(1, inf) == 0
    assert Poisson(LAID, {SESSION: 0.0}).alive(1, 300) == 0


@pytest.mark.parametrize(
    "rates", [{STATIC: 0.1, REFERENCE: 0.2}, {STATIC: -1.0}, {SESSION: nan}, {SESSION: 1.0}]
)
def test_rates_that_cannot_be_are_refused(rates: dict[Stability, float]) -> None:
    """A rate that rises, is negative or no number is named with its stability."""
    with pytest.raises(UsageError, match=r"the rate of \w+ is .* a second; give one"):
        Poisson(LAID, rates)
    with pytest.raises(UsageError, match="goes_on is 2; give a part between 0 and 1"):
        Poisson(LAID, {STATIC: 1.0}, goes_on=2)


def test_the_default_is_a_request_a_minute() -> None:
    """By everybody, and by the conversations that go on, which are nine in ten."""
    forecast = a_request_a_minute(LAID)
    for boundary, part in ((1, 1.0), (2, 1.0), (3, 0.9), (4, 0.9), (5, 0.0)):
        assert forecast.alive(boundary, 300.0) == pytest.approx(part * (1 - exp(-5)))
    _is_a_forecast(forecast)


def test_gaps_of_a_log_are_counted() -> None:
    """The part of gaps in time; a first request is a gap that nothing was in time for."""
    forecast = FromGaps(LAID, {STATIC: [1, 1, 1, inf], SESSION: [10, 400, 4000, inf]})
    assert forecast.alive(1, 300) == 0.75
    assert forecast.alive(2, 300) == 0.75
    assert forecast.alive(4, 300) == 0.25
    assert forecast.alive(4, 3600) == 0.5
    assert forecast.alive(4, inf) == 0.75


def test_gaps_that_cannot_be_are_refused() -> None:
    """Negative gaps, and none at all."""
    with pytest.raises(UsageError, match="a gap of session is negative or no number"):
        FromGaps(LAID, {SESSION: [-1.0]})
    with pytest.raises(UsageError, match="the log has no gaps; give those of one stability"):
        FromGaps(LAID, {SESSION: []})


def test_a_log_is_read_for_gaps() -> None:
    """Gaps count between requests that share all that is more stable too, in order of time."""
    arrivals = [
        Arrival(100.0, {STATIC: "v1", SESSION: "a"}),
        Arrival(0.0, {STATIC: "v1", SESSION: "a"}),
        Arrival(30.0, {STATIC: "v1", SESSION: "b"}),
        Arrival(130.0, {STATIC: "v2", SESSION: "a"}),
    ]
    assert gaps_of(arrivals) == {STATIC: [inf, 30, 70, inf], SESSION: [inf, inf, 100, inf]}
    assert gaps_of([]) == {}


@pytest.mark.parametrize("seed", range(3))
def test_gaps_of_random_arrivals_agree_with_poisson(seed: int) -> None:
    """The forecast from a long Poisson log is the Poisson forecast, within its error."""
    chance = Random(seed)
    arrivals, at_s = [], 0.0
    for _ in range(8_000):
        at_s += chance.expovariate(0.05)
        arrivals.append(Arrival(at_s, {STATIC: 0, SESSION: chance.randrange(10)}))
    told = FromGaps(LAID, gaps_of(arrivals))
    meant = Poisson(LAID, {STATIC: 0.05, REFERENCE: 0.05, SESSION: 0.005}, goes_on=1)
    for boundary in (1, 4):
        for ttl_s in (30.0, 300.0):
            assert told.alive(boundary, ttl_s) == pytest.approx(
                meant.alive(boundary, ttl_s), abs=0.03
            )
