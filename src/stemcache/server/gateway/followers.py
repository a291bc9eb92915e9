"""A subscription to KV events for each seat that has them, and what it says told to the router.

```
Subscription ──batch──► Holdings.apply          (the router's mirror reads them)
     │  complete or no longer ──► router.follow
     │  gap ──► router.gap       reset ──► router.reset_seat
router: the mirror disagrees, or the replica restarted ──► resync: begin anew, by replay if it can
```
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from structlog.typing import FilteringBoundLogger

from stemcache.errors import UsageError
from stemcache.gateway.holdings import Holdings
from stemcache.gateway.kv_events import Batch
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.router import Router
from stemcache.server.gateway.events import Subscription

__all__ = ["Followers", "Subscribe"]

_BYTES_A_BLOCK = 380
"""Measured: 250 while a seat's holdings grow, 315 after long churn at their bound; 64 aside."""
_FEWEST_BLOCKS = 4096
"""Of one seat, however many there are: 1.5 MB."""


class _Subscribed(Protocol):
    @property
    def complete(self) -> bool: ...
    def run(self) -> Coroutine[Any, Any, None]: ...


class Subscribe(Protocol):
    """**Protocol**: makes a subscription; `Subscription` itself."""

    def __call__(
        self,
        spec: ReplicaSpec,
        rank: int = 0,
        *,
        on_batch: Callable[[Batch], None],
        on_gap: Callable[[int], None],
        on_reset: Callable[[str], None],
    ) -> _Subscribed:
        """See `Subscription`."""
        ...


class _Follower:
    """One seat's."""

    def __init__(
        self,
        router: Router,
        seat: int,
        holdings: Holdings,
        *,
        spec: ReplicaSpec,
        rank: int,
        subscribe: Subscribe,
    ) -> None:
        self._router = router
        self._seat = seat
        self.holdings = holdings
        self._told: bool | None = None
        self.resetting = False
        """While the router is told of a reset that the events themselves said."""
        self._subscription = subscribe(
            spec, rank, on_batch=self._on_batch, on_gap=self._on_gap, on_reset=self._on_reset
        )

    async def run(self) -> None:
        """Follow until cancelled."""
        self._tell()
        await self._subscription.run()

    def _on_batch(self, batch: Batch) -> None:
        self.holdings.apply(batch)
        self._tell()

    def _on_gap(self, missed: int) -> None:
        del missed
        self._router.gap(self._seat)
        self._tell()

    def _on_reset(self, why: str) -> None:
        self.resetting = True
        try:
            self._router.reset_seat(self._seat, why)
        finally:
            self.resetting = False
        self._tell()

    def _tell(self) -> None:
        complete = self._subscription.complete
        if complete is not self._told:
            self._told = complete
            self._router.follow(self._seat, self.holdings, complete=complete)


class Followers:
    """All seats'. Bounded: their holdings together get as much memory as the guess.

    Equal shares follow the number of seats: when one joins, the others give up what is over
    theirs, and what a seat held that left is freed, in steps of half a millisecond, some seconds
    for a million blocks. Until then there is more, by what is given up. No share is below 1.5 MB.
    """

    def __init__(
        self,
        router: Router,
        *,
        most_bytes: int,
        logger: FilteringBoundLogger,
        subscribe: Subscribe = Subscription,
    ) -> None:
        self._router = router
        self._most_bytes = most_bytes
        self._logger = logger
        self._subscribe = subscribe
        self._wanted: dict[int, tuple[str, ReplicaSpec, int]] = {}
        """By number of the seat: its name, its replica, its rank."""
        self._followers: dict[int, _Follower] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._untidy: deque[Holdings] = deque()
        self._tending = False

    def configure(self) -> None:
        """Follow the router's seats as they are now. One that cannot be followed is told of."""
        wanted = {
            seat.number: (seat.name, member.spec, seat.rank or 0)
            for member in self._router.members
            if member.spec.events is not None and not member.leaving
            for seat in member.seats
        }
        for seat in [seat for seat in self._tasks if seat not in wanted]:
            self._end(seat)
        self._wanted = wanted
        share = self._share_blocks()
        for follower in self._followers.values():
            follower.holdings.limit(share)
            self._tend_soon(follower.holdings)
        for seat in wanted:
            if seat not in self._tasks:
                self._begin(seat)

    def resync(self, name: str) -> None:
        """Forget what this seat's events said and begin anew, soon; nothing where it has none.

        Not while its own events are being told: they know better where they stand.
        """
        for seat, (known, _, _) in self._wanted.items():
            follower = self._followers.get(seat)
            if follower is not None and known == name and not follower.resetting:
                # Not at once: the router may be in the middle of saying why.
                asyncio.get_running_loop().call_soon(self._again, seat, follower)

    def _again(self, seat: int, follower: _Follower) -> None:
        if self._followers.get(seat) is follower:
            self._end(seat)
            self._begin(seat)

    async def close(self) -> None:
        """Stop following."""
        tasks = list(self._tasks.values())
        for seat in list(self._tasks):
            self._end(seat)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, seat: int) -> None:
        name, spec, rank = self._wanted[seat]
        holdings = Holdings(most_blocks=self._share_blocks())
        try:
            follower = _Follower(
                self._router, seat, holdings, spec=spec, rank=rank, subscribe=self._subscribe
            )
        except UsageError as error:
            self._refuse(name, error)
            return
        self._followers[seat] = follower
        self._tasks[seat] = asyncio.get_running_loop().create_task(self._run(name, seat, follower))

    def _end(self, seat: int) -> None:
        self._tasks.pop(seat).cancel()
        holdings = self._followers.pop(seat).holdings
        self._router.follow(seat, None, complete=False)
        holdings.clear()
        self._tend_soon(holdings)

    def _share_blocks(self) -> int:
        share = self._most_bytes // max(1, len(self._wanted)) // _BYTES_A_BLOCK
        return max(_FEWEST_BLOCKS, share)

    def _tend_soon(self, holdings: Holdings) -> None:
        self._untidy.append(holdings)
        if not self._tending:
            self._tending = True
            asyncio.get_running_loop().call_soon(self._tend)

    def _tend(self) -> None:
        """One step, then everybody else, then the next one."""
        holdings = self._untidy.popleft()
        if holdings.tend():
            self._untidy.append(holdings)
        self._tending = bool(self._untidy)
        if self._tending:
            asyncio.get_running_loop().call_soon(self._tend)

    async def _run(self, name: str, seat: int, follower: _Follower) -> None:
        try:
            await follower.run()
        except UsageError as error:
            self._refuse(name, error)
        except Exception:
            self._logger.exception("following KV events has ended", replica=name)
        if self._followers.get(seat) is follower:
            self._router.follow(seat, None, complete=False)

    def _refuse(self, name: str, error: UsageError) -> None:
        self._logger.error("KV events cannot be followed", replica=name, error=str(error))
