"""The seat with the fewest requests in flight for its size."""

from collections.abc import Sequence
from random import Random

from stemcache.policy.route.contract import Ask, Choice, Reads, Reason, View
from stemcache.policy.route.predict import answer, loaded, tidy

__all__ = ["LeastLoad"]


class LeastLoad:
    """Fewest in flight, then least that waits, then least work lately, then by chance. O(seats).

    Work lately is what keeps idle seats even when requests come one at a time.
    """

    name = "least-load"
    reads = Reads.NOTHING

    def fork(self) -> "LeastLoad":
        """Itself."""
        return self

    def choose(self, ask: Ask, views: Sequence[View], *, now_s: float, rng: Random) -> Choice:
        """The least loaded; the runner-up is next."""
        del now_s
        ask, views = tidy(ask, views)
        order = sorted(range(len(views)), key=lambda seat: (*loaded(views[seat]), rng.random()))
        return answer(
            ask,
            views,
            order[0],
            Reason.LEAST_LOADED,
            runner_up=order[1] if len(order) > 1 else None,
        )
