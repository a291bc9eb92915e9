"""What the data path counts, for the metrics page."""

from collections import Counter

__all__ = ["Counters"]


class Counters:
    """Plain numbers, raised where things happen; never lowered."""

    __slots__ = (
        "broken_off",
        "client_left",
        "connections",
        "no_seat",
        "refused",
        "requests",
        "retries",
        "stale",
        "statuses",
    )

    def __init__(self) -> None:
        self.connections = 0
        """Clients' connections taken."""
        self.requests = 0
        """Requests that were to be relayed."""
        self.refused: Counter[str] = Counter()
        """By code: requests that the gateway refused before it chose a replica."""
        self.no_seat = 0
        """Requests that no replica could take."""
        self.retries = 0
        """Attempts after the first, at another seat."""
        self.stale = 0
        """Kept connections that had been closed unseen."""
        self.broken_off = 0
        """Answers whose replica was lost in the middle."""
        self.client_left = 0
        """Requests whose client did not wait for the answer."""
        self.statuses: Counter[int] = Counter()
        """Of answers to requests that were to be relayed."""

    def answered(self, status: int) -> None:
        """An answer is complete."""
        self.statuses[status] += 1
