"""How soon a seat would answer a request, from what a view says and what its rates were learned.

```
  TTFT = base_s + queue_s x waiting_tokens + prefill_s x computed tokens + busy_s x in_flight
                  └ the queue ahead             └ not cached; a slow tier at a discount
```
"""

from collections.abc import Sequence

from stemcache.policy.route.contract import Ask, Choice, Reason, View

__all__ = ["SLOW_SHARE", "answer", "computed_tokens", "loaded", "positive", "ttft_s"]

SLOW_SHARE = 0.2
"""What a token from a slower tier costs of one that is computed; transfers are four to ten times as
fast as a prefill on the hardware that such tiers are sold for."""

_MOST = 1e15


def positive(number: float) -> float:
    """The number, or 0 where it is negative, not finite, or nothing at all."""
    try:
        return number if 0.0 <= number <= _MOST else 0.0
    except TypeError:
        return 0.0


def computed_tokens(ask: Ask, view: View) -> float:
    """Prompt tokens that the seat would have to compute; at least one, for the logits."""
    missing = positive(ask.prompt_tokens) - positive(view.cached_tokens)
    if missing <= 1.0:
        return 1.0
    slow = min(positive(view.slow_tokens), missing)
    return max(1.0, missing - (1.0 - SLOW_SHARE) * slow)


def ttft_s(ask: Ask, view: View) -> float:
    """Predicted time to first token, in seconds. Costs about 1 µs."""
    rates = view.rates
    prefill = positive(rates.prefill_s)
    queue = prefill if rates.queue_s is None else positive(rates.queue_s)
    return (
        positive(rates.base_s)
        + queue * positive(view.waiting_tokens)
        + prefill * computed_tokens(ask, view)
        + positive(rates.busy_s) * positive(view.in_flight)
    )


def loaded(view: View) -> tuple[float, float, float]:
    """What sorts seats by load: requests in flight for its size, then what waits, then work."""
    weight = view.weight if positive(view.weight) > 0.0 else 1.0
    return (
        positive(view.in_flight) / weight,
        positive(view.waiting_tokens) / weight,
        positive(view.recent_s) / weight,
    )


def answer(
    ask: Ask, views: Sequence[View], seat: int, reason: Reason, *, runner_up: int | None
) -> Choice:
    """The choice, with what it predicts. With one view the reason is that there is no other."""
    only = len(views) == 1
    return Choice(
        seat=seat,
        reason=Reason.ONLY if only else reason,
        runner_up=None if only else runner_up,
        ttft_s=ttft_s(ask, views[seat]),
        runner_up_ttft_s=None if only or runner_up is None else ttft_s(ask, views[runner_up]),
    )
