"""The seat that holds most of the prompt, unless it has too much to do."""

from collections.abc import Sequence
from random import Random

from stemcache.policy.route.bounded import first_with_room
from stemcache.policy.route.contract import Ask, Choice, Reads, Reason, View
from stemcache.policy.route.predict import answer, loaded, tidy

__all__ = ["USEFUL_SHARE", "CacheAware"]

USEFUL_SHARE = 0.1
"""Of a prompt; a shorter match is what everybody shares, and load decides."""


class CacheAware:
    """Longest match with a bound on load; where nobody holds a tenth, the least loaded. O(n log n).

    Classic and without a model of time. The bound (1.25 x the mean in flight, and two) works from
    two requests in flight on; seats over it are passed by for that request alone, in order of what
    they hold, so that an imbalance does not end all affinity.
    """

    name = "cache-aware"
    reads = Reads.PROMPT

    def fork(self) -> "CacheAware":
        """Itself."""
        return self

    def choose(self, ask: Ask, views: Sequence[View], *, now_s: float, rng: Random) -> Choice:
        """The longest match with room; the runner-up is the next best match, or load."""
        del now_s
        ask, views = tidy(ask, views)
        useful = USEFUL_SHARE * ask.prompt_tokens
        held = [view.cached_tokens + 0.5 * view.slow_tokens for view in views]
        keys = [
            (-tokens if tokens >= useful and tokens > 0 else 0.0, *loaded(view), rng.random())
            for tokens, view in zip(held, views, strict=True)
        ]
        order = sorted(range(len(views)), key=keys.__getitem__)
        seat = first_with_room(order, views)
        best = order[0]
        if keys[best][0] == 0.0:
            reason, seat = Reason.COLD, best
        elif seat == best or keys[seat][0] == keys[best][0]:
            reason = Reason.CACHED
        else:
            reason = Reason.REPLICATED
        runner_up = next((other for other in order if other != seat), None)
        return answer(ask, views, seat, reason, runner_up=runner_up)
