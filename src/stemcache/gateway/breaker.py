"""Keeps requests from a replica that fails them, and lets one try whether it has recovered.

```
          failures in a row          breaker_open_s later, or a good health check
 CLOSED ────────────────────► OPEN ────────────────────────────► HALF_OPEN
   ▲ ▲                          ▲                                 │     │
   │ └── success                └────────────── failure ──────────┘     │ one request at a time
   └───────────────────────────────────────────── success ──────────────┘
```
What was sent before it opened may end while it is open: such an end says what was, and is not
counted. Where nobody else can take a request it is sent through an open one all the same, and then
its end says what is.

A replica that says when to come again is not broken, it is busy: nothing is sent there meanwhile
where others can take it, and its breaker stays as it is. All verbs are O(1).
"""

from enum import StrEnum
from math import inf

from stemcache.gateway.settings import HealthSettings

__all__ = ["Breaker", "BreakerState"]


class BreakerState(StrEnum):
    """A word for `/v1/fleet` and the metrics."""

    CLOSED = "closed"
    """Requests are sent."""
    OPEN = "open"
    """None are."""
    HALF_OPEN = "half-open"
    """One is, to see."""


_BELIEVED_AGAIN_S = 1.0
"""Between opening and the second good check that is believed; twice as long for each after it."""
_MOST_DOUBLINGS = 16


class Breaker:
    """One replica's. With `breaker_failures` of 0 it never opens.

    `sent` takes the one try of a half-open breaker; a try that is neither told to have succeeded
    nor failed, as when its client leaves, is given up by `abandoned`, or after `breaker_open_s`.
    """

    __slots__ = (
        "_believed",
        "_busy_until_s",
        "_failures",
        "_opened_s",
        "_settings",
        "_tried_s",
        "opened",
    )

    def __init__(self, settings: HealthSettings) -> None:
        self._settings = settings
        self._failures = 0
        self._opened_s: float | None = None
        self._tried_s: float | None = None
        self._believed = 0
        """Good checks, since a request was answered."""
        self._busy_until_s = -inf
        self.opened = 0
        """How often it has opened."""

    def rests(self, now_s: float) -> bool:
        """Whether it keeps nothing away, nor will unless something happens."""
        return self._opened_s is None and self._busy_until_s <= now_s

    def open_left_s(self, now_s: float) -> float:
        """Seconds until a request may try without a good check before; 0 where one may now."""
        if self._opened_s is None:
            return 0.0
        return max(0.0, self._opened_s + self._settings.breaker_open_s - now_s)

    def busy_left_s(self, now_s: float) -> float:
        """Seconds for which the replica has asked not to be sent more; 0 where it has not."""
        return max(0.0, self._busy_until_s - now_s)

    def state(self, now_s: float) -> BreakerState:
        """As of now. Pure."""
        if self._opened_s is None:
            return BreakerState.CLOSED
        if now_s - self._opened_s < self._settings.breaker_open_s:
            return BreakerState.OPEN
        return BreakerState.HALF_OPEN

    def allows(self, now_s: float) -> bool:
        """Whether a request may be sent now. Pure: it may be asked of seats that are not chosen."""
        if self._busy_until_s > now_s:
            return False
        if self._opened_s is None:
            return True
        open_s = self._settings.breaker_open_s
        if now_s - self._opened_s < open_s:
            return False
        return self._tried_s is None or now_s - self._tried_s >= open_s

    def sent(self, now_s: float) -> bool:
        """A request goes there. Whether it tries an open breaker: its end has to say so."""
        if self._opened_s is None:
            return False
        if self.state(now_s) is BreakerState.HALF_OPEN:
            self._tried_s = now_s
        return True

    def succeeded(self, now_s: float, *, trial: bool = False) -> None:
        """A request was answered. One sent before it opened says nothing of now."""
        del now_s
        if self._opened_s is None:
            self._failures = 0
        elif trial:
            self.reset()

    def failed(self, now_s: float, *, trial: bool = False) -> None:
        """A request failed, and the replica is to blame."""
        state = self.state(now_s)
        if state is BreakerState.OPEN or (state is BreakerState.HALF_OPEN and not trial):
            return
        self._failures += 1
        limit = self._settings.breaker_failures
        if state is BreakerState.HALF_OPEN or 0 < limit <= self._failures:
            self._opened_s, self._tried_s = now_s, None
            self._failures = 0
            self.opened += 1

    def busy(self, now_s: float, *, for_s: float) -> None:
        """The replica has said that it cannot take more before so long. Capped at the open time."""
        for_s = min(max(0.0, for_s), self._settings.breaker_open_s)
        self._busy_until_s = max(self._busy_until_s, now_s + for_s)

    def looked_well(self, now_s: float) -> None:
        """A health check says that the replica is there: one may try at once, as after a restart.

        Where the one that tries fails all the same, checks are believed later each time, until a
        request is answered: a page may answer while nothing else does.
        """
        if self._opened_s is None or self.state(now_s) is not BreakerState.OPEN:
            return
        doublings = min(self._believed - 1, _MOST_DOUBLINGS)
        waits_s = _BELIEVED_AGAIN_S * 2.0**doublings if self._believed else 0.0
        if now_s - self._opened_s >= waits_s:
            self._opened_s, self._tried_s = now_s - self._settings.breaker_open_s, None
            self._believed += 1

    def abandoned(self) -> None:
        """The one that tried ended without saying anything of the replica: another may try."""
        self._tried_s = None

    def reset(self) -> None:
        """Closed, with no failure counted: the replica is known to be well, or another process."""
        self._failures = 0
        self._opened_s = self._tried_s = None
        self._believed = 0
        self._busy_until_s = -inf

    def configure(self, settings: HealthSettings) -> None:
        """Take other bounds; what was counted stays."""
        self._settings = settings
        if settings.breaker_failures == 0:
            self.reset()
