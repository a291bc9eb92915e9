"""Replicas found by names in DNS, and all sources together."""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest

from stemcache.errors import UsageError
from stemcache.gateway.deployment import DnsSource, KubernetesSource, Template
from stemcache.gateway.presence import Sighting, State
from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.server.gateway.discovery import Discovery, DnsFinder, Source
from tests.server.gateway.quiet import Said, Sleeps, until

SOURCE = DnsSource(host="vllm", port=8000, template=Template(engine=Engine.VLLM))

Tell = Callable[[tuple[Sighting, ...]], None]


class Answers:
    """A resolver with answers in a row; the last one stays."""

    def __init__(self, *answers: tuple[str, ...] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> tuple[str, ...]:
        self.asked.append((host, port))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def looked_up(answers: Answers, *, times: int) -> tuple[list[list[str]], Said, Sleeps]:
    """What is told while a finder asks so many times."""
    told: list[list[str]] = []
    said, sleeps = Said(), Sleeps()

    def tell(seen: tuple[Sighting, ...]) -> None:
        assert all(one.state is State.READY and not one.identity for one in seen)
        assert all(one.spec.engine is Engine.VLLM for one in seen)
        told.append([one.spec.url for one in seen])

    async def main() -> None:
        finder = DnsFinder(SOURCE, rng=Random(1), logger=said.logger, sleep=sleeps, resolve=answers)
        task = asyncio.create_task(finder.run(tell))
        for number in range(times - 1):
            await until(lambda: len(sleeps.asked_s) == number + 1)  # noqa: B023
            await sleeps.end()
        await until(lambda: len(sleeps.asked_s) == times)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    return told, said, sleeps


def test_every_address_is_a_replica() -> None:
    """Of both families."""
    answers = Answers(("10.0.0.1", "10.0.0.2", "fd00::1"))
    told, _, _ = looked_up(answers, times=1)
    assert told == [["http://10.0.0.1:8000", "http://10.0.0.2:8000", "http://[fd00::1]:8000"]]
    assert answers.asked == [("vllm", 8000)]


def test_a_change_is_told_and_nothing_else() -> None:
    """Asking again is no news."""
    one, two = ("10.0.0.1",), ("10.0.0.1", "10.0.0.2")
    told, _, _ = looked_up(Answers(one, one, two, two, one), times=5)
    assert told == [
        ["http://10.0.0.1:8000"],
        ["http://10.0.0.1:8000", "http://10.0.0.2:8000"],
        ["http://10.0.0.1:8000"],
    ]


def test_a_lookup_that_fails_keeps_what_is_known() -> None:
    """And is told once, not each time."""
    failed = OSError(-3, "Temporary failure in name resolution")
    told, said, _ = looked_up(Answers(("10.0.0.1",), failed, failed, ("10.0.0.1",)), times=4)
    assert told == [["http://10.0.0.1:8000"]]
    assert said.lines == [
        {
            "event": "DNS does not answer; keeping the replicas that are known",
            "level": "warning",
            "host": "vllm",
            "error": "Temporary failure in name resolution",
            "known": 1,
        }
    ]


def test_a_second_failure_is_told_again() -> None:
    """After it had answered in between."""
    failed = OSError(-3, "no")
    _, said, _ = looked_up(Answers(failed, ("10.0.0.1",), failed), times=3)
    assert len(said.lines) == 2


def test_no_addresses_are_no_news() -> None:
    """Nobody takes all replicas away by an empty answer."""
    told, _, _ = looked_up(Answers(("10.0.0.1",), ()), times=3)
    assert told == [["http://10.0.0.1:8000"]]


def test_a_name_that_cannot_be_asked_for_is_a_failure() -> None:
    """A label that is too long, for one."""
    answers = Answers(UnicodeError("label too long"))
    told, said, _ = looked_up(answers, times=1)
    assert told == []
    assert said.lines[0]["error"] == "UnicodeError"


def test_questions_are_spread_in_time() -> None:
    """By a tenth of the interval."""
    _, _, sleeps = looked_up(Answers(("10.0.0.1",)), times=5)
    assert all(9 <= asked_s <= 11 for asked_s in sleeps.asked_s)
    assert len(set(sleeps.asked_s)) == 5


class Hand:
    """A finder that tells what a test says."""

    def __init__(self) -> None:
        self.tell: Tell = lambda _seen: None
        self.error: Exception | None = None
        self.ended = False

    async def run(self, tell: Tell) -> None:
        self.tell = tell
        try:
            await until(lambda: self.error is not None)
            assert self.error is not None
            raise self.error
        finally:
            self.ended = True


class Bench:
    """Sources of which each is told by hand."""

    def __init__(self, absent_s: float) -> None:
        self.hands: dict[Source, Hand] = {}
        self.changes = 0
        self.replaced: list[set[str]] = []
        self.said = Said()
        self.discovery = Discovery(
            self._changed,
            on_replaced=lambda names: self.replaced.append(set(names)),
            absent_s=absent_s,
            tls=ssl.create_default_context(),
            rng=Random(1),
            logger=self.said.logger,
            make=self._make,
        )

    def _changed(self) -> None:
        self.changes += 1

    def _make(self, source: Source) -> Hand:
        if source.template.path == "/unusable":
            raise UsageError("this cannot be")
        return self.hands.setdefault(source, Hand())


def running(work: Callable[[Bench], Coroutine[Any, Any, None]], absent_s: float = 60.0) -> None:
    """In a loop, closed in the end."""

    async def main() -> None:
        bench = Bench(absent_s)
        await work(bench)
        await bench.discovery.close()

    asyncio.run(main())


def spec(name: str, state: State = State.READY, identity: str = "") -> Sighting:
    """A replica that is seen."""
    return Sighting(ReplicaSpec(name=name, url=f"http://{name}"), state, identity)


ONE, TWO = DnsSource(host="a", port=1), KubernetesSource(service="b")


def test_sources_add_up_and_names_come_once() -> None:
    """The first that has a name has it."""

    async def work(bench: Bench) -> None:
        bench.discovery.configure((ONE, TWO))
        await until(lambda: len(bench.hands) == 2)
        await asyncio.sleep(0)
        bench.hands[TWO].tell((spec("x"), spec("y", State.TERMINATING)))
        bench.hands[ONE].tell((spec("z"), spec("x")))
        assert [one.name for one in bench.discovery.replicas] == ["x", "z", "y"]
        assert bench.discovery.draining == {"y"}
        assert bench.changes == 2

    running(work)


def test_a_source_that_is_left_out_is_looked_in_no_more() -> None:
    """Its replicas go with it; the others' finders are not begun anew."""

    async def work(bench: Bench) -> None:
        bench.discovery.configure((ONE, TWO))
        await asyncio.sleep(0)
        bench.hands[ONE].tell((spec("x"),))
        bench.hands[TWO].tell((spec("y"),))
        bench.discovery.configure((TWO,))
        assert [one.name for one in bench.discovery.replicas] == ["y"]
        await until(lambda: bench.hands[ONE].ended)
        assert not bench.hands[TWO].ended

    running(work)


def test_a_source_that_cannot_be_changes_nothing() -> None:
    """What runs goes on."""

    async def work(bench: Bench) -> None:
        bench.discovery.configure((ONE,))
        await asyncio.sleep(0)
        bench.hands[ONE].tell((spec("x"),))
        bad = DnsSource(host="a", port=1, template=Template(path="/unusable"))
        with pytest.raises(UsageError, match="this cannot be"):
            bench.discovery.configure((TWO, bad))
        assert [one.name for one in bench.discovery.replicas] == ["x"]
        assert not bench.hands[ONE].ended

    running(work)


def test_a_finder_that_breaks_keeps_what_it_found() -> None:
    """And the log has it."""

    async def work(bench: Bench) -> None:
        bench.discovery.configure((ONE,))
        await asyncio.sleep(0)
        bench.hands[ONE].tell((spec("x"),))
        bench.hands[ONE].error = ValueError("odd")
        await until(lambda: "looking for replicas has ended" in bench.said.events)
        assert [one.name for one in bench.discovery.replicas] == ["x"]

    running(work)


def test_what_is_found_is_said() -> None:
    """With the source and the names."""

    async def work(bench: Bench) -> None:
        bench.discovery.configure((ONE, TWO))
        await asyncio.sleep(0)
        bench.hands[ONE].tell((spec("x"),))
        bench.hands[TWO].tell(())
        assert [(line["source"], line["replicas"]) for line in bench.said.lines] == [
            ("dns a:1", ["x"]),
            ("kubernetes b", []),
        ]
        assert all("draining" not in line for line in bench.said.lines)
        bench.hands[ONE].tell(())
        assert (bench.said.lines[-1]["replicas"], bench.said.lines[-1]["draining"]) == (
            ["x"],
            ["x"],
        )

    running(work)


def test_who_is_away_for_a_moment_stays_and_gets_nothing_new() -> None:
    """What it holds is remembered with it."""

    async def work(bench: Bench) -> None:
        bench.discovery.configure((ONE,))
        await asyncio.sleep(0)
        bench.hands[ONE].tell((spec("x", identity="1"), spec("y")))
        bench.hands[ONE].tell((spec("x", State.UNREADY, "1"), spec("y")))
        assert [one.name for one in bench.discovery.replicas] == ["x", "y"]
        assert bench.discovery.draining == {"x"}
        bench.hands[ONE].tell((spec("x", identity="1"), spec("y")))
        assert bench.discovery.draining == frozenset()
        assert (bench.changes, bench.replaced) == (3, [])

    running(work)


def test_who_is_away_for_longer_is_forgotten_though_nothing_happens() -> None:
    """A watch tells of nothing more; the change is told of once."""

    async def work(bench: Bench) -> None:
        bench.discovery.configure((ONE,))
        await asyncio.sleep(0)
        bench.hands[ONE].tell((spec("x"), spec("y")))
        bench.hands[ONE].tell((spec("y"),))
        await until(lambda: bench.changes == 3)
        assert [one.name for one in bench.discovery.replicas] == ["y"]
        assert bench.discovery.draining == frozenset()
        assert bench.discovery._lapses == {}

    running(work, absent_s=0.01)


def test_who_is_away_is_not_waited_for_where_nobody_looks_any_more() -> None:
    """Its source was left out, or all ends."""

    async def work(bench: Bench) -> None:
        bench.discovery.configure((ONE, TWO))
        await asyncio.sleep(0)
        for hand in bench.hands.values():
            hand.tell((spec("x"),))
            hand.tell(())
        timers = list(bench.discovery._lapses.values())
        assert len(timers) == 2
        bench.discovery.configure((TWO,))
        assert [timer.cancelled() for timer in timers] == [True, False]
        await bench.discovery.close()
        assert timers[1].cancelled()

    running(work)


def test_another_at_the_same_address_is_told_of_once() -> None:
    """What looks the same and is not new is no change."""

    async def work(bench: Bench) -> None:
        bench.discovery.configure((ONE,))
        await asyncio.sleep(0)
        bench.hands[ONE].tell((spec("x", identity="1"),))
        bench.hands[ONE].tell((spec("x", identity="2"),))
        bench.hands[ONE].tell((spec("x", identity="2"),))
        assert bench.replaced == [{"x"}]
        assert bench.changes == 2

    running(work)


def test_localhost_is_looked_up_for_real() -> None:
    """By the system's resolver, without the network."""

    async def work() -> tuple[str, ...]:
        found: list[tuple[Sighting, ...]] = []
        sleeps = Sleeps()
        source = DnsSource(host="127.0.0.1", port=8000)
        finder = DnsFinder(source, rng=Random(1), logger=Said().logger, sleep=sleeps)
        task = asyncio.create_task(finder.run(found.append))
        await until(lambda: bool(sleeps.asked_s))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return tuple(one.spec.name for one in found[0])

    assert asyncio.run(work()) == ("127.0.0.1:8000",)
