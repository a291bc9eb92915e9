"""Time turned by hand for asyncio: a clock and a sleep that move only when a test says so."""

import asyncio
import heapq
from itertools import count

__all__ = ["Stage"]


class Stage:
    """Give `now` and `sleep` to what is tested; `go` moves on, waking sleepers in their order."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = count()

    def now(self) -> float:
        return self._now_s

    async def sleep(self, seconds: float) -> None:
        assert seconds >= 0, "nobody sleeps backwards"
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now_s + seconds, next(self._numbers), woken))
        await woken

    async def go(self, until_s: float) -> None:
        """Up to a moment, which all see that woke until then."""
        await _settled()
        while self._sleepers and self._sleepers[0][0] <= until_s:
            at_s, _, woken = heapq.heappop(self._sleepers)
            self._now_s = max(self._now_s, at_s)
            if not woken.done():
                woken.set_result(None)
            await _settled()
        self._now_s = until_s


async def _settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
