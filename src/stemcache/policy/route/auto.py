"""The default: where the answer begins soonest, with what that costs everybody else.

```
  cost =  queue ahead + prefill of what is not cached + latency     its own wait: predicted TTFT
        + prefill of what another seat holds  x 16                  a second copy: work for nothing
                                                                    and room that others lose
        + prefill of all not cached x 5 (pressure - mean)           where a cache is pressed more
                                                                    than elsewhere, it costs hits
        + work given lately x .02                                   so that idle seats take turns
```
The copy of a beginning that many ask for (`policy.route.heat`) costs less, down to nothing: they
will all use it, so a hot prefix is computed elsewhere before it queues. A seat that holds it
already would copy what is behind it, which is one conversation's own, and that costs in full. A
prompt that nobody holds goes where new tokens press least, so that all caches keep the same age. In
a burst each request sees those before it in flight; where all is equal, chance decides.

Several gateways that cannot tell each other what they sent (`by_hash`) take the part that nobody is
known to hold down an order of seats that all of them compute alike. A place costs a third of a
copy: only a long queue sends it to the second, as where they differ each keeps a copy of its own
for good.
"""

from collections.abc import Sequence
from itertools import repeat
from math import inf
from random import Random

from stemcache.policy.route.contract import Ask, Choice, Cost, Rates, Reads, Reason, View
from stemcache.policy.route.heat import Heat
from stemcache.policy.route.predict import answer, computed_tokens, tidy, ttft_s
from stemcache.policy.route.rendezvous import Rendezvous

__all__ = ["Auto"]

_COPY = 16.0
_COPIES = 1.0 + _COPY
_PRESSURE = 5.0
_FULL = 8.0
"""Pressure counts by this power of how full the cache is: while there is room nothing is lost."""
_TURN = 0.02
_PLACE = 5.0
_MOST_PLACES = 2
# Plain names: a member of an enumeration costs a call each time it is named, or hashed.
_CACHED, _HASHED = Reason.CACHED, Reason.HASHED
_USEFUL = 0.1
"""Share of a prompt that makes a match more than what everybody shares."""


class Auto:
    """Least cost, as drawn above. Remembers how often beginnings are asked for, within a bound.

    O(seats): about 1 µs a seat, 2 by hash.
    """

    name = "auto"
    reads = Reads.PROMPT

    def __init__(self, *, by_hash: bool = False) -> None:
        self._rendezvous = Rendezvous() if by_hash else None
        self._heat = Heat()

    def fork(self) -> "Auto":
        """One that counts nothing."""
        fork = Auto()
        fork._rendezvous, fork._heat = self._rendezvous, self._heat.fork()
        return fork

    def choose(self, ask: Ask, views: Sequence[View], *, now_s: float, rng: Random) -> Choice:
        """The seat of least cost; the runner-up is the next."""
        ask, views = tidy(ask, views)
        prompt = float(ask.prompt_tokens)
        hot = ask.anchor_tokens
        # Who has no more than this to compute holds what many ask for of the prompt.
        cool = prompt - hot if hot else 0.0
        computed, held, holders, least = [], 0, 0, inf
        for view in views:
            cached = view.cached_tokens
            missing = prompt - cached  # as `computed_tokens` has it, where there is no slow tier
            if missing <= 1.0 or view.slow_tokens:
                missing = computed_tokens(ask, view)
            computed.append(missing)
            if missing < least:  # noqa: PLR1730  in a hot loop
                least = missing
            if missing <= cool:
                holders += 1
            if cached > held:  # noqa: PLR1730  in a hot loop
                held = cached
        part = self._heat.asked(
            ask.anchor,
            head=ask.head,
            held_tokens=held,
            holders=holders or 1,
            seats=len(views),
            now_s=now_s,
        )
        if len(views) == 1:
            return answer(ask, views, 0, Reason.ONLY, runner_up=None)
        waits, costs = self._costs(views, computed, least, part, cool)
        if self._rendezvous is not None:
            for seat, place_s in enumerate(self._places(ask, views, least)):
                costs[seat] += place_s
        seat, other = _best_two(costs, rng)
        reason = self._reason(ask, computed[seat], least)
        if reason is not _CACHED and reason is not _HASHED and waits[seat] > min(waits):
            reason = Reason.SPREAD  # the other two say themselves why it is not who is soonest
        return Choice(seat, reason, other, waits[seat], waits[other])

    def weigh(self, ask: Ask, views: Sequence[View], *, now_s: float) -> list[Cost]:
        """The parts of what `choose` compares, as drawn above; their sum is what it compares."""
        ask, views = tidy(ask, views)
        computed = [computed_tokens(ask, view) for view in views]
        least, hot = min(computed), ask.anchor_tokens
        cool = ask.prompt_tokens - hot if hot else 0.0
        part = self._heat.asked(
            ask.anchor,
            head=ask.head,
            held_tokens=max([view.cached_tokens for view in views]),
            holders=sum([tokens <= cool for tokens in computed]) or 1,
            seats=len(views),
            now_s=now_s,
        )
        presses = [0.0] * len(views) if self._rendezvous is not None else _presses(views)
        places = self._places(ask, views, least)
        costs = []
        for view, tokens, press, place_s in zip(views, computed, presses, places, strict=True):
            prefill_s, again = view.rates.prefill_s, tokens - least
            counted = again * part if tokens > cool else again
            costs.append(
                Cost(
                    wait_s=ttft_s(ask, view),
                    copy_s=prefill_s * (counted * _COPIES - again),
                    pressure_s=prefill_s * (counted + least) * press,
                    turn_s=_TURN * view.recent_s / view.weight,
                    place_s=place_s,
                )
            )
        return costs

    def _places(self, ask: Ask, views: Sequence[View], least: float) -> list[float]:
        """What each seat costs for its place in the order by hash; nothing without one."""
        places = [0.0] * len(views)
        if self._rendezvous is not None:
            prefill = sum(view.rates.prefill_s for view in views) / len(views)
            for place, seat in enumerate(self._rendezvous.order(ask.anchor, views)):
                places[seat] = prefill * least * _PLACE * min(place, _MOST_PLACES)
        return places

    def _costs(
        self,
        views: Sequence[View],
        computed: Sequence[float],
        least: float,
        part: float,
        cool: float,
    ) -> tuple[list[float], list[float]]:
        """For each seat its time to first token, as `ttft_s`, and its cost but for places."""
        presses = _presses(views) if self._rendezvous is None else repeat(0.0)
        waits, costs = [], []
        known: Rates | None = None
        base = per_token = busy = queue = 0.0
        for view, tokens, press in zip(views, computed, presses, strict=False):
            rates = view.rates
            if rates is not known:  # those of most seats are the fleet's
                known = rates
                base, per_token, busy = rates.base_s, rates.prefill_s, rates.busy_s
                queue = per_token if rates.queue_s is None else rates.queue_s
            wait = base + queue * view.waiting_tokens + per_token * tokens + busy * view.in_flight
            waits.append(wait)
            again = tokens - least
            if again:
                counted = again * part if tokens > cool else again
                extra = counted * _COPIES - again + (counted + least) * press
            else:
                extra = least * press
            costs.append(wait + per_token * extra + _TURN * view.recent_s / view.weight)
        return waits, costs

    def _reason(self, ask: Ask, computed: float, least: float) -> Reason:
        prompt = ask.prompt_tokens or 1.0
        useful = max(1.0, _USEFUL * prompt)
        if prompt - least < useful:
            return Reason.COLD if self._rendezvous is None else _HASHED
        return _CACHED if computed - least <= useful else Reason.REPLICATED


def _best_two(costs: Sequence[float], rng: Random) -> tuple[int, int]:
    """The seat of least cost and the next; chance decides among equals. Two seats at least."""
    chance = rng.random
    best = second = -1
    low = next_low = lot = next_lot = inf
    for seat, cost in enumerate(costs):
        drawn = chance()
        if cost < low or (cost == low and drawn < lot):
            second, next_low, next_lot = best, low, lot
            best, low, lot = seat, cost, drawn
        elif cost < next_low or (cost == next_low and drawn < next_lot):
            second, next_low, next_lot = seat, cost, drawn
    return best, second


def _presses(views: Sequence[View]) -> list[float]:
    """How much more each cache is pressed than the mean of them, weighed."""
    pressures: list[float] = []
    fills: list[float] = []
    for view in views:
        room = view.capacity_tokens
        if room is None:  # then that of others says nothing either
            pressures, fills = [view.fresh_tokens / view.weight for view in views], []
            break
        pressures.append(view.fresh_tokens / room)
        fill = view.held_tokens / room
        fills.append(_PRESSURE * fill**_FULL if fill < 1.0 else _PRESSURE)
    mean = sum(pressures) / len(pressures)
    if mean <= 0.0:
        return [0.0] * len(views)
    if not fills:
        return [_PRESSURE * (pressure / mean - 1.0) for pressure in pressures]
    return [fill * (pressure / mean - 1.0) for pressure, fill in zip(pressures, fills, strict=True)]
