"""Keeps requests from a replica that fails them, and lets one try whether it has recovered.

```
          failures in a row                 breaker_open_s later
 CLOSED ────────────────────► OPEN ────────────────────────────► HALF_OPEN
   ▲ ▲                          ▲                                 │     │
   │ └── success                └────────────── failure ──────────┘     │ one request at a time
   └───────────────────────────────────────────── success ──────────────┘
```
What was sent before it opened may end while it is open: such an end says what was, and is not
counted. All verbs are O(1).
"""

from enum import StrEnum

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


class Breaker:
    """One replica's. With `breaker_failures` of 0 it never opens.

    `sent` takes the one try of a half-open breaker; a try that is neither told to have succeeded
    nor failed, as when its client leaves, is given up by `abandoned`, or after `breaker_open_s`.
    """

    __slots__ = ("_believed", "_failures", "_opened_s", "_settings", "_tried_s", "opened")

    def __init__(self, settings: HealthSettings) -> None:
        self._settings = settings
        self._failures = 0
        self._opened_s: float | None = None
        self._tried_s: float | None = None
        self._believed = False
        self.opened = 0
        """How often it has opened."""

    @property
    def closed(self) -> bool:
        """Whether it keeps nothing away, whatever the time."""
        return self._opened_s is None

    def state(self, now_s: float) -> BreakerState:
        """As of now. Pure."""
        if self._opened_s is None:
            return BreakerState.CLOSED
        if now_s - self._opened_s < self._settings.breaker_open_s:
            return BreakerState.OPEN
        return BreakerState.HALF_OPEN

    def allows(self, now_s: float) -> bool:
        """Whether a request may be sent now. Pure: it may be asked of seats that are not chosen."""
        if self._opened_s is None:
            return True
        open_s = self._settings.breaker_open_s
        if now_s - self._opened_s < open_s:
            return False
        return self._tried_s is None or now_s - self._tried_s >= open_s

    def sent(self, now_s: float) -> bool:
        """A request goes there. Whether it is the one that tries: its end has to say so."""
        if self._opened_s is None or self.state(now_s) is not BreakerState.HALF_OPEN:
            return False
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

    def looked_well(self, now_s: float) -> None:
        """A health check says that the replica is there: one may try at once, as after a restart.

        Believed once: where requests fail all the same, it stays open for its time.
        """
        if not self._believed and self.state(now_s) is BreakerState.OPEN:
            self._opened_s, self._tried_s = now_s - self._settings.breaker_open_s, None
            self._believed = True

    def abandoned(self) -> None:
        """The one that tried ended without saying anything of the replica: another may try."""
        self._tried_s = None

    def reset(self) -> None:
        """Closed, with no failure counted: the replica is known to be well, or another process."""
        self._failures = 0
        self._opened_s = self._tried_s = None
        self._believed = False

    def configure(self, settings: HealthSettings) -> None:
        """Take other bounds; what was counted stays."""
        self._settings = settings
        if settings.breaker_failures == 0:
            self.reset()
