"""All requests of a session go to one seat."""

from collections.abc import Sequence
from random import Random

from stemcache.policy.route.contract import Ask, Choice, Reads, Reason, View
from stemcache.policy.route.prefix_hash import by_key
from stemcache.policy.route.rendezvous import Rendezvous, key_of

__all__ = ["Session"]


class Session:
    """Rendezvous hashing of the session, with bounded loads; of the prompt's head without one.

    A session is a unit: only while its seat is overloaded do its requests go to the second of its
    order, always the same, and back. Keeps no state; any number of gateways agree. O(n log n).
    """

    name = "session"
    reads = Reads.SESSION

    def __init__(self) -> None:
        self._rendezvous = Rendezvous()

    def fork(self) -> "Session":
        """Itself."""
        return self

    def choose(self, ask: Ask, views: Sequence[View], *, now_s: float, rng: Random) -> Choice:
        """The session's seat; the runner-up is where it would overflow to."""
        del now_s, rng
        if ask.session is None:
            return by_key(ask, ask.head, views, self._rendezvous, Reason.HASHED)
        return by_key(ask, key_of(ask.session), views, self._rendezvous, Reason.SESSION)
