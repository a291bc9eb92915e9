"""A fake engine in time that is moved by hand."""

import heapq
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.route.engine import Costs, Engine, Job


class Time:
    """A clock and its timers; they may fire late."""

    def __init__(self, late_s: float = 0.0) -> None:
        self.now_s = 0.0
        self._late_s = late_s
        self._due: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._count = 0

    def now(self) -> float:
        return self.now_s

    def call_at(self, when_s: float, call: Callable[..., object], *arguments: Any) -> None:
        self._count += 1
        heapq.heappush(self._due, (when_s + self._late_s, self._count, call, arguments))

    def run(self, until_s: float = 1e9) -> None:
        while self._due and self._due[0][0] <= until_s:
            when_s, _, call, arguments = heapq.heappop(self._due)
            self.now_s = max(self.now_s, when_s)
            call(*arguments)
        self.now_s = max(self.now_s, until_s) if until_s < 1e9 else self.now_s


class Asked:
    """An engine, and what it has said."""

    def __init__(self, late_s: float = 0.0, **costs: Any) -> None:
        self.time = Time(late_s)
        self.said: list[tuple[str, str, float]] = []
        self.engine = Engine(Costs(**costs), self.time.now, self.time.call_at)

    def ask(self, name: str, keys: list[int], *, tokens: int = 1, stream: bool = False) -> Job:
        def say(what: str) -> None:
            self.said.append((name, what, round(self.time.now_s, 6)))

        job = Job(
            keys=keys,
            characters=64 * len(keys),
            tokens=tokens,
            stream=stream,
            first=lambda _: say("first"),
            token=lambda _, count: say(f"+{count}"),
            done=lambda _: say("done"),
        )
        self.engine.submit(job)
        return job


def test_without_costs_an_answer_comes_at_once() -> None:
    """No timer is set; a stream gets its tokens in one piece."""
    asked = Asked()
    asked.ask("a", [1, 2])
    asked.ask("b", [1, 2], tokens=5, stream=True)
    assert asked.said == [("a", "done", 0), ("b", "first", 0), ("b", "+4", 0), ("b", "done", 0)]
    assert asked.engine.counts.cached_blocks == 2
    assert asked.engine.counts.requests == 2


def test_prefills_come_one_after_the_other() -> None:
    """The second request waits for the first, and finds what it has stored."""
    asked = Asked(block_s=0.01)
    asked.ask("a", [1, 2, 3])
    asked.ask("b", [1, 2, 4])
    asked.time.run()
    assert asked.said == [("a", "done", 0.03), ("b", "done", 0.04)]
    assert asked.engine.counts.cached_blocks == 2
    assert asked.engine.counts.busy_s == pytest.approx(0.04)


def test_late_timers_do_not_add_up() -> None:
    """Of ten prefills in a row the last ends one delay late, not ten."""
    asked = Asked(late_s=0.001, block_s=0.01)
    for number in range(10):
        asked.ask(str(number), [number])
    asked.time.run()
    assert asked.said[-1] == ("9", "done", 0.101)


def test_slots_hold_until_the_answer_ends() -> None:
    """With one slot the second prefill begins after the first one's tokens."""
    asked = Asked(slots=1, block_s=0.01, token_s=0.02)
    asked.ask("a", [1], tokens=3)
    asked.ask("b", [2], tokens=1)
    asked.time.run()
    assert asked.said == [("a", "done", 0.07), ("b", "done", 0.1)]
    assert asked.engine.counts.peak_running == 1
    assert asked.engine.counts.peak_waiting == 1
    assert asked.engine.running == 0


def test_streams_get_their_tokens_in_step() -> None:
    """Each step gives every stream a token, the first one comes with the prefill."""
    asked = Asked(block_s=0.01, token_s=0.1)
    asked.ask("a", [1], tokens=3, stream=True)
    asked.ask("b", [2], tokens=2, stream=True)
    asked.time.run()
    assert asked.said == [
        ("a", "first", 0.01),
        ("b", "first", 0.02),
        ("a", "+1", 0.11),
        ("b", "+1", 0.11),
        ("b", "done", 0.11),
        ("a", "+1", 0.21),
        ("a", "done", 0.21),
    ]


def test_late_tokens_do_not_make_the_next_ones_later() -> None:
    """The pace is the worker's, however late each timer is."""
    asked = Asked(late_s=0.002, token_s=0.01)
    asked.ask("a", [1], tokens=101, stream=True)
    asked.time.run()
    assert asked.said[-1] == ("a", "done", 1.002)


def test_a_client_that_leaves_frees_its_place() -> None:
    """While it waits, while it is computed and while it is answered; the cache keeps its blocks."""
    asked = Asked(slots=1, block_s=0.01, token_s=1.0)
    first = asked.ask("a", [1], tokens=9, stream=True)
    second = asked.ask("b", [2])
    third = asked.ask("c", [3], tokens=1)
    asked.engine.cancel(second)
    asked.time.run(0.05)
    asked.engine.cancel(first)
    asked.time.run(0.055)
    asked.engine.cancel(third)
    asked.time.run(0.2)
    assert asked.said == [("a", "first", 0.01)]
    assert asked.engine.running == 0
    assert asked.engine.counts.cancelled == 3
    assert asked.engine.cache.match([3]) == 1
    assert asked.engine.cache.match([2]) == 0
    asked.engine.cancel(first)
    assert asked.engine.counts.cancelled == 3


def test_held_streams_end_when_released() -> None:
    """Nothing comes after the first token until then."""
    asked = Asked(hold=True, token_s=0.01)
    asked.ask("a", [1], tokens=5, stream=True)
    asked.time.run(10.0)
    assert asked.said == [("a", "first", 0)]
    asked.engine.release()
    assert asked.said[1:] == [("a", "done", 10.0)]
    assert asked.engine.running == 0


def test_delays_run_side_by_side() -> None:
    """Two requests wait their delay at once, and one whose client leaves says nothing."""
    asked = Asked(slots=2, delay_s=0.5)
    asked.ask("a", [1])
    gone = asked.ask("b", [2])
    asked.ask("c", [3])
    asked.time.run(0.25)
    asked.engine.cancel(gone)
    asked.time.run()
    assert asked.said == [("a", "done", 0.5), ("c", "done", 0.75)]
    assert asked.engine.running == 0
