"""The default: where the answer begins soonest, with what that costs everybody else.

```
  cost =  queue ahead + prefill of what is not cached + latency        its own wait: predicted TTFT
        + prefill of what is not cached x ( utilization                others there wait meanwhile
                                          + pressure on the cache )    and lose what they would hit
        + a share of the whole prompt's prefill x work given lately    so that idle seats take turns
```
A hot prefix is computed anew elsewhere as soon as the queue is longer than that takes. A prompt
that nobody holds goes where new tokens press least, so that all caches keep the same age. In a
burst each request sees those before it in flight; where all is equal, chance decides.
"""

from collections.abc import Sequence
from random import Random

from stemcache.policy.route.contract import Ask, Choice, Reason, View
from stemcache.policy.route.predict import answer, computed_tokens, positive, ttft_s
from stemcache.policy.route.rendezvous import Rendezvous

__all__ = ["Auto"]

_OTHERS = 0.5
"""Weight of the wait of others at a seat that is always busy."""
_PRESSURE = 0.5
"""Weight of hits lost, where a cache is pressed twice as hard as the mean."""
_SHARE = 0.1
"""Of a whole prompt's prefill: cost of a seat that was given twice the mean work lately."""
_USEFUL = 0.1
"""Share of a prompt that makes a match more than what everybody shares."""


class Auto:
    """Least cost, as drawn above. Keeps no state that matters. O(seats), about 3 µs a seat."""

    name = "auto"

    def __init__(self, *, by_hash: bool = False) -> None:
        self._rendezvous = Rendezvous() if by_hash else None

    def choose(self, ask: Ask, views: Sequence[View], *, now_s: float, rng: Random) -> Choice:
        """The seat of least cost; the runner-up is the next."""
        del now_s
        if len(views) == 1:
            return answer(ask, views, 0, Reason.ONLY, runner_up=None)
        costs = self._costs(ask, views)
        order = sorted(range(len(views)), key=lambda seat: (costs[seat], rng.random()))
        seat = order[0]
        return answer(ask, views, seat, self._reason(ask, views, seat), runner_up=order[1])

    def _costs(self, ask: Ask, views: Sequence[View]) -> list[float]:
        count = len(views)
        prompt = positive(ask.prompt_tokens)
        sizes = [positive(view.weight) or 1.0 for view in views]
        recent = [positive(view.recent_s) / size for view, size in zip(views, sizes, strict=True)]
        fresh = [
            positive(view.fresh_tokens) / (positive(view.capacity_tokens or 0) or size)
            for view, size in zip(views, sizes, strict=True)
        ]
        mean_recent = sum(recent) / count or 1.0
        mean_fresh = sum(fresh) / count or 1.0
        prefill = sum(positive(view.rates.prefill_s) for view in views) / count
        costs = []
        for seat, view in enumerate(views):
            alone = positive(view.rates.prefill_s) * computed_tokens(ask, view)
            costs.append(
                ttft_s(ask, view)
                + alone * _OTHERS * min(1.0, positive(view.utilization))
                + alone * _PRESSURE * fresh[seat] / mean_fresh
                + prefill * prompt * _SHARE * recent[seat] / mean_recent
            )
        if self._rendezvous is not None:
            self._prefer(ask, views, costs, prefill)
        return costs

    def _prefer(self, ask: Ask, views: Sequence[View], costs: list[float], prefill: float) -> None:
        """Other gateways have sent this beginning down the same order: the first may hold it."""
        assert self._rendezvous is not None
        unknown = min(computed_tokens(ask, view) for view in views)
        for place, seat in enumerate(self._rendezvous.order(ask.anchor, views)):
            costs[seat] += prefill * unknown * min(place, 3)

    def _reason(self, ask: Ask, views: Sequence[View], seat: int) -> Reason:
        useful = _USEFUL * positive(ask.prompt_tokens)
        computed = [computed_tokens(ask, view) for view in views]
        prompt = max(1.0, positive(ask.prompt_tokens))
        if prompt - min(computed) < max(1.0, useful):
            return Reason.COLD if self._rendezvous is None else Reason.HASHED
        if computed[seat] - min(computed) <= useful:
            return Reason.CACHED
        return Reason.REPLICATED
