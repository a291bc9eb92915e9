import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from stemcache.clock import ManualClock, MonotonicClock
from stemcache.replay.body import BodyMaker
from stemcache.replay.credentials import Credentials
from stemcache.replay.loops import ClosedLoop, OpenLoop, Pacer
from stemcache.replay.outcome import Outcome
from stemcache.replay.prompts import TokenPrompts, TokenRange
from stemcache.replay.schedule import arrivals, sessions
from stemcache.replay.selection import Planned
from stemcache.replay.sender import Sender
from stemcache.replay.target import parse_target
from tests.replay.made import planned
from tests.replay.scripted import Scripted, scripted, stream
from tests.replay.test_connection import pool_at

BODIES = BodyMaker(
    api="openai-completions", model="m", prompts=TokenPrompts("", TokenRange(1000, 30000))
)


def open_loop(trace: list[Planned], **others: Any) -> OpenLoop:
    """At the trace's times."""
    return OpenLoop(arrivals=arrivals(trace, speed=1, rate=None, random=Random(0)), **others)


def ran(
    loop: OpenLoop | ClosedLoop,
    answer: Any = None,
    *,
    meanwhile: Callable[[Pacer, Sender, Scripted], Any] | None = None,
) -> tuple[list[Outcome], Scripted]:
    """Outcomes in the order in which requests were due, and the server."""

    async def main() -> tuple[list[Outcome], Scripted]:
        clock = MonotonicClock()
        async with scripted(stream() if answer is None else answer) as server:
            pool = pool_at(server.port)
            target = parse_target(server.url, None)
            origin_s = clock.now()
            sender = Sender(
                pool, target, Credentials((), ()), clock=clock, timeout_s=20, origin_s=origin_s
            )
            pacer = Pacer(clock)
            landed = asyncio.Event()
            if meanwhile is not None:
                asyncio.get_running_loop().call_later(0.3, meanwhile, pacer, sender, server)
            async with asyncio.timeout(30):
                await loop.run(sender, BODIES, pacer, origin_s)
                sender.on_landing = landed.set
                while sender.in_flight:
                    landed.clear()
                    await landed.wait()
            pool.close()
            await asyncio.sleep(0.01)
            return sorted(sender.outcomes, key=lambda each: each.due_s), server

    return asyncio.run(main())


def test_an_open_loop_sends_each_request_at_its_time() -> None:
    """Never before it; bodies are those of the requests, in order."""
    trace = [planned(n, [n], arrival_s=n * 0.02) for n in range(8)]
    outcomes, server = ran(open_loop(trace))
    assert [each.number for each in outcomes] == list(range(8))
    assert [each.due_s for each in outcomes] == pytest.approx([n * 0.02 for n in range(8)])
    assert all(each.lag_s is not None and each.lag_s >= 0 for each in outcomes)
    assert {each.error for each in outcomes} == {None}
    prompts = [json.loads(asked.body)["prompt"] for asked in server.asked]
    assert [len(prompt) for prompt in prompts] == [4] * 8
    assert len({tuple(prompt) for prompt in prompts}) == 8


def test_an_open_loop_does_not_wait_for_answers() -> None:
    """A target that answers nothing gets every request all the same, and each is charged."""
    trace = [planned(n, arrival_s=n * 0.01) for n in range(10)]

    def answer_now(pacer: Pacer, sender: Sender, server: Scripted) -> None:
        if len(server.asked) < len(trace):
            asyncio.get_running_loop().call_later(0.05, answer_now, pacer, sender, server)
            return
        seen.append((len(server.asked), sender.in_flight))
        sender.give_up()

    seen: list[tuple[int, int]] = []
    outcomes, _ = ran(open_loop(trace), b"", meanwhile=answer_now)
    assert seen[0] == (10, 10)
    assert [each.end_s - each.due_s >= 0.1 - each.due_s for each in outcomes] == [True] * 10


def test_nothing_is_sent_after_the_duration() -> None:
    """What is due at its very end is not."""
    trace = [planned(n, arrival_s=n * 0.05) for n in range(5)]
    outcomes, _ = ran(open_loop(trace, duration_s=0.1))
    assert [each.number for each in outcomes] == [0, 1]


def test_a_cap_holds_requests_back_and_they_are_charged_for_it() -> None:
    """Their due time does not move."""
    trace = [planned(n, arrival_s=0.0) for n in range(6)]
    outcomes, server = ran(open_loop(trace, max_in_flight=2))
    assert {each.due_s for each in outcomes} == {0.0}
    assert sum(each.held for each in outcomes) == 4
    assert server.connections <= 2
    assert {each.error for each in outcomes} == {None}


def test_an_open_loop_ends_when_told() -> None:
    """In the middle of waiting, also for a cap."""
    trace = [planned(0, arrival_s=0.0), planned(1, arrival_s=1000.0)]
    outcomes, _ = ran(open_loop(trace), meanwhile=lambda pacer, _sender, _server: pacer.end())
    assert [each.number for each in outcomes] == [0]

    def end(pacer: Pacer, sender: Sender, _server: Scripted) -> None:
        pacer.end()
        sender.give_up()

    trace = [planned(n, arrival_s=0.0) for n in range(3)]
    outcomes, server = ran(open_loop(trace, max_in_flight=1), b"", meanwhile=end)
    assert len(outcomes) == len(server.asked) == 1


def test_a_closed_loop_keeps_the_order_of_sessions_and_turns() -> None:
    """A turn begins when the one before it has ended; so many sessions go on at once."""
    trace = [planned(n, [n], session=f"s{n % 3}") for n in range(9)]
    outcomes, server = ran(ClosedLoop(sessions=sessions(trace), concurrency=2))
    assert server.connections == 2
    by_session: dict[str | None, list[Outcome]] = {}
    for each in outcomes:
        by_session.setdefault(each.session, []).append(each)
    for turns in by_session.values():
        assert [each.number for each in turns] == sorted(each.number for each in turns)
        for before, after in pairwise(turns):
            assert after.due_s >= before.end_s
    assert max(each.due_s for each in by_session["s2"]) >= min(
        each.end_s for each in by_session["s0"]
    )


def test_requests_without_sessions_are_a_plain_closed_loop() -> None:
    """In the order of the trace; one at a time is one after another."""
    outcomes, server = ran(
        ClosedLoop(sessions=sessions([planned(n) for n in range(5)]), concurrency=1)
    )
    assert [each.number for each in outcomes] == list(range(5))
    assert server.connections == 1
    assert all(b.due_s >= a.end_s for a, b in pairwise(outcomes))


def test_users_think() -> None:
    """As long as they are told to, from the answer on; lateness counts from then."""
    trace = [planned(n, session="s") for n in range(3)]
    outcomes, _ = ran(ClosedLoop(sessions=sessions(trace), concurrency=5, think=0.05))
    for before, after in pairwise(outcomes):
        assert after.due_s == pytest.approx(before.end_s + 0.05)
        assert after.sent_s is not None
        assert after.sent_s >= after.due_s


def test_users_think_as_recorded() -> None:
    """Scaled by the speed."""
    trace = [planned(n, session="s", arrival_s=n * 1.0) for n in range(3)]
    loop = ClosedLoop(sessions=sessions(trace), concurrency=1, think="recorded", speed=20)
    outcomes, _ = ran(loop)
    first = outcomes[0].due_s
    assert [each.due_s - first for each in outcomes] == pytest.approx([0.0, 0.05, 0.1], abs=0.02)


def test_a_failed_turn_does_not_end_its_session() -> None:
    """The next prompt does not depend on the answer."""
    trace = [planned(n, session="s") for n in range(3)]
    outcomes, _ = ran(
        ClosedLoop(sessions=sessions(trace), concurrency=1),
        lambda asked: b"garbage\r\n\r\n" if asked.connection == 1 else stream(),
    )
    assert [each.error for each in outcomes] == ["not_http", None, None]


def test_a_closed_loop_ends_at_its_duration_or_when_told() -> None:
    """No turn begins after that."""
    trace = [planned(n, session="s") for n in range(100)]
    loop = ClosedLoop(sessions=sessions(trace), concurrency=1, think=0.04, duration_s=0.1)
    outcomes, _ = ran(loop)
    assert 1 <= len(outcomes) <= 3
    assert all(each.due_s < 0.1 for each in outcomes)
    loop = ClosedLoop(sessions=sessions(trace), concurrency=1, think=1000.0)
    outcomes, _ = ran(loop, meanwhile=lambda pacer, _sender, _server: pacer.end())
    assert len(outcomes) == 1


def test_a_moment_that_has_passed_is_not_waited_for() -> None:
    """And a pacer that has ended waits for nothing."""

    async def main() -> None:
        pacer = Pacer(ManualClock(100.0))
        await pacer.until(99.0)
        pacer.end()
        await pacer.until(1000.0)
        await pacer.wake(asyncio.get_running_loop().create_future())

    asyncio.run(asyncio.wait_for(main(), 20))
