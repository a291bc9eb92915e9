"""The seat that the hash of the prompt's beginning points at, unless it has too much to do."""

from collections.abc import Sequence
from random import Random

from stemcache.policy.route.bounded import first_with_room
from stemcache.policy.route.contract import Ask, Choice, Reads, Reason, View
from stemcache.policy.route.predict import answer, tidy
from stemcache.policy.route.rendezvous import Rendezvous

__all__ = ["PrefixHash", "by_key"]


class PrefixHash:
    """Rendezvous hashing of `Ask.head`, with bounded loads. Keeps no state; O(n log n).

    Any number of gateways agree. Knows nothing of what is cached, and a beginning that everybody
    shares sends everybody down the same order of seats.
    """

    name = "prefix-hash"
    reads = Reads.PROMPT

    def __init__(self) -> None:
        self._rendezvous = Rendezvous()

    def fork(self) -> "PrefixHash":
        """Itself."""
        return self

    def choose(self, ask: Ask, views: Sequence[View], *, now_s: float, rng: Random) -> Choice:
        """The first with room in the key's order; the runner-up is the next after it."""
        del now_s, rng
        return by_key(ask, ask.head, views, self._rendezvous, Reason.HASHED)


def by_key(
    ask: Ask, key: int, views: Sequence[View], rendezvous: Rendezvous, reason: Reason
) -> Choice:
    """The first seat of the key's order that has room. The reason is for the key's own seat."""
    ask, views = tidy(ask, views)
    order = rendezvous.order(key, views)
    seat = first_with_room(order, views)
    runner_up = next((other for other in order if other != seat), None)
    if seat != order[0]:
        reason = Reason.LEAST_LOADED
    return answer(ask, views, seat, reason, runner_up=runner_up)
