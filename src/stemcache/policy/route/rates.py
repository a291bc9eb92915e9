"""How fast each seat answers, learned online from times to first token.

```
  TTFT of a stream ──► moments of the seat (forgotten in 64 requests or a minute)
                  └──► moments of the fleet (forgotten in 512 requests)
                              │ as if the seat had made four such observations
                              ▼
  base_s, prefill_s, busy_s = least squares, none below 0, of relative errors
```
A seat of which little is known is thus taken for an average one, neither slow nor fast; so is one
that has not been heard of for minutes, which is how a replica that was slow is tried again. Errors
are relative, or one long prompt would outweigh a hundred short ones, and an observation counts for
no more than five times what was expected, so that a stall moves the rates and does not upset them.
"""

from math import exp, isfinite, log
from typing import Final

from stemcache.policy.route.contract import Rates

__all__ = ["ASSUMED", "FleetRates", "SeatRates"]

ASSUMED: Final = Rates(base_s=0.05, prefill_s=1e-4, busy_s=0.005)
"""Before anything is known: a model of 8 billion parameters on one accelerator."""

_UNIT = 1e-3  # tokens are counted in thousands, so that the sums are of like size
_SEAT_REQUESTS = 64.0
_SEAT_S = 60.0
_FLEET_REQUESTS = 512.0
_PRIOR = 4.0  # requests of an average seat that each seat is taken to have answered
_RIDGE = 0.01
_CLIP = 5.0
_SURE = 8.0  # requests from which an observation can be told from an outlier
_BUSY_SHARE = 0.05  # of the mean TTFT, per other request, while that cannot be told
_SOLVE_S = 1.0
_SWEEPS = 4


class _Moments:
    """Weighted sums of products over observations, forgotten exponentially."""

    __slots__ = ("b0", "b1", "b2", "count", "m00", "m01", "m02", "m11", "m12", "m22")

    def __init__(self) -> None:
        self.count = 0.0
        self.m00 = self.m01 = self.m02 = self.m11 = self.m12 = self.m22 = 0.0
        self.b0 = self.b1 = self.b2 = 0.0

    def fade(self, factor: float) -> None:
        self.count *= factor
        self.m00 *= factor
        self.m01 *= factor
        self.m02 *= factor
        self.m11 *= factor
        self.m12 *= factor
        self.m22 *= factor
        self.b0 *= factor
        self.b1 *= factor
        self.b2 *= factor

    def add(self, weight: float, tokens: float, others: float, ttft_s: float) -> None:
        self.count += 1.0
        self.m00 += weight
        self.m01 += weight * tokens
        self.m02 += weight * others
        self.m11 += weight * tokens * tokens
        self.m12 += weight * tokens * others
        self.m22 += weight * others * others
        self.b0 += weight * ttft_s
        self.b1 += weight * tokens * ttft_s
        self.b2 += weight * others * ttft_s


class FleetRates:
    """What is known of all seats together. One a fleet; the seats share it."""

    def __init__(self, assumed: Rates = ASSUMED) -> None:
        self._moments = _Moments()
        self._assumed = assumed
        self.mean_ttft_s = assumed.base_s
        self.decode_s = 0.0
        """Seconds per output token of one stream, averaged; 0 while unknown."""
        self.output_tokens = 0.0
        """Mean length of answers; 0 while unknown."""

    @property
    def requests(self) -> float:
        """So many, the forgotten ones left out, are behind the rates."""
        return self._moments.count

    def seat(self) -> "SeatRates":
        """A learner for one more seat."""
        return SeatRates(self)


class SeatRates:
    """What is known of one seat. `rates` costs under 1 µs, and 10 µs where it has to solve."""

    __slots__ = ("_decode", "_decode_count", "_fleet", "_moments", "_now_s", "_rates", "_solved_s")

    def __init__(self, fleet: FleetRates) -> None:
        self._fleet = fleet
        self._moments = _Moments()
        self._rates = fleet._assumed  # noqa: SLF001 - one learner in two classes
        self._now_s: float | None = None
        self._solved_s: float | None = None
        self._decode = 0.0
        self._decode_count = 0.0

    def observe(self, ttft_s: float, *, tokens: float, others: float, now_s: float) -> None:
        """A stream's first token came.

        `tokens`: computed, for it and for those that waited before it; `others`: in flight when it
        was sent. Figures that make no sense are passed over. About 5 µs.
        """
        if not (isfinite(ttft_s) and ttft_s > 0 and isfinite(tokens) and isfinite(others)):
            return
        fleet = self._fleet
        every = fleet._moments  # noqa: SLF001
        thousands, others = max(0.0, tokens) * _UNIT, max(0.0, others)
        rates = self.rates(now_s=now_s)
        expected = rates.base_s + rates.prefill_s / _UNIT * thousands + rates.busy_s * others
        seen = ttft_s
        if every.count >= _SURE and expected > 0:
            seen = min(max(ttft_s, expected / _CLIP), expected * _CLIP)
        # By the larger of the two: an underestimate would otherwise outweigh all that follows.
        weight = 1.0 / max(expected, seen, 1e-9) ** 2
        every.fade(1.0 - 1.0 / _FLEET_REQUESTS)
        every.add(weight, thousands, others, seen)
        pace = max(1.0 / (every.count + 1.0), 1.0 / _SEAT_REQUESTS)
        fleet.mean_ttft_s += (seen - fleet.mean_ttft_s) * pace
        self._fade(now_s)
        self._moments.fade(1.0 - 1.0 / _SEAT_REQUESTS)
        self._moments.add(weight, thousands, others, seen)
        self._solved_s = None

    def observe_decode(self, seconds: float, *, output_tokens: int) -> None:
        """So long from the first token of a stream to its last."""
        if not (isfinite(seconds) and seconds > 0 and output_tokens > 1):
            return
        per_token = seconds / (output_tokens - 1)
        self._decode_count = min(self._decode_count + 1.0, _SEAT_REQUESTS)
        self._decode += (per_token - self._decode) / self._decode_count
        fleet = self._fleet
        fleet.decode_s += (per_token - fleet.decode_s) * (0.05 if fleet.decode_s else 1.0)

    @property
    def decode_s(self) -> float:
        """Seconds per output token of one stream; the fleet's where the seat's is unknown."""
        return self._decode if self._decode_count else self._fleet.decode_s

    def rates(self, *, now_s: float) -> Rates:
        """As known now."""
        if self._solved_s is None or now_s - self._solved_s > _SOLVE_S:
            self._fade(now_s)
            self._solve()
            self._solved_s = now_s
        return self._rates

    def forget(self) -> None:
        """The seat is another one now: what was learned of it does not hold."""
        self._moments = _Moments()
        self._decode = self._decode_count = 0.0
        self._solved_s = None

    def _fade(self, now_s: float) -> None:
        if self._now_s is not None and now_s > self._now_s:
            self._moments.fade(exp(-log(2.0) * (now_s - self._now_s) / _SEAT_S))
        if self._now_s is None or now_s > self._now_s:
            self._now_s = now_s

    def _solve(self) -> None:
        """Coordinate descent from the last solution: it moves little between two requests."""
        fleet, own = self._fleet, self._moments
        every = fleet._moments  # noqa: SLF001
        if every.count <= 0.0:
            self._rates = fleet._assumed  # noqa: SLF001
            return
        prior = _PRIOR / every.count
        m00 = own.m00 + prior * every.m00
        m01 = own.m01 + prior * every.m01
        m02 = own.m02 + prior * every.m02
        m11 = own.m11 + prior * every.m11
        m12 = own.m12 + prior * every.m12
        m22 = own.m22 + prior * every.m22
        b0 = own.b0 + prior * every.b0
        b1 = own.b1 + prior * every.b1
        b2 = own.b2 + prior * every.b2
        # Towards what is likely, in directions of which the traffic says nothing.
        r0, r1, r2 = _RIDGE * m00, _RIDGE * max(m11, m00 * 1e-6), _RIDGE * max(m22, m00)
        likely = fleet.mean_ttft_s
        p0 = 0.5 * likely
        p1 = 0.5 * likely * m01 / m11 if m11 > 0.0 else fleet._assumed.prefill_s / _UNIT  # noqa: SLF001
        p2 = _BUSY_SHARE * likely
        last = self._rates
        base, prefill, busy = last.base_s, last.prefill_s / _UNIT, last.busy_s
        for _ in range(_SWEEPS):
            prefill = max(0.0, (b1 + r1 * p1 - m01 * base - m12 * busy) / (m11 + r1))
            busy = max(0.0, (b2 + r2 * p2 - m02 * base - m12 * prefill) / (m22 + r2))
            base = max(0.0, (b0 + r0 * p0 - m01 * prefill - m02 * busy) / (m00 + r0))
        self._rates = Rates(base_s=base, prefill_s=prefill * _UNIT, busy_s=busy)
