"""How soon a seat would answer a request, from what a view says and what its rates were learned.

```
  TTFT = base_s + queue_s x waiting_tokens + prefill_s x computed tokens + busy_s x in_flight
                  └ the queue ahead             └ not cached; a slow tier at a discount
```
"""

from collections.abc import Sequence
from dataclasses import replace

from stemcache.policy.route.contract import Ask, Choice, Rates, Reason, View

__all__ = [
    "LEAST_WEIGHT",
    "MOST",
    "SLOW_SHARE",
    "answer",
    "computed_tokens",
    "loaded",
    "positive",
    "tidy",
    "ttft_s",
]

SLOW_SHARE = 0.2
"""What a token from a slower tier costs of one that is computed; transfers are four to ten times as
fast as a prefill on the hardware that such tiers are sold for."""

MOST = 1e15
"""Figures that are larger are a mistake of somebody's."""
LEAST_WEIGHT = 1e-9


def positive(number: object) -> float:
    """The number, or 0 where it is negative, not finite, or no number at all."""
    if isinstance(number, int | float) and 0.0 <= number <= MOST:
        return float(number)
    return 0.0


def tidy(ask: Ask, views: Sequence[View]) -> tuple[Ask, Sequence[View]]:
    """The same without figures that make no sense: those count as nothing.

    What gives policies the right to calculate. About 1 µs a view that is not known to be tidy;
    copies only what is not.
    """
    tokens = ask.prompt_tokens
    if type(tokens) is not int or not 0 <= tokens <= MOST:
        ask = replace(ask, prompt_tokens=int(positive(ask.prompt_tokens)))
    for view in views:
        if not (view.tidy or _is_tidy(view)):
            break
    else:
        return ask, views
    return ask, [view if _is_tidy(view) else _tidied(view) for view in views]


def computed_tokens(ask: Ask, view: View) -> float:
    """Prompt tokens that a tidy seat would have to compute; at least one, for the logits."""
    missing = ask.prompt_tokens - view.cached_tokens
    if missing <= 1:
        return 1.0
    if view.slow_tokens:
        return max(1.0, missing - (1.0 - SLOW_SHARE) * min(view.slow_tokens, missing))
    return float(missing)


def ttft_s(ask: Ask, view: View) -> float:
    """Predicted time to first token of a tidy request at a tidy seat, in seconds."""
    rates = view.rates
    queue = rates.prefill_s if rates.queue_s is None else rates.queue_s
    return (
        rates.base_s
        + queue * view.waiting_tokens
        + rates.prefill_s * computed_tokens(ask, view)
        + rates.busy_s * view.in_flight
    )


def loaded(view: View) -> tuple[float, float, float]:
    """What sorts tidy seats by load: in flight for its size, then what waits, then work lately."""
    weight = view.weight
    return (view.in_flight / weight, view.waiting_tokens / weight, view.recent_s / weight)


def answer(
    ask: Ask, views: Sequence[View], seat: int, reason: Reason, *, runner_up: int | None
) -> Choice:
    """The choice, with what it predicts. With one view the reason is that there is no other."""
    only = len(views) == 1
    return Choice(
        seat,
        Reason.ONLY if only else reason,
        None if only else runner_up,
        ttft_s(ask, views[seat]),
        None if only or runner_up is None else ttft_s(ask, views[runner_up]),
    )


def _is_tidy(view: View) -> bool:
    rates = view.rates
    try:
        return (
            0 <= view.cached_tokens <= MOST
            and 0 <= view.slow_tokens <= MOST
            and 0 <= view.in_flight <= MOST
            and 0 <= view.waiting_tokens <= MOST
            and 0.0 <= view.recent_s <= MOST
            and 0.0 <= view.fresh_tokens <= MOST
            and LEAST_WEIGHT < view.weight <= MOST
            and 0 <= view.held_tokens <= MOST
            and (view.capacity_tokens is None or 0 < view.capacity_tokens <= MOST)
            and 0.0 <= rates.base_s <= MOST
            and 0.0 <= rates.prefill_s <= MOST
            and 0.0 <= rates.busy_s <= MOST
            and (rates.queue_s is None or 0.0 <= rates.queue_s <= MOST)
        )
    except TypeError:
        return False


def _tidied(view: View) -> View:
    rates = view.rates
    weight = positive(view.weight)
    return View(
        name=view.name,
        cached_tokens=int(positive(view.cached_tokens)),
        slow_tokens=int(positive(view.slow_tokens)),
        in_flight=int(positive(view.in_flight)),
        waiting_tokens=int(positive(view.waiting_tokens)),
        recent_s=positive(view.recent_s),
        fresh_tokens=positive(view.fresh_tokens),
        utilization=min(1.0, positive(view.utilization)),
        rates=Rates(
            base_s=positive(rates.base_s),
            prefill_s=positive(rates.prefill_s),
            busy_s=positive(rates.busy_s),
            queue_s=None if rates.queue_s is None else positive(rates.queue_s),
        ),
        weight=weight if weight > LEAST_WEIGHT else 1.0,
        held_tokens=int(positive(view.held_tokens)),
        capacity_tokens=int(positive(view.capacity_tokens)) or None,
    )
