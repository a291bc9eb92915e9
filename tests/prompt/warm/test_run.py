"""First requests of one prefix on the wire: one ahead, the others behind it."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from stemcache.errors import UsageError
from stemcache.prompt.warm.run import Begun, Call, Sent, warm
from tests.prompt.stage import Stage


class Server:
    """Answers after 1 s to the end, of which the first byte comes after 0.4 s. Notes starts."""

    def __init__(self, stage: Stage, failing: frozenset[int] = frozenset()) -> None:
        self.stage = stage
        self.failing = failing
        self.started: list[tuple[int, float]] = []
        self.parallel = 0
        self.most = 0

    def call(self, number: int, *, tells: bool = True) -> Callable[[Begun], Awaitable[int]]:
        async def send(begun: Begun) -> int:
            self.started.append((number, round(self.stage.now(), 3)))
            self.parallel += 1
            self.most = max(self.most, self.parallel)
            try:
                await self.stage.sleep(0.4)
                if number in self.failing:
                    raise ConnectionError(f"call {number}")
                if tells:
                    begun()
                await self.stage.sleep(0.6)
            finally:
                self.parallel -= 1
            return number * 10

        return send


def sent(
    prefixes: str,
    *,
    ends: bool = False,
    failing: frozenset[int] = frozenset(),
    most: int | None = None,
    tells: bool = True,
) -> tuple[list[Sent[int]], Server]:
    """What became of calls with these prefixes, a letter each; `-` is none."""
    stage = Stage()
    server = Server(stage, failing)

    async def run() -> list[Sent[int]]:
        calls = [
            Call(None if prefix == "-" else prefix, server.call(number, tells=tells))
            for number, prefix in enumerate(prefixes)
        ]
        task = asyncio.create_task(
            warm(
                calls,
                readable_after="answer-ends" if ends else "answer-begins",
                most_parallel=most,
            )
        )
        await stage.go(1_000.0)
        return await task

    return asyncio.run(run()), server


def test_the_others_start_when_the_leaders_answer_begins() -> None:
    """And results come in the order of the calls."""
    found, server = sent("aaa")
    assert server.started == [(0, 0.0), (1, 0.4), (2, 0.4)]
    assert [one.unwrap() for one in found] == [0, 10, 20]
    assert [one.led for one in found] == [True, False, False]


def test_or_when_it_ends_where_the_rule_has_it_so() -> None:
    """Its beginning does not count then."""
    _, server = sent("aaa", ends=True)
    assert server.started == [(0, 0.0), (1, 1.0), (2, 1.0)]


def test_an_answer_whose_begin_nobody_tells_counts_at_its_end() -> None:
    """So that nobody waits for ever."""
    _, server = sent("aa", tells=False)
    assert server.started == [(0, 0.0), (1, 1.0)]


def test_prefixes_do_not_wait_for_each_other() -> None:
    """Nor does a call without one for anybody."""
    _, server = sent("abab-")
    assert server.started == [(0, 0.0), (1, 0.0), (4, 0.0), (2, 0.4), (3, 0.4)]


def test_the_next_leads_where_the_leader_fails() -> None:
    """Its error is its own result."""
    found, server = sent("aaa", failing=frozenset({0}))
    assert server.started == [(0, 0.0), (1, 0.4), (2, 0.8)]
    assert isinstance(found[0].error, ConnectionError)
    with pytest.raises(ConnectionError, match="call 0"):
        found[0].unwrap()
    assert [one.unwrap() for one in found[1:]] == [10, 20]
    assert [one.led for one in found] == [True, True, False]


def test_when_all_fail_each_was_tried_once() -> None:
    """One after the other."""
    found, server = sent("aaa", failing=frozenset({0, 1, 2}))
    assert [number for number, _ in server.started] == [0, 1, 2]
    assert all(one.error is not None for one in found)


def test_a_follower_that_fails_stops_nobody() -> None:
    """Its error is its own result."""
    found, _ = sent("aaa", failing=frozenset({1}))
    assert [one.error is None for one in found] == [True, False, True]


def test_no_more_are_under_way_than_allowed() -> None:
    """Whoever may start waits for room, the leaders first."""
    found, server = sent("abcabc", most=2)
    assert server.most == 2
    assert sorted(one.unwrap() for one in found) == [0, 10, 20, 30, 40, 50]


def test_any_mixture_sends_each_call_once_and_never_two_cold_ones() -> None:
    """Random prefixes, failures and room: of one prefix none starts beside its leader."""
    random = Random(1)
    for _ in range(60):
        prefixes = "".join(random.choice("aabc-") for _ in range(random.randrange(1, 9)))
        failing = frozenset(n for n in range(len(prefixes)) if random.random() < 0.3)
        found, server = sent(prefixes, failing=failing, most=random.choice([None, 1, 2]))
        assert sorted(number for number, _ in server.started) == list(range(len(prefixes)))
        assert [one.error is not None for one in found] == [
            number in failing for number in range(len(prefixes))
        ]
        for key in set(prefixes) - {"-"}:
            starts = [at_s for number, at_s in server.started if prefixes[number] == key]
            led = [
                at_s
                for number, at_s in server.started
                if prefixes[number] == key and found[number].led
            ]
            assert starts[: len(led)] == led
            assert all(
                later - before >= 0.4 - 1e-6
                for before, later in zip(led, starts[1 : len(led) + 1], strict=False)
            )


def test_cancelling_cancels_all() -> None:
    """Those that wait as well."""

    async def run() -> None:
        stage = Stage()
        server = Server(stage)
        before = asyncio.all_tasks()
        task = asyncio.create_task(
            warm(
                [Call("a", server.call(number)) for number in range(3)],
                readable_after="answer-begins",
            )
        )
        await stage.go(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == before
        assert [number for number, _ in server.started] == [0]

    asyncio.run(run())


def test_no_calls_are_no_results() -> None:
    """At once."""
    found, _ = sent("")
    assert found == []


def test_no_room_at_all_is_refused() -> None:
    """Nothing would ever be sent."""
    with pytest.raises(UsageError, match="most_parallel is 0; give a whole number from 1 on"):
        sent("a", most=0)


def test_a_leader_that_is_cancelled_alone_leaves_nobody_waiting() -> None:
    """As a client's own time limit may do it."""

    async def cancelled(_: Begun) -> int:
        raise asyncio.CancelledError

    async def run() -> None:
        stage = Stage()
        server = Server(stage)
        calls = [Call("a", cancelled), Call("a", server.call(1))]
        task = asyncio.create_task(warm(calls, readable_after="answer-begins"))
        await stage.go(5.0)
        assert server.started == [(1, 0.0)]
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
