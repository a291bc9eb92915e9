"""Where one request may go, first and after a failure.

```
intake ─► names a response? ─ another's: 404
             │ made here by b: b alone     ▼ else: whom the router chooses
             └──────────────► failed ─► once more elsewhere, unless it is pinned, or may have
                                        done what must not be done twice
```
"""

from stemcache.gateway.decision import Decision
from stemcache.server.gateway.gateway import Gateway
from stemcache.server.gateway.intake import Intake
from stemcache.server.gateway.refusals import GONE_ON, NO_REPLICA, NOT_THEIRS, Refusal

__all__ = ["Seating"]


class Seating:
    """One request's. Counts its attempts."""

    __slots__ = ("_decision", "_exclude", "_gateway", "_intake", "_made", "attempts")

    def __init__(self, gateway: Gateway, intake: Intake) -> None:
        self._gateway = gateway
        self._intake = intake
        self._exclude: frozenset[int] = frozenset()
        self._decision: Decision | None = None
        self._made: str | None = None
        self.attempts = 0

    def first(self, now_s: float) -> Decision | Refusal:
        """Where it goes, or why nowhere."""
        gateway, intake = self._gateway, self._intake
        pinned = False
        if intake.response is not None:
            replica = gateway.responses.replica_of(intake.response, intake.tenant)
            if replica is None and intake.guarded:
                return NOT_THEIRS
            seats = frozenset[int]() if replica is None else gateway.seats_of(replica)
            pinned = bool(seats)
            if pinned:
                self._exclude = gateway.all_seats() - seats
        decision = gateway.router.choose(intake.prompt, now_s=now_s, exclude=self._exclude)
        if decision is not None:
            self._decision = decision
            return decision
        gateway.counters.no_seat += 1
        return GONE_ON if pinned else NO_REPLICA

    def leave_out(self, replica: str) -> None:
        """A process that is not there: none of its ranks is asked."""
        self._exclude |= self._gateway.seats_of(replica)

    def next(self, now_s: float, *, sent: bool) -> Decision | None:
        """Another that has not failed this request, if it may be tried again.

        `sent`: whether the one that failed was sent the request.
        """
        gateway, failed = self._gateway, self._decision
        assert failed is not None, "a seat has failed"
        if self.attempts >= gateway.settings.retries.attempts:
            return None
        if sent and not self._intake.repeatable:
            return None
        self._exclude |= {failed.seat}
        decision = gateway.router.choose(self._intake.prompt, now_s=now_s, exclude=self._exclude)
        if decision is not None:
            self._decision = decision
            gateway.counters.retries += 1
        return decision

    def answered(self, response: str | None) -> None:
        """The answer has this id: no other replica knows of it. None: it has none, or not yet."""
        decision, intake = self._decision, self._intake
        if response is not None and response != self._made and decision is not None:
            self._made = response
            self._gateway.responses.add(response, decision.replica.name, intake.tenant)
