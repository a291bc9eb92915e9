"""One call as it went over the wire, credentials and all: what a recorder is given.

It lives in memory only, from the end of the call until its line is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from stemcache.record.capture import Capture

__all__ = ["Exchange", "Headers"]

Headers = Sequence[tuple[str, str]]
"""Name in lower case, and value; as often as it was sent."""


@dataclass(slots=True, kw_only=True)
class Exchange:
    """Filled in while the call runs. `repr` shows neither bodies nor headers."""

    time_s: float
    """When it began, Unix seconds."""
    method: str
    url: str = field(repr=False)
    """Whole, of the provider and not of a proxy."""
    headers: Headers = field(repr=False)
    request: Capture = field(repr=False)
    answered_s: float | None = None
    """When the first byte of the answer's body came."""
    ended_s: float | None = None
    status: int | None = None
    failed: str | None = None
    """Why there is no answer, or not all of it, in one word; `record` lists them."""
    response_headers: Headers = field(default=(), repr=False)
    response: Capture | None = field(default=None, repr=False)
    context: object = field(default=None, repr=False)
    """What the recorder gave for the call as it began; its line has it too."""

    def release(self) -> None:
        """Give the memory of both bodies back."""
        self.request.release()
        if self.response is not None:
            self.response.release()
