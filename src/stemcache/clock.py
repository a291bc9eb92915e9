"""Time as an argument: the one place that reads a clock, and the clock that tests turn by hand."""

import time
from typing import Protocol

__all__ = ["Clock", "ManualClock", "MonotonicClock"]


class Clock(Protocol):
    """**Protocol**: tells the time in seconds since an arbitrary, fixed moment."""

    def now(self) -> float:
        """Seconds; never goes back."""
        ...


class MonotonicClock:
    """The machine's monotonic clock."""

    now = staticmethod(time.monotonic)
    """Seconds since an arbitrary moment; unaffected by changes of the wall clock."""


class ManualClock:
    """A clock that stands still until `advance`. For tests and simulations."""

    def __init__(self, start_s: float = 0.0) -> None:
        self._now_s = start_s

    def now(self) -> float:
        """Seconds, as last set."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Move forward. Going back is a mistake in the caller."""
        assert seconds >= 0, f"a clock does not go back ({seconds} s)"
        self._now_s += seconds
