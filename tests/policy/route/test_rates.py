"""Rates learned from times to first token, against seats whose rates are known."""

from random import Random

import pytest

from stemcache.policy.route.contract import Rates
from stemcache.policy.route.rates import ASSUMED, FleetRates, SeatRates

TRUE = Rates(base_s=0.02, prefill_s=5e-5, busy_s=0.002, queue_s=4e-5)


class Source:
    """Requests of all sizes to one seat, one each tenth of a second, with noise."""

    def __init__(self, seed: int = 1, noise: float = 0.1) -> None:
        self._rng = Random(seed)
        self._noise = noise
        self.now_s = 0.0

    def feed(self, seat: SeatRates, requests: int, *, slowness: float = 1.0) -> None:
        rng = self._rng
        for _ in range(requests):
            self.now_s += 0.1
            tokens = rng.choice([50, 200, 1_000, 4_000, 16_000])
            ahead = rng.choice([0, 0, 2_000, 8_000])
            others = rng.randrange(8)
            assert TRUE.queue_s is not None
            ttft_s = (
                TRUE.base_s + TRUE.prefill_s * tokens + TRUE.queue_s * ahead + TRUE.busy_s * others
            )
            ttft_s *= slowness * rng.lognormvariate(0.0, self._noise)
            seat.observe(ttft_s, tokens=tokens, ahead=ahead, others=others, now_s=self.now_s)


def test_before_anything_is_known_rates_are_assumed() -> None:
    """There is always something to reckon with."""
    assert FleetRates().seat().rates(now_s=0.0) == ASSUMED


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_a_hundred_requests_teach_the_rates_whatever_the_speed(scale: float) -> None:
    """A fake that answers in microseconds, and a CPU that takes minutes."""
    seat, source = FleetRates().seat(), Source()
    source.feed(seat, 150, slowness=scale)
    found = seat.rates(now_s=source.now_s)

    assert found.base_s == pytest.approx(TRUE.base_s * scale, rel=0.3)
    assert found.prefill_s == pytest.approx(TRUE.prefill_s * scale, rel=0.1)
    assert found.busy_s == pytest.approx(TRUE.busy_s * scale, rel=0.4)
    assert found.queue_s == pytest.approx(4e-5 * scale, rel=0.15)


def test_seats_that_are_alike_have_the_same_rates() -> None:
    """Noise alone never tells them apart: the fleet would run to the luckiest."""
    fleet = FleetRates()
    seats, source = [fleet.seat() for _ in range(8)], Source(noise=0.3)
    unlike = 0
    for _ in range(200):
        for seat in seats:
            source.feed(seat, 1)
        unlike += len({seat.factor for seat in seats}) > 3

    assert unlike < 30


def test_a_slow_replica_is_noticed_within_some_tens_of_requests() -> None:
    """Three times slower than the three others."""
    fleet = FleetRates()
    seats, source = [fleet.seat() for _ in range(4)], Source()
    for _ in range(30):
        for number, seat in enumerate(seats):
            source.feed(seat, 1, slowness=3.0 if number == 0 else 1.0)
    rates = [seat.rates(now_s=source.now_s).prefill_s for seat in seats]

    assert rates[0] > 2.0 * max(rates[1:])


def test_a_replica_not_heard_of_is_taken_for_an_average_one_again() -> None:
    """Which is how one that has recovered is tried; some ten requests tell if it has not."""
    fleet = FleetRates()
    seats, source = [fleet.seat() for _ in range(4)], Source()
    for _ in range(40):
        for number, seat in enumerate(seats):
            source.feed(seat, 1, slowness=4.0 if number == 0 else 1.0)
    assert seats[0].factor > 2.0

    source.now_s += 600.0
    seats[0].rates(now_s=source.now_s)
    assert seats[0].factor == 1.0

    source.feed(seats[0], 10, slowness=4.0)
    assert seats[0].factor > 1.5


def test_a_replica_that_recovers_is_believed() -> None:
    """Its later requests outweigh its earlier ones."""
    fleet = FleetRates()
    seats, source = [fleet.seat() for _ in range(4)], Source()
    for turn in range(160):
        for number, seat in enumerate(seats):
            source.feed(seat, 1, slowness=4.0 if number == 0 and turn < 40 else 1.0)

    assert seats[0].factor < 1.3


def test_a_new_seat_is_an_average_one() -> None:
    """Neither slow nor fast, so that it is neither shunned nor flooded."""
    fleet = FleetRates()
    source = Source()
    old = fleet.seat()
    source.feed(old, 100)

    assert fleet.seat().rates(now_s=source.now_s) == old.rates(now_s=source.now_s)


def test_a_stall_moves_the_rates_and_does_not_upset_them() -> None:
    """One answer a thousand times too late."""
    seat, source = FleetRates().seat(), Source()
    source.feed(seat, 200)
    before = seat.rates(now_s=source.now_s).prefill_s
    seat.observe(100.0, tokens=1000, ahead=0, others=0, now_s=source.now_s)

    assert seat.rates(now_s=source.now_s).prefill_s == pytest.approx(before, rel=0.1)


def test_a_thousand_hits_do_not_wash_out_the_price_of_a_miss() -> None:
    """Sizes are forgotten apart."""
    seat, source = FleetRates().seat(), Source()
    source.feed(seat, 200)
    rng = Random(1)
    for _ in range(3000):
        took = (TRUE.base_s + TRUE.prefill_s * 40) * rng.lognormvariate(0.0, 0.1)
        seat.observe(took, tokens=40, ahead=0, others=0, now_s=source.now_s)

    assert seat.rates(now_s=source.now_s).prefill_s == pytest.approx(5e-5, rel=0.2)


@pytest.mark.parametrize("ttft_s", [0.0, -1.0, float("nan"), float("inf"), 1e-300, 1e300])
def test_times_that_cannot_be_do_no_harm(ttft_s: float) -> None:
    """Rates stay finite and are not below nothing."""
    seat, source = FleetRates().seat(), Source()
    for _ in range(20):
        seat.observe(ttft_s, tokens=100, ahead=-5, others=-1, now_s=0.0)
        seat.observe(0.1, tokens=float("nan"), ahead=0, others=0, now_s=0.0)
        seat.observe_decode(ttft_s, output_tokens=0)
    source.feed(seat, 20)
    rates = seat.rates(now_s=source.now_s)

    assert all(0.0 <= rate < 1e306 for rate in (rates.base_s, rates.prefill_s, rates.busy_s))
