"""The less loaded of two seats drawn by chance."""

from collections.abc import Sequence
from random import Random

from stemcache.policy.route.contract import Ask, Choice, Reads, Reason, View
from stemcache.policy.route.predict import answer, loaded, tidy

__all__ = ["PowerOfTwo"]


class PowerOfTwo:
    """Two at random, the better goes (Mitzenmacher, 2001). O(1).

    For many gateways that know nothing of one another: they do not all run to the same seat.
    """

    name = "power-of-two"
    reads = Reads.NOTHING

    def fork(self) -> "PowerOfTwo":
        """Itself."""
        return self

    def choose(self, ask: Ask, views: Sequence[View], *, now_s: float, rng: Random) -> Choice:
        """The less loaded of the two; the other is the runner-up."""
        del now_s
        ask, views = tidy(ask, views)
        if len(views) == 1:
            return answer(ask, views, 0, Reason.ONLY, runner_up=None)
        one, other = rng.sample(range(len(views)), 2)
        if loaded(views[other]) < loaded(views[one]):
            one, other = other, one
        return answer(ask, views, one, Reason.LEAST_LOADED, runner_up=other)
