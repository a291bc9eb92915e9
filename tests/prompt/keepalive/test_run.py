"""The runner of pings: in time, not while traffic is there, and never on for ever."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.keepalive.budget import Ledger
from stemcache.prompt.keepalive.gaps import GapEstimate, Gaps
from stemcache.prompt.keepalive.life import Life
from stemcache.prompt.keepalive.plan import Stakes
from stemcache.prompt.keepalive.run import Event, KeepAlive
from stemcache.provider.usage import Usage
from tests.prompt.stage import Stage

STAKES = Stakes(ping=0.1, cold=1.15, unit="usd")
LIFE = Life(300.0, 300.0)
FREE = Ledger(share=math.inf)
LONG = Gaps.of([1_000.0])
"""Three pings: at 285, 570 and 855."""


class Sender:
    """Notes when it was called, and does what it is told."""

    def __init__(self, stage: Stage, *, read_tokens: int | None = 9_000) -> None:
        self.stage = stage
        self.sent: list[tuple[float, str]] = []
        self.read_tokens = read_tokens
        self.fails = 0
        self.takes_s = 0.0

    async def __call__(self, prefix: str) -> Usage | None:
        self.sent.append((self.stage.now(), prefix))
        if self.takes_s:
            await self.stage.sleep(self.takes_s)
        if self.fails:
            self.fails -= 1
            raise ConnectionError("secret words of a prompt")
        if self.read_tokens is None:
            return None
        return Usage(prompt_tokens=9_000, read_tokens=self.read_tokens)


Play = Callable[[KeepAlive[str], Stage, Sender], Coroutine[Any, Any, None]]


def played(
    scene: Play,
    *,
    gaps: GapEstimate = LONG,
    ledger: Ledger = FREE,
    read_tokens: int | None = 9_000,
    fails: int = 0,
    takes_s: float = 0.0,
    dry_run: bool = False,
) -> tuple[list[tuple[float, str]], list[Event], Ledger]:
    """What was sent and told while the scene was played."""
    stage = Stage()
    sender = Sender(stage, read_tokens=read_tokens)
    sender.fails, sender.takes_s = fails, takes_s
    events: list[Event] = []

    async def run() -> Ledger:
        async with KeepAlive(
            send=sender,
            gaps=gaps,
            ledger=ledger,
            clock=stage,
            sleep=stage.sleep,
            dry_run=dry_run,
            on_event=events.append,
        ) as alive:
            await scene(alive, stage, sender)
            return alive.ledger

    return sender.sent, events, asyncio.run(run())


async def quiet(alive: KeepAlive[str], stage: Stage, _: Sender) -> None:
    """One request, then nothing for an hour."""
    alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
    await stage.go(3_600.0)


def test_pings_are_sent_when_they_are_planned() -> None:
    """And no more of them."""
    sent, events, ledger = played(quiet)
    assert sent == [(285.0, "prefix"), (570.0, "prefix"), (855.0, "prefix")]
    assert [event.step for event in events] == ["planned", "pinged", "pinged", "pinged", "stopped"]
    assert [event.at_s for event in events] == [0.0, 285.0, 570.0, 855.0, 855.0]
    assert ledger.risked == pytest.approx(0.3)


def test_a_request_voids_the_plan_and_makes_another() -> None:
    """Traffic that keeps the cache warm is not pinged between."""

    async def scene(alive: KeepAlive[str], stage: Stage, _: Sender) -> None:
        for turn in range(10):
            await stage.go(turn * 200.0)
            alive.used("chat", f"prefix {turn}", stakes=STAKES, life=LIFE)
        await stage.go(1_800.0 + 285.0)

    sent, _, _ = played(scene)
    assert sent == [(2_085.0, "prefix 9")]


def test_somebody_elses_request_puts_the_ping_off() -> None:
    """The clock of the cache counts from it; that of the conversation does not."""

    async def scene(alive: KeepAlive[str], stage: Stage, _: Sender) -> None:
        alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
        await stage.go(250.0)
        alive.touched("chat")
        alive.touched("nobody")
        await stage.go(800.0)

    sent, _, _ = played(scene)
    assert [at_s for at_s, _ in sent] == [535.0]


def test_what_pings_saved_goes_into_the_ledger() -> None:
    """Where the next request comes behind the lifetime, and in time for the last ping."""

    async def scene(alive: KeepAlive[str], stage: Stage, _: Sender) -> None:
        alive.paid(2.0)
        alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
        await stage.go(400.0)
        alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
        await stage.go(500.0)
        alive.used("chat", "prefix", stakes=STAKES, life=LIFE)

    _, _, ledger = played(scene)
    assert ledger.gained == pytest.approx(1.15)
    assert ledger.spent == pytest.approx(2.0 + 1.15)
    assert ledger.risked == pytest.approx(0.1)


def test_nothing_was_saved_where_others_kept_it_warm_or_nobody_did_long_enough() -> None:
    """Neither counts as a gain."""

    async def others(alive: KeepAlive[str], stage: Stage, _: Sender) -> None:
        alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
        await stage.go(290.0)
        alive.touched("chat")
        await stage.go(500.0)
        alive.used("chat", "prefix", stakes=STAKES, life=LIFE)

    async def late(alive: KeepAlive[str], stage: Stage, _: Sender) -> None:
        alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
        await stage.go(5_000.0)
        alive.used("chat", "prefix", stakes=STAKES, life=LIFE)

    for scene in (others, late):
        sent, _, ledger = played(scene)
        assert sent
        assert ledger.gained == 0


def test_a_spent_budget_stops_pings() -> None:
    """One ping is left for in it."""
    sent, events, ledger = played(quiet, ledger=Ledger(share=0.1, spent=1.5), gaps=Gaps.of([500.0]))
    assert len(sent) == 1
    assert ledger.left < STAKES.ping
    assert events[-1].step == "stopped"
    none, events, _ = played(quiet, ledger=Ledger(share=0.01, spent=1.5))
    assert none == []
    assert events[0].why == "no ping: the budget is spent"


def test_a_budget_too_small_for_the_whole_plan_buys_none_of_it() -> None:
    """One ping of the three that are needed would be thrown away."""
    sent, events, _ = played(quiet, ledger=Ledger(share=0.1, spent=1.5))
    assert sent == []
    assert events[0].why == "no ping: the next request is too unlikely to come in time"


def test_a_ping_that_reads_nothing_is_the_last() -> None:
    """Another prefix, or one that is gone: going on would write it again and again."""
    sent, events, ledger = played(quiet, read_tokens=0)
    assert len(sent) == 1
    assert events[-1].why == "the ping read nothing from the cache"
    assert ledger.risked == pytest.approx(STAKES.ping + STAKES.cold)


def test_pings_that_come_too_late_use_up_the_budget() -> None:
    """Each one writes the prefix, turn by turn: not for long."""

    async def turns(alive: KeepAlive[str], stage: Stage, _: Sender) -> None:
        for number in range(1, 21):
            alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
            alive.paid(1.0)
            await stage.go(number * 400.0)

    budget = Ledger(share=0.1)
    sent, _, ledger = played(turns, gaps=Gaps.of([400.0]), read_tokens=0, ledger=budget)
    assert 0 < len(sent) < 4
    assert ledger.risked > STAKES.cold


def test_a_ping_without_usage_is_taken_to_have_worked() -> None:
    """Who cannot tell returns None."""
    sent, _, _ = played(quiet, read_tokens=None)
    assert len(sent) == 3


def test_an_error_is_tried_again_while_there_is_time() -> None:
    """After a pause, and then as planned from the ping that worked."""
    sent, events, ledger = played(quiet, fails=2)
    assert [at_s for at_s, _ in sent] == [285.0, 287.0, 291.0, 576.0, 861.0]
    failed = [event for event in events if event.step == "failed"]
    assert [event.why for event in failed] == [
        "ping 1 in a row failed: ConnectionError",
        "ping 2 in a row failed: ConnectionError",
    ]
    assert ledger.risked == pytest.approx(0.3)


def test_three_errors_in_a_row_are_the_end() -> None:
    """And no event holds what the error said."""
    sent, events, _ = played(quiet, fails=9)
    assert len(sent) == 3
    assert events[-1].step == "stopped"
    assert not any("secret" in event.why for event in events)


def test_a_ping_that_would_come_too_late_is_not_sent() -> None:
    """After an error that took long the prefix may be gone, and a ping would write it."""
    sent, events, _ = played(quiet, fails=1, takes_s=20.0)
    assert len(sent) == 1
    assert events[-1].why.startswith("no ping: the prefix may be gone already")


def test_the_lifetime_counts_from_the_pings_start() -> None:
    """However long its answer takes."""
    sent, _, _ = played(quiet, takes_s=30.0)
    assert [at_s for at_s, _ in sent] == [285.0, 570.0, 855.0]


def test_a_request_cancels_a_ping_under_way_which_is_counted() -> None:
    """It may be billed all the same."""

    async def scene(alive: KeepAlive[str], stage: Stage, _: Sender) -> None:
        alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
        await stage.go(290.0)
        alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
        await stage.go(300.0)

    sent, events, ledger = played(scene, takes_s=30.0)
    assert len(sent) == 1
    assert not [event for event in events if event.step in {"pinged", "failed"}]
    assert ledger.risked == pytest.approx(0.1)


def test_the_end_of_a_conversation_ends_its_pings() -> None:
    """And an unknown name does nothing."""

    async def scene(alive: KeepAlive[str], stage: Stage, _: Sender) -> None:
        alive.used("one", "1", stakes=STAKES, life=LIFE)
        alive.used("two", "2", stakes=STAKES, life=LIFE)
        await stage.go(100.0)
        alive.ended("one")
        alive.ended("three")
        await stage.go(300.0)

    sent, _, _ = played(scene)
    assert sent == [(285.0, "2")]


def test_the_end_of_the_context_cancels_what_is_under_way() -> None:
    """No task is left behind, also none of an earlier plan."""

    async def run() -> None:
        stage = Stage()
        sender = Sender(stage)
        sender.takes_s = 1e6
        before = asyncio.all_tasks()
        async with KeepAlive(
            send=sender, gaps=LONG, ledger=FREE, clock=stage, sleep=stage.sleep
        ) as alive:
            alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
            await stage.go(290.0)
            alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
        assert asyncio.all_tasks() == before

    asyncio.run(run())


def test_a_dry_run_tells_all_and_sends_nothing() -> None:
    """At the moments at which it would have."""
    sent, events, ledger = played(quiet, dry_run=True)
    assert sent == []
    would = [event.at_s for event in events if event.step == "would-ping"]
    assert would == [285.0, 570.0, 855.0]
    assert ledger.risked == pytest.approx(0.3)


def test_the_schedule_is_there_to_be_read() -> None:
    """By conversation, as things stand."""

    async def scene(alive: KeepAlive[str], stage: Stage, _: Sender) -> None:
        alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
        alive.used("unkept", "prefix", stakes=STAKES, life=None)
        await stage.go(100.0)
        found = alive.schedule()
        assert found["chat"].pings_s == (285.0, 570.0, 855.0)
        assert found["unkept"].why == "no ping: the provider states no lifetime that reads renew"

    played(scene)


def test_outside_of_its_context_it_refuses_to_start() -> None:
    """Nobody would end the tasks."""

    async def run() -> None:
        stage = Stage()
        alive: KeepAlive[str] = KeepAlive(
            send=Sender(stage), gaps=LONG, ledger=FREE, clock=stage, sleep=stage.sleep
        )
        with pytest.raises(UsageError, match="write `async with KeepAlive"):
            alive.used("chat", "prefix", stakes=STAKES, life=LIFE)

    asyncio.run(run())


def test_what_cannot_be_planned_is_the_callers_error() -> None:
    """It is raised where the conversation is named, not lost in a task."""

    async def scene(alive: KeepAlive[str], _: Stage, __: Sender) -> None:
        with pytest.raises(UsageError, match="a margin of 15 s in a lifetime of 10 s"):
            alive.used("chat", "prefix", stakes=STAKES, life=Life(10.0, 10.0))
        assert alive.schedule() == {}

    played(scene)


def test_an_error_of_the_listener_is_raised_at_the_end() -> None:
    """The pings of that conversation end with it; another error is not hidden by it."""

    def listen(_: Event) -> None:
        raise ValueError("of the listener")

    async def run(*, fails: bool) -> None:
        stage = Stage()
        async with KeepAlive(
            send=Sender(stage),
            gaps=LONG,
            ledger=FREE,
            clock=stage,
            sleep=stage.sleep,
            on_event=listen,
        ) as alive:
            alive.used("chat", "prefix", stakes=STAKES, life=LIFE)
            await stage.go(300.0)
            if fails:
                raise KeyError("of the caller")

    with pytest.raises(ValueError, match="of the listener"):
        asyncio.run(run(fails=False))
    with pytest.raises(KeyError, match="of the caller"):
        asyncio.run(run(fails=True))


def test_what_is_appended_to_the_history_changes_no_ping() -> None:
    """Callers go on with the list that they sent; texts are not copied."""
    text = "a long text " * 1_000
    history: list[dict[str, Any]] = [{"role": "user", "content": [{"text": text}]}]
    body = {"messages": history, "max_tokens": 9}
    sent: list[dict[str, Any]] = []
    stage = Stage()

    async def send(prefix: dict[str, Any]) -> None:
        sent.append(prefix)

    async def run() -> None:
        async with KeepAlive(
            send=send, gaps=LONG, ledger=FREE, clock=stage, sleep=stage.sleep
        ) as alive:
            alive.used("a", body, stakes=STAKES, life=LIFE)
            history[0]["content"].append({"text": "more"})
            history.append({"role": "assistant", "content": "At nine."})
            body["max_tokens"] = 4_000
            await stage.go(300.0)

    asyncio.run(run())
    (ping,) = sent
    assert ping == {"messages": [{"role": "user", "content": [{"text": text}]}], "max_tokens": 9}
    assert ping["messages"][0]["content"][0]["text"] is text


@pytest.mark.parametrize("amount", [None, "much", -1.0, math.nan])
def test_what_is_no_amount_is_not_paid(amount: Any) -> None:
    """The ledger stays as it was."""

    async def scene(alive: KeepAlive[str], _: Stage, __: Sender) -> None:
        with pytest.raises(UsageError, match=r"amount is .*; give a finite number from 0 on"):
            alive.paid(amount)

    assert played(scene)[2] == FREE
