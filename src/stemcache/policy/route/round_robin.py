"""Each seat in turn."""

from collections.abc import Sequence
from random import Random

from stemcache.policy.route.contract import Ask, Choice, Reads, Reason, View
from stemcache.policy.route.predict import answer, tidy

__all__ = ["RoundRobin"]

_MOST_SEATS = 4096  # that are remembered; a fleet has fewer


class RoundRobin:
    """A seat of weight 2 comes up twice as often, and not twice in a row where that can be helped.

    Smooth weighted round robin: each seat gains its weight, whoever has most goes and pays the sum.
    Turns are kept by name, so that seats which come and go do not disturb the others. O(seats).
    """

    name = "round-robin"
    reads = Reads.NOTHING

    def __init__(self) -> None:
        self._credit: dict[str, float] = {}

    def fork(self) -> "RoundRobin":
        """One with turns of its own."""
        fork = RoundRobin()
        fork._credit = dict(self._credit)
        return fork

    def choose(self, ask: Ask, views: Sequence[View], *, now_s: float, rng: Random) -> Choice:
        """The seat whose turn it is; the runner-up has the next."""
        del now_s, rng
        ask, views = tidy(ask, views)
        if len(self._credit) > _MOST_SEATS:
            self._credit.clear()
        credit = self._credit
        total = 0.0
        best, second = -1, -1
        most, next_most = -1e300, -1e300
        for seat, view in enumerate(views):
            weight = view.weight
            total += weight
            held = credit.get(view.name, 0.0) + weight
            credit[view.name] = held
            if held > most:
                second, next_most = best, most
                best, most = seat, held
            elif held > next_most:
                second, next_most = seat, held
        credit[views[best].name] -= total
        return answer(ask, views, best, Reason.TURN, runner_up=second if second >= 0 else None)
