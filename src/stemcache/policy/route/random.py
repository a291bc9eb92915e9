"""Any seat, in proportion to its size."""

from collections.abc import Sequence
from random import Random as Chance

from stemcache.policy.route.contract import Ask, Choice, Reads, Reason, View
from stemcache.policy.route.predict import answer, tidy

__all__ = ["Random"]


class Random:
    """By chance alone. The yardstick that no other policy may be worse than. O(seats)."""

    name = "random"
    reads = Reads.NOTHING

    def fork(self) -> "Random":
        """Itself."""
        return self

    def choose(self, ask: Ask, views: Sequence[View], *, now_s: float, rng: Chance) -> Choice:
        """One of the views; the runner-up is another, by chance too."""
        del now_s
        ask, views = tidy(ask, views)
        seats = list(range(len(views)))
        weights = [view.weight for view in views]
        seat = rng.choices(seats, weights)[0]
        others = seats[:seat] + seats[seat + 1 :]
        return answer(
            ask, views, seat, Reason.RANDOM, runner_up=rng.choice(others) if others else None
        )
