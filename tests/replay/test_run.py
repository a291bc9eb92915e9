import asyncio
import gc
import json
import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from stemcache.clock import MonotonicClock
from stemcache.errors import UsageError
from stemcache.replay.credentials import Credentials
from stemcache.replay.isolation import Isolation
from stemcache.replay.loops import OpenLoop
from stemcache.replay.outcome import UNFINISHED
from stemcache.replay.prompts import TokenPrompts, TokenRange
from stemcache.replay.run import Job, Run, Runner
from stemcache.replay.schedule import arrivals
from stemcache.replay.scrape import Counters
from stemcache.replay.sender import Tally
from stemcache.replay.target import parse_place, parse_target
from tests.replay.made import planned
from tests.replay.scripted import Asked, Scripted, json_answer, scripted, stream, whole

KEYS = Credentials((("authorization", "Bearer sekret"),), ("sekret",))


class Target:
    """A server with all that a run asks of one. Counts like stemcache."""

    def __init__(self) -> None:
        self.prompts: list[list[int]] = []
        self.resets = 0
        self.completion: Callable[[], bytes | list[bytes]] = stream
        self.end: Callable[[], None] = lambda: None
        """Ends the run."""

    def __call__(self, asked: Asked) -> bytes | list[bytes]:
        match asked.path:
            case "/v1/models":
                return json_answer({"data": [{"id": "only"}]})
            case "/metrics":
                page = (
                    f"stemcache_prompt_tokens_total {10 * len(self.prompts)}\n"
                    f"stemcache_cached_tokens_total {4 * len(self.prompts)}\n"
                )
                return whole("200 OK", page.encode())
            case "/reset_prefix_cache":
                self.resets += 1
                return json_answer({"success": True})
            case _:
                body = json.loads(asked.body)
                assert body["model"] == "only"
                self.prompts.append(body["prompt"])
                return self.completion()


def ran(
    target: Target | None = None,
    *,
    requests: int = 5,
    ticks: list[tuple[float, int]] | None = None,
    **others: Any,
) -> tuple[Run, Target, Scripted]:
    """A run of a few requests, 10 ms apart."""
    answering = target or Target()
    seen = ticks if ticks is not None else []

    def on_tick(elapsed_s: float, tally: Tally) -> None:
        seen.append((elapsed_s, tally.sent))

    async def main() -> tuple[Run, Target, Scripted]:
        async with scripted(answering) as server:
            place = parse_target(server.url, None)
            trace = [planned(n, [n], arrival_s=n * 0.01) for n in range(requests)]
            values: dict[str, Any] = {
                "target": place,
                "credentials": KEYS,
                "model": None,
                "prompts": TokenPrompts("s", TokenRange(1000, 30000)),
                "isolation": Isolation("salted", "s"),
                "loop": OpenLoop(arrivals=arrivals(trace, speed=1, rate=None, random=Random(0))),
                "metrics": parse_place(f"{server.url}/metrics", "--target"),
                "timeout_s": 20.0,
            }
            runner = Runner(Job(**(values | others)), clock=MonotonicClock(), on_tick=on_tick)
            answering.end = lambda: runner.end("^C")
            async with asyncio.timeout(30):
                run = await runner.run()
            await asyncio.sleep(0.01)
            return run, answering, server

    return asyncio.run(main())


def test_a_run_goes_through_all_its_stages() -> None:
    """Model, probe, counters, load, counters; the probe is in none of the figures."""
    run, target, server = ran()
    assert run.model == "only"
    assert [each.number for each in run.outcomes] == list(range(5))
    assert {each.error for each in run.outcomes} == {None}
    assert target.prompts[0] == [1000, 30000]
    assert len(target.prompts) == 6
    assert run.before == Counters("stemcache", 10, 4)
    assert run.after == Counters("stemcache", 60, 24)
    assert run.window_s == max(each.end_s for each in run.outcomes)
    paths = [asked.path for asked in server.asked]
    assert paths == [
        "/v1/models",
        "/v1/completions",
        "/metrics",
        *["/v1/completions"] * 5,
        "/metrics",
    ]
    assert (run.ended_by, run.reset_path) == (None, None)
    assert run.connections < 6  # that of the probe is kept


def test_a_run_may_do_without_probe_and_counters() -> None:
    """Then it only sends the trace."""
    run, target, server = ran(model="only", probe=False, metrics=None)
    assert {asked.path for asked in server.asked} == {"/v1/completions"}
    assert len(target.prompts) == 5
    assert (run.before, run.after) == (None, None)


def test_a_reset_comes_after_the_probe_and_before_the_load() -> None:
    """So that the probe leaves nothing behind."""
    run, target, server = ran(isolation=Isolation("reset", "s"))
    assert (target.resets, run.reset_path) == (1, "/reset_prefix_cache")
    paths = [asked.path for asked in server.asked]
    assert paths.index("/reset_prefix_cache") > paths.index("/v1/completions")
    assert paths.index("/reset_prefix_cache") < paths.index("/metrics")


def test_a_salt_may_go_into_the_body() -> None:
    """Of every request, the probe's too."""
    _, _, server = ran(isolation=Isolation("cache-salt", "pepper"))
    bodies = [json.loads(asked.body) for asked in server.asked if asked.method == "POST"]
    assert {body["cache_salt"] for body in bodies} == {"pepper"}


def test_a_probe_that_fails_ends_the_run_before_it_begins() -> None:
    """One message, and nothing of the trace is sent."""
    target = Target()
    target.completion = lambda: json_answer({"error": {"message": "bad tokens"}}, "400 Bad Request")
    with pytest.raises(UsageError, match="failed with http_400: bad tokens; check --token-range"):
        ran(target)
    assert len(target.prompts) == 1


def test_a_key_is_not_sent_to_another_servers_metrics() -> None:
    """It is for the target alone."""

    async def main() -> tuple[Run, Scripted]:
        async with scripted(Target()) as metrics:
            url = f"{metrics.url}/metrics"
            run, _, _ = await asyncio.to_thread(ran, metrics=parse_place(url, "--metrics-url"))
            return run, metrics

    run, metrics = asyncio.run(main())
    assert run.before is not None
    assert [asked.path for asked in metrics.asked] == ["/metrics", "/metrics"]
    assert all("authorization" not in asked.headers for asked in metrics.asked)


def test_metrics_that_are_not_there_do_not_end_a_run() -> None:
    """The report says that they are missing."""
    nowhere = parse_place("http://no.such.host.invalid/metrics", "--metrics-url")
    run, _, _ = ran(metrics=nowhere)
    assert (run.before, run.after) == (None, None)
    assert len(run.outcomes) == 5


def test_a_run_that_is_ended_has_what_there_is() -> None:
    """What is under way is given up at once, what is left is not sent."""
    target = Target()

    def slow() -> list[bytes]:
        if len(target.prompts) == 1:
            return stream()
        if len(target.prompts) == 10:
            target.end()
        return stream(b": wait\n\n", end=False)

    target.completion = slow
    run, _, _ = ran(target, requests=3000)
    assert run.ended_by == "^C"
    assert 9 <= len(run.outcomes) < 3000
    assert {each.error for each in run.outcomes} == {UNFINISHED}


def test_a_run_may_be_ended_while_it_probes() -> None:
    """Nothing is sent then."""
    target = Target()

    def never() -> list[bytes]:
        target.end()
        return stream(b": wait\n\n", end=False)

    target.completion = never
    run, _, _ = ran(target)
    assert (run.outcomes, run.ended_by) == ((), "^C")


@pytest.mark.parametrize("path", ["/v1/models", "/reset_prefix_cache", "/metrics"])
def test_a_run_may_be_ended_while_the_target_is_silent(path: str) -> None:
    """Whatever was asked of it beside the load; nothing is sent then."""

    class Silent(Target):
        def __call__(self, asked: Asked) -> bytes | list[bytes]:
            if asked.path != path:
                return super().__call__(asked)
            asyncio.get_running_loop().call_soon(self.end)
            return b""

    began_s = time.monotonic()
    run, _, _ = ran(Silent(), isolation=Isolation("reset", "s"))
    assert (run.outcomes, run.ended_by) == ((), "^C")
    assert time.monotonic() - began_s < 4


def test_counters_that_never_come_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have a bound of their own, whatever that of an answer is; and it is told."""
    monkeypatch.setattr("stemcache.replay.run._CONTROL_S", 0.05)

    class Silent(Target):
        def __call__(self, asked: Asked) -> bytes | list[bytes]:
            return b"" if asked.path == "/metrics" else super().__call__(asked)

    run, _, _ = ran(Silent())
    assert len(run.outcomes) == 5
    assert (run.before, run.no_counters) == (None, "did not answer within 0.05 s")


def test_who_watches_is_told_twice_a_second() -> None:
    """From the beginning on."""
    ticks: list[tuple[float, int]] = []
    ran(ticks=ticks, requests=60)
    assert len(ticks) >= 2
    assert ticks == sorted(ticks)


def test_the_garbage_collector_is_left_as_it_was() -> None:
    """A run only spares itself its long pauses."""
    before = gc.get_threshold()
    ran()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
