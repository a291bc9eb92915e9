"""Bodies made before they are due, a little at a time.

A prompt of 100,000 tokens takes some 10 ms to make. Made when it is due, it would be late, and so
would every token of other answers that arrives meanwhile.

```
    due:      │ made │ made │ in the making │      │      │ …
              └── take() ──►  └── step()
```
"""

from collections import deque
from collections.abc import Iterator

from stemcache.replay.body import BodyMaker
from stemcache.replay.selection import Planned

__all__ = ["Ahead", "make_in_steps"]

_STEP_BYTES = 8 * 1024
"""About 100 µs of work."""


def make_in_steps(bodies: BodyMaker, planned: Planned, body: list[bytes]) -> Iterator[None]:
    """Fill `body` with the parts of a request's body; yields often, so that others may run."""
    before, after = bodies.around(planned.output_tokens)
    body.append(before)
    size = 0
    for piece in bodies.prompts.pieces(planned):
        body.append(piece)
        size += len(piece)
        if size >= _STEP_BYTES:
            size = 0
            yield
    body.append(after)
    # One part: a system call takes a bounded number of them.
    body[:] = [b"".join(body)]


class Ahead:
    """The bodies of a sequence of requests, at most so many bytes and so many of them at once."""

    def __init__(
        self,
        bodies: BodyMaker,
        planned: Iterator[Planned],
        *,
        max_bytes: int = 32 * 2**20,
        max_bodies: int = 1024,
    ) -> None:
        self._bodies = bodies
        self._planned = planned
        self._max_bytes = max_bytes
        self._max_bodies = max_bodies
        self._made: deque[list[bytes]] = deque()
        self._bytes = 0
        self._body: list[bytes] = []
        self._making: Iterator[None] | None = None

    def step(self) -> bool:
        """Work for about 100 µs. False if there is nothing to do or no room."""
        if self._making is None:
            if self._bytes >= self._max_bytes or len(self._made) >= self._max_bodies:
                return False
            following = next(self._planned, None)
            if following is None:
                return False
            self._body = []
            self._making = make_in_steps(self._bodies, following, self._body)
        if next(self._making, self) is self:
            self._making = None
            self._made.append(self._body)
            self._bytes += sum(map(len, self._body))
        return True

    def take(self) -> list[bytes]:
        """The next body in order, finished now if it is not yet. The sequence must go on."""
        while not self._made:
            went_on = self.step()
            assert went_on, "more bodies were taken than requests were given"
        body = self._made.popleft()
        self._bytes -= sum(map(len, body))
        return body
