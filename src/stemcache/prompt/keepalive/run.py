"""Pings sent in time: one task a conversation, which calls what the user hands in.

```
used("chat-7")   task: plan ─► sleep ─► send(prefix) ─► plan again ─► … ─► stops, and says why
used("chat-7")   the task is cancelled; a new one begins
```
Nothing here opens a socket, reads a clock or sleeps by itself: `send`, `clock` and `sleep` are
arguments. Every ping is planned anew from what is then known, so a ping that came late, failed or
read nothing needs no case of its own in the plan. A ping that read nothing ends the task: the
prefix is gone or another one, and going on would write it again and again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar

from stemcache.clock import Clock
from stemcache.errors import UsageError
from stemcache.prompt.given import check_callable, check_number, check_type
from stemcache.prompt.keepalive.budget import Ledger
from stemcache.prompt.keepalive.gaps import GapEstimate
from stemcache.prompt.keepalive.life import Life
from stemcache.prompt.keepalive.plan import Plan, Stakes, plan
from stemcache.provider.usage import Usage

__all__ = ["Event", "KeepAlive", "Step"]

P = TypeVar("P")
Step = Literal["planned", "pinged", "would-ping", "failed", "stopped"]
_FIRST_WAIT_S = 2.0
_LONGEST_WAIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened to one conversation. Holds no text of a prompt."""

    name: str
    step: Step
    at_s: float
    """By the clock that was handed in."""
    plan: Plan
    """What is planned from here on, its times counted from the last request."""
    why: str
    """A sentence; of an error its kind only."""


@dataclass(slots=True)
class _Kept(Generic[P]):
    prefix: P
    stakes: Stakes
    life: Life | None
    requested_s: float
    used_s: float
    """Start of the last request or ping that read it, whoever sent it."""
    touched_s: float
    """The same without our pings."""
    pings: int = 0
    task: "asyncio.Task[None] | None" = None


class KeepAlive(Generic[P]):
    """A context; its tasks end with it. For one event loop.

    `send` sends a ping (see `keepalive.ping`) and returns its usage, or None where that is not
    known. `ledger` bounds what may be lost over all that this object keeps; one object a session
    bounds each session. With `dry_run` all happens but the sending, and pings are taken to have
    worked.
    """

    def __init__(
        self,
        *,
        send: Callable[[P], Awaitable[Usage | None]],
        gaps: GapEstimate,
        ledger: Ledger,
        clock: Clock,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        margin_s: float = 15.0,
        most_failures: int = 3,
        dry_run: bool = False,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        check_callable(send, "send", "give a coroutine function that sends a ping")
        check_callable(
            getattr(gaps, "later", None),
            "gaps.later",
            "give an estimate of gaps, as Gaps.of(...) makes one",
        )
        check_type(ledger, Ledger, "ledger", "give a Ledger, Ledger() for a share of 1 %")
        check_number(margin_s, "margin_s", low=0)
        check_number(most_failures, "most_failures", low=0, whole=True)
        self._send = send
        self._gaps = gaps
        self._clock = clock
        self._sleep = sleep
        self._margin_s = margin_s
        self._most_failures = most_failures
        self._dry_run = dry_run
        self._on_event = on_event
        self._kept: dict[str, _Kept[P]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = False
        self._failed: BaseException | None = None
        self.ledger = ledger

    async def __aenter__(self) -> Self:
        self._open = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cancels every ping, also one that is under way, and waits for it.

        Raises what `on_event` raised in a task, which ended that conversation's pings.
        """
        self._open = False
        tasks = list(self._tasks)
        self._kept.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._failed is not None and error is None:
            raise self._failed

    def used(self, name: str, prefix: P, *, stakes: Stakes, life: Life | None) -> None:
        """A request of the conversation starts now: earlier plans are void, a new one is made.

        `prefix` is what a later request will share with this one, in whatever form `send` takes.
        Its lists and dictionaries are copied, so that a history which is appended to changes no
        ping; what is in them is shared. Raises UsageError outside of the context, and where the
        margin does not fit the lifetime.
        """
        if not self._open:
            raise UsageError(
                f"keep-alive of {name!r} outside of its context; write `async with KeepAlive(…)`"
            )
        check_type(stakes, Stakes, "stakes", "give what stakes(rates, prefix_tokens) makes")
        now_s = self._clock.now()
        before = self._kept.get(name)
        if before is not None:
            self._account(before, now_s)
            if before.task is not None:
                before.task.cancel()
        kept = _Kept(
            prefix=_copied(prefix),
            stakes=stakes,
            life=life,
            requested_s=now_s,
            used_s=now_s,
            touched_s=now_s,
        )
        self._plan(kept, now_s)  # what cannot be planned is an error here, not in a task
        self._kept[name] = kept
        task = asyncio.get_running_loop().create_task(
            self._keep(name, kept), name=f"keep-alive {name}"
        )
        kept.task = task
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def touched(self, name: str) -> None:
        """Somebody else's request reads the same prefix now, which keeps it warm; no turn of it."""
        kept = self._kept.get(name)
        if kept is not None:
            kept.used_s = kept.touched_s = self._clock.now()

    def paid(self, amount: float) -> None:
        """What a request cost, once it is known: budgets are shares of it.

        Raises UsageError for what is no amount.
        """
        check_number(amount, "amount", low=0)
        self.ledger = self.ledger.spend(amount)

    def ended(self, name: str) -> None:
        """The conversation is over. Unknown names do nothing."""
        kept = self._kept.pop(name, None)
        if kept is not None and kept.task is not None:
            kept.task.cancel()

    def schedule(self) -> dict[str, Plan]:
        """What is planned for each conversation, as things stand. Sends nothing."""
        now_s = self._clock.now()
        return {name: self._plan(kept, now_s) for name, kept in self._kept.items()}

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and self._failed is None:
            self._failed = task.exception()

    def _plan(self, kept: _Kept[P], now_s: float) -> Plan:
        return plan(
            kept.stakes,
            self._gaps,
            kept.life,
            idle_s=now_s - kept.requested_s,
            used_s=now_s - kept.used_s,
            margin_s=self._margin_s,
            most_pings=self.ledger.times(kept.stakes.ping, 1_000),
        )

    async def _keep(self, name: str, kept: _Kept[P]) -> None:
        failures = 0
        told: tuple[float, ...] | None = None
        while True:
            now_s = self._clock.now()
            planned = self._plan(kept, now_s)
            if not planned.pings_s:
                self._tell(name, "stopped", planned, planned.why)
                return
            if told is None or planned.pings_s != told[-len(planned.pings_s) :]:
                told = planned.pings_s
                self._tell(name, "planned", planned, planned.why)
            due_s = kept.requested_s + planned.pings_s[0]
            if due_s > now_s:
                # Others may touch the prefix meanwhile, so what is due is asked again.
                await self._sleep(due_s - now_s)
                continue
            started_s = now_s
            if self._dry_run:
                self.ledger = self.ledger.risk(kept.stakes.ping)
                kept.used_s, kept.pings = started_s, kept.pings + 1
                self._tell(name, "would-ping", planned, "not sent: dry run")
                continue
            try:
                usage = await self._send(kept.prefix)
            except asyncio.CancelledError:
                self.ledger = self.ledger.risk(kept.stakes.ping)  # it may be billed all the same
                raise
            except Exception as error:  # noqa: BLE001  # whatever a client raises
                failures += 1
                why = f"ping {failures} in a row failed: {type(error).__name__}"
                if failures >= self._most_failures:
                    self._tell(name, "stopped", planned, why)
                    return
                self._tell(name, "failed", planned, why)
                await self._sleep(min(_FIRST_WAIT_S * 2 ** (failures - 1), _LONGEST_WAIT_S))
                continue
            failures = 0
            self.ledger = self.ledger.risk(kept.stakes.ping)
            if usage is not None and usage.read_tokens == 0:
                self.ledger = self.ledger.risk(kept.stakes.cold)  # it has written all instead
                self._tell(name, "stopped", planned, "the ping read nothing from the cache")
                return
            kept.used_s, kept.pings = max(kept.used_s, started_s), kept.pings + 1
            self._tell(name, "pinged", planned, "kept warm")

    def _account(self, kept: _Kept[P], now_s: float) -> None:
        """A request came: what pings saved is what it would have written without them."""
        if kept.life is None or not kept.pings:
            return
        gone = now_s - kept.touched_s > kept.life.gone_s
        there = now_s - kept.used_s <= kept.life.safe_s
        if gone and there:
            self.ledger = self.ledger.gain(kept.stakes.cold)

    def _tell(self, name: str, step: Step, planned: Plan, why: str) -> None:
        if self._on_event is not None:
            self._on_event(
                Event(name=name, step=step, at_s=self._clock.now(), plan=planned, why=why)
            )


def _copied(prefix: Any) -> Any:
    """As it is now: containers anew, texts and all else as they are. Linear in the containers."""
    if type(prefix) is dict:
        return {key: _copied(value) for key, value in prefix.items()}
    if type(prefix) is list:
        return [_copied(value) for value in prefix]
    return prefix
