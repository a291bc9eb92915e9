"""First requests sent so that one of each prefix goes ahead: the asyncio side of `warm`.

```
async def send(begun):                      await warm([Call("handbook", send), …],
    async with client.stream(…) as answer:             readable_after=rule.readable_after)
        begun()         the answer begins
        return await answer.text()
```
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from stemcache.errors import UsageError, unknown_choice
from stemcache.prompt.given import check_number, listed
from stemcache.prompt.warm.plan import Queue

__all__ = ["Begun", "Call", "Sent", "warm"]

T = TypeVar("T")
Begun = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request to be sent."""

    prefix: str | None
    """Calls with an equal one share a prefix that is not in the cache. None waits for nobody."""
    send: Callable[[Begun], Awaitable[T]]
    """Sends it. Calls its argument when the answer begins; if it never does, the end counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent(Generic[T]):
    """What became of one call: a value, or the error that it raised."""

    value: T | None = None
    error: Exception | None = None
    led: bool = False
    """Whether it went ahead of the others of its prefix."""

    def unwrap(self) -> T:
        """The value; raises the call's own error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # None only where T allows it


async def warm(
    calls: Sequence[Call[T]],
    *,
    readable_after: Literal["answer-begins", "answer-ends"],
    most_parallel: int | None = None,
) -> list[Sent[T]]:
    """Send all calls; the results in the order given.

    Errors of a call are its result and stop no other. Cancelling this cancels all of them; a call
    that is cancelled alone raises CancelledError here when the others are done.
    `most_parallel` bounds how many are under way.
    """
    calls = listed(calls, Call, "calls", "give a list of Call(prefix, send)")
    if readable_after not in {"answer-begins", "answer-ends"}:
        raise UsageError(
            unknown_choice(
                "time", str(readable_after), "readable_after", ("answer-begins", "answer-ends")
            )
        )
    if most_parallel is not None:
        check_number(most_parallel, "most_parallel", low=1, whole=True)
    run = _Run(calls, readable_after == "answer-begins", most_parallel or len(calls) or 1)
    return await run.all()


class _Run(Generic[T]):
    def __init__(self, calls: Sequence[Call[T]], at_begin: bool, most: int) -> None:  # noqa: FBT001
        self._calls = calls
        self._at_begin = at_begin
        self._room = asyncio.Semaphore(most)
        self._queue: Queue[str] = Queue()
        self._may_start = [asyncio.Event() for _ in calls]
        self._led = [False] * len(calls)

    async def all(self) -> list[Sent[T]]:
        for number, call in enumerate(self._calls):
            if call.prefix is None:
                self._may_start[number].set()
            elif self._queue.add(call.prefix, number):
                self._lead(number)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(number)) for number in range(len(self._calls))]
        return [task.result() for task in tasks]

    async def _one(self, number: int) -> Sent[T]:
        await self._may_start[number].wait()
        async with self._room:
            call = self._calls[number]
            try:
                value = await call.send(lambda: self._begun(number))
            except Exception as error:  # noqa: BLE001  # whatever a client raises
                self._give_up(number)
                return Sent(error=error, led=self._led[number])
            except asyncio.CancelledError:
                self._give_up(number)  # cancelled alone, it would leave the others waiting
                raise
            self._free(number)
            return Sent(value=value, led=self._led[number])

    def _begun(self, number: int) -> None:
        if self._at_begin:
            self._free(number)

    def _free(self, number: int) -> None:
        prefix = self._calls[number].prefix
        if prefix is not None:
            for other in self._queue.readable(prefix, number):
                self._may_start[other].set()

    def _give_up(self, number: int) -> None:
        prefix = self._calls[number].prefix
        if prefix is not None:
            following = self._queue.failed(prefix, number)
            if following is not None:
                self._lead(following)

    def _lead(self, number: int) -> None:
        self._led[number] = True
        self._may_start[number].set()
