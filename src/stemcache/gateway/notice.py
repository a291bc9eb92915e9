"""What the router has to say to who runs the fleet: a line of the log, a count in the metrics."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Listener", "Notice", "NoticeKind"]


class NoticeKind(StrEnum):
    """Words for the log and the metrics."""

    UP = "up"
    DOWN = "down"
    JOINED = "joined"
    LEFT = "left"
    DRAINING = "draining"
    SERVING = "serving"
    BREAKER_OPEN = "breaker-open"
    RESTARTED = "restarted"
    """Another process answers, or its cache was reset: the mirror is cleared."""
    DISAGREES = "mirror-disagrees"
    """Reports differ from predictions too often: the mirror is repaired."""
    AGREES = "mirror-agrees"


@dataclass(frozen=True, slots=True)
class Notice:
    """One of them. Holds nothing of any prompt."""

    kind: NoticeKind
    seat: str
    """Name of the seat or the replica."""
    detail: str = ""


Listener = Callable[[Notice], None]
"""Called synchronously; must not call the router."""
