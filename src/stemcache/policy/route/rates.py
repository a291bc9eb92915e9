"""How fast each seat answers, learned online from times to first token.

```
  TTFT of a stream ─┬─► fleet: base_s, prefill_s, queue_s, busy_s       least squares, none below 0,
                    │                     │                             of 64 requests of each size
                    │                     ▼ expected
                    └─► seat:  TTFT / expected, averaged as a factor    forgotten in 64, or a minute
                                          │ as far as it is beyond doubt
                                          ▼
                               the fleet's rates x the seat's factor
```
Seats of a fleet run the same model, so all of them say what a token costs, and each only how much
slower it is than the others. A factor within the noise is exactly 1: rates that differ by chance
would send everything to the seat that chance prefers, and leave the others no occasion to disprove
it. A seat of which nothing is known is an average one; so is one that has not been heard of for
minutes, which is how a replica that was slow is tried again.

Requests are kept apart by how much was computed, in powers of two, and forgotten only by others of
their size: hours of hits would otherwise wash out what is known of the price of a miss.

Errors are relative, or one long prompt would outweigh a hundred short ones. An observation counts
for no more than five times what was expected: a stall moves the rates and does not upset them.
"""

from math import exp, isfinite, log, sqrt
from typing import Final

from stemcache.policy.route.contract import Rates

__all__ = ["ASSUMED", "FleetRates", "SeatRates", "Usual"]

ASSUMED: Final = Rates(base_s=0.05, prefill_s=1e-4, busy_s=0.005)
"""Before anything is known: a model of 8 billion parameters on one accelerator."""

_UNIT = 1e-3  # tokens are counted in thousands, so that the sums are of like size
_SIZES = 24
_SIZE_REQUESTS = 64.0
_RIDGE = 0.02  # of what is known, and less the more that is
_CLIP = 5.0
_SURE = 8.0  # requests from which an observation can be told from an outlier
_BUSY_SHARE = 0.05  # of the mean TTFT, per other request, while that cannot be told
_MOST_S = 1e6  # what takes longer is a mistake of somebody's clock
_MOST = 1e9
_SWEEPS = 6
_SOLVE_EVERY = 4  # observations, once there are many
_ROWS = ((0, 1, 2, 3), (1, 4, 5, 6), (2, 5, 7, 8), (3, 6, 8, 9))
"""Where the products of a symmetric matrix are kept in a flat list; four targets follow."""
_SUMS = 14

_SEAT_REQUESTS = 64.0
_SEAT_S = 60.0
_STALE_S = 1.0
_PRIOR = 4.0  # requests of an average seat that each seat is taken to have answered
_NOISE = 0.25  # of one observation's logarithm, before there are any
_DOUBT = 2.0  # standard errors that are taken for chance
_LEAST_ERROR = 0.03
_MOST_FACTOR = log(50.0)
_LOG_2 = log(2.0)


class Usual:
    """Mean load of a seat, over the last hundred looks at any."""

    __slots__ = ("in_flight", "looks", "waiting_tokens")

    def __init__(self) -> None:
        self.in_flight = self.waiting_tokens = self.looks = 0.0

    def seen(self, in_flight: float, waiting_tokens: float) -> None:
        """A seat was looked at."""
        self.looks = min(self.looks + 1.0, 100.0)
        self.in_flight += (in_flight - self.in_flight) / self.looks
        self.waiting_tokens += (waiting_tokens - self.waiting_tokens) / self.looks


class FleetRates:
    """What all seats of a fleet have in common. One a fleet; `seat` makes the learners."""

    def __init__(self, assumed: Rates = ASSUMED) -> None:
        self._assumed = assumed
        self._count = 0.0
        self._sums: dict[int, list[float]] = {}
        """By size: weighted sums of products of 1, tokens, tokens ahead, others, and TTFT."""
        self._mean_s = 0.0
        self._solution = [
            assumed.base_s,
            assumed.prefill_s / _UNIT,
            assumed.prefill_s / _UNIT,
            assumed.busy_s,
        ]
        self._rates = assumed
        self.ready: Rates | None = assumed
        """What `rates` gives, unless something was learned since it was asked last."""
        self._solved = True
        self._decode_s = 0.0
        self.usual = Usual()
        self.crowd = 1.0
        """Mean requests in flight at a seat, when one is sent there."""
        self.drift = 0.0
        """Mean logarithm of TTFT / expected, of all seats: what least squares leave."""

    @property
    def requests(self) -> float:
        """How many observations are behind the rates, less those forgotten."""
        return self._count

    @property
    def decode_s(self) -> float:
        """Of one stream, per output token; 0 while unknown."""
        return self._decode_s

    def seat(self) -> "SeatRates":
        """A learner for one more seat."""
        return SeatRates(self)

    def coefficients(self) -> list[float]:
        """Seconds for nothing, 1,000 tokens, 1,000 tokens ahead, one other. Do not mutate."""
        if not self._solved:
            self._solve()
        return self._solution

    def rates(self) -> Rates:
        """Of a seat of factor 1. The same object until something is learned."""
        if not self._solved:
            self._solve()
        return self._rates

    def observe(self, ttft_s: float, expected_s: float, features: tuple[float, ...]) -> None:
        """A seat of factor 1 would have taken so long. About 4 µs."""
        seen = ttft_s
        if self._count >= _SURE and expected_s > 0.0:
            seen = min(max(ttft_s, expected_s / _CLIP), expected_s * _CLIP)
        # By the larger of the two: an underestimate would otherwise outweigh all that follows.
        weight = 1.0 / max(expected_s, seen, 1e-9) ** 2
        self._count += 1.0
        self._mean_s += (seen - self._mean_s) / min(self._count, _SIZE_REQUESTS)
        one, tokens, ahead, others = features
        ones, many = weight * one, weight * tokens
        waits, crowd = weight * ahead, weight * others
        size = min(int(tokens / _UNIT).bit_length(), _SIZES)
        sums = self._sums.get(size)
        if sums is None:
            sums = self._sums[size] = [0.0] * _SUMS
        kept = 1.0 - 1.0 / _SIZE_REQUESTS
        added = (
            ones, many, waits, crowd, many * tokens, many * ahead, many * others,
            waits * ahead, waits * others, crowd * others,
            ones * seen, many * seen, waits * seen, crowd * seen,
        )  # fmt: skip
        self._sums[size] = [old * kept + new for old, new in zip(sums, added, strict=True)]
        if self._count < _SIZE_REQUESTS or self._count % _SOLVE_EVERY == 0:
            self._solved = False
            self.ready = None

    def observe_decode(self, per_token_s: float) -> None:
        """A stream took so long per output token."""
        pace = 0.05 if self._decode_s else 1.0
        self._decode_s += (per_token_s - self._decode_s) * pace

    def _solve(self) -> None:
        """Coordinate descent from the last solution: it moves little between two requests."""
        self._solved = True
        sums = [sum(column) for column in zip(*self._sums.values(), strict=True)]
        m = [[sums[at] for at in row] for row in _ROWS]
        b, x = sums[10:], list(self._solution)
        mean, weight = self._mean_s, m[0][0]
        prefill = x[1] if m[1][1] > 0.0 else self._assumed.prefill_s / _UNIT
        # Towards what is likely, in directions of which the traffic says nothing.
        likely = (0.5 * mean, prefill, x[1], _BUSY_SHARE * mean)
        least = (0.0, weight * 1e-6, weight * 1e-6, weight)
        lean = _RIDGE / (1.0 + self._count / _SIZE_REQUESTS)
        # What does not change from sweep to sweep, in the order of the descent.
        steps = []
        for at in (1, 2, 3, 0):
            row = m[at]
            ridge = lean * max(row[at], least[at])
            steps.append((at, *row, row[at], b[at] + ridge * likely[at], row[at] + ridge))
        for _ in range(_SWEEPS):
            for at, to_base, to_tokens, to_queue, to_busy, own, target, scale in steps:
                rest = to_base * x[0] + to_tokens * x[1] + to_queue * x[2] + to_busy * x[3]
                rest -= own * x[at]
                found = (target - rest) / scale if scale else 0.0
                x[at] = max(0.0, found)
        self._solution = x
        self.ready = self._rates = _rates(x, 1.0)


class SeatRates:
    """What is known of one seat. `rates` costs under 1 µs where nothing was learned since."""

    __slots__ = (
        "_decode_s",
        "_fleet",
        "_now_s",
        "_rates",
        "_solution",
        "_squares",
        "_sum",
        "_weight",
        "factor",
    )

    def __init__(self, fleet: FleetRates) -> None:
        self._fleet = fleet
        self._weight = self._sum = self._squares = 0.0
        """Of logarithms of TTFT / expected."""
        self.factor = 1.0
        """How much slower than the fleet it is, as far as that is beyond doubt."""
        self._decode_s = 0.0
        self._now_s: float | None = None
        self._solution: list[float] | None = None
        self._rates = ASSUMED

    @property
    def decode_s(self) -> float:
        """Of one stream, per output token; the fleet's where the seat's is unknown."""
        return self._decode_s or self._fleet.decode_s

    @property
    def streams(self) -> int:
        """How many of the fleet are behind the rates; with none they are assumed."""
        return round(self._fleet.requests)

    def rates(self, *, now_s: float) -> Rates:
        """As known now."""
        if self.factor == 1.0:
            return self._fleet.ready or self._fleet.rates()
        if self._now_s is not None and now_s - self._now_s > _STALE_S:
            self._fade(now_s)
            self._judge()
        solution = self._fleet.coefficients()
        if solution is not self._solution:
            self._solution = solution
            self._rates = _rates(solution, self.factor)
        return self._rates

    def observe(
        self, ttft_s: float, *, tokens: float, ahead: float, others: float, now_s: float
    ) -> None:
        """A stream's first token came.

        `tokens`: computed for it; `ahead`: that were still to be computed when it was sent;
        `others`: in flight then. Figures that make no sense are passed over. About 10 µs.
        """
        if not (0.0 < ttft_s <= _MOST_S and isfinite(tokens + ahead + others)):
            return
        thousands = min(max(0.0, tokens) * _UNIT, _MOST)
        queued = min(max(0.0, ahead) * _UNIT, _MOST)
        features = 1.0, thousands, queued, min(max(0.0, others), _MOST)
        fleet = self._fleet
        base, tokens_s, queue_s, busy_s = fleet.coefficients()
        expected = base + tokens_s * thousands + queue_s * queued + busy_s * features[3]
        if fleet.requests >= _SURE and expected > 0.0:
            self._fade(now_s)
            ratio = log(ttft_s / expected)
            ratio = min(max(ratio, -_MOST_FACTOR), _MOST_FACTOR)
            known = log(self.factor) if self.factor != 1.0 else 0.0
            fleet.drift += (ratio - known - fleet.drift) / min(fleet.requests, _SEAT_REQUESTS)
            ratio -= fleet.drift
            kept = 1.0 - 1.0 / _SEAT_REQUESTS
            self._weight = self._weight * kept + 1.0
            self._sum = self._sum * kept + ratio
            self._squares = self._squares * kept + ratio * ratio
            self._judge()
        fleet.observe(ttft_s / self.factor, expected, features)

    def observe_decode(self, seconds: float, *, output_tokens: int) -> None:
        """So long from the first token of a stream to its last."""
        if not (0.0 < seconds <= _MOST_S and output_tokens > 1):
            return
        per_token_s = seconds / (output_tokens - 1)
        pace = 0.05 if self._decode_s else 1.0
        self._decode_s += (per_token_s - self._decode_s) * pace
        self._fleet.observe_decode(per_token_s)

    def _fade(self, now_s: float) -> None:
        if self._now_s is None:
            self._now_s = now_s
        elif now_s > self._now_s:
            kept = exp(-_LOG_2 * (now_s - self._now_s) / _SEAT_S)
            self._weight *= kept
            self._sum *= kept
            self._squares *= kept
            self._now_s = now_s

    def _judge(self) -> None:
        weight = self._weight + _PRIOR
        mean = self._sum / weight
        if self._weight > 0.0:
            own = self._sum / self._weight
            spread = max(0.0, self._squares / self._weight - own * own)
        else:
            spread = 0.0
        spread = (self._weight * spread + _PRIOR * _NOISE * _NOISE) / weight
        doubt = max(_DOUBT * sqrt(spread / weight), _LEAST_ERROR)
        beyond = max(0.0, abs(mean) - doubt)
        factor = 1.0
        if beyond:  # for most seats there is nothing beyond doubt
            factor = exp(beyond if mean > 0.0 else -beyond)
        if factor != self.factor:
            self.factor = factor
            self._solution = None


def _rates(solution: list[float], factor: float) -> Rates:
    base, prefill, queue, busy = solution
    return Rates(
        base_s=base * factor,
        prefill_s=prefill * _UNIT * factor,
        busy_s=busy * factor,
        queue_s=queue * _UNIT * factor,
    )
