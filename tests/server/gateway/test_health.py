"""When a replica is said to be up or down, and what is found out about it."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from random import Random
from typing import Any

from stemcache.clock import Clock, ManualClock
from stemcache.gateway.replica import Engine, ReplicaSpec
from stemcache.gateway.settings import HealthSettings
from stemcache.server.gateway.health import Health
from tests.server.gateway.fakes import Call, FakeReplica
from tests.server.gateway.quiet import Said, Sleeps, paged, until

SETTINGS = HealthSettings(interval_s=5.0, timeout_s=2.0, down_after=2, up_after=2)
MODELS = {"data": [{"id": "qwen", "owned_by": "vllm"}, {"id": "lora", "parent": "qwen"}]}
METRICS = b'vllm:cache_config_info{block_size="16",num_gpu_blocks="100"} 1.0\n'


class Bench:
    """What a health check tells, in place of the router."""

    def __init__(self, fake: FakeReplica, settings: HealthSettings = SETTINGS) -> None:
        self.fake = fake
        self.sleeps = Sleeps()
        self.said = Said()
        self.checks: list[tuple[bool, str]] = []
        self.known: dict[str, Any] = {}
        self.learnings = 0
        self.answers = 0
        self.heard_s = 0.0
        self.clock: Clock = ManualClock(100.0)
        self.settings = settings
        self.health = Health(
            self,
            answers=lambda _name: self.answers,
            tls=ssl.create_default_context(),
            clock=self.clock,
            rng=Random(1),
            logger=self.said.logger,
            sleep=self.sleeps,
            heard_s=lambda _name: self.heard_s,
        )

    @property
    def spec(self) -> ReplicaSpec:
        return ReplicaSpec(name="a", url=f"http://127.0.0.1:{self.fake.port}")

    def checked(self, name: str, *, ok: bool, detail: str, now_s: float) -> None:
        assert name == "a" and now_s in {100.0, 103.0}
        self.checks.append((ok, detail))

    def learned(
        self,
        name: str,
        *,
        now_s: float,
        engine: Engine | None = None,
        models: Iterable[str] | None = None,
        adapters: Iterable[str] | None = None,
        kv_tokens: int | None = None,
        block_tokens: int | None = None,
        started: float | None = None,
    ) -> None:
        assert (name, now_s) == ("a", 100.0)
        self.learnings += 1
        self.known = {
            "engine": engine,
            "models": None if models is None else sorted(models),
            "adapters": None if adapters is None else sorted(adapters),
            "kv_tokens": kv_tokens,
            "block_tokens": block_tokens,
            "started": started,
        }

    async def round(self) -> None:
        """Wait for the next check to end."""
        asked = len(self.sleeps.asked_s)
        await self.sleeps.end()
        await until(lambda: len(self.sleeps.asked_s) > asked)


def checking(
    pages: dict[str, Any],
    work: Callable[[Bench], Awaitable[None]],
    settings: HealthSettings = SETTINGS,
    **fields: Any,
) -> Bench:
    """Check a fake replica with these pages, which the test may change meanwhile."""
    bench = Bench(paged(pages), settings)

    async def main() -> None:
        await bench.fake.start()
        bench.health.configure(settings, [replace(bench.spec, **fields)])
        try:
            await until(lambda: len(bench.sleeps.asked_s) == 1)
            await work(bench)
        finally:
            await bench.health.close()
            bench.fake.stop()

    asyncio.run(main())
    return bench


async def nothing(bench: Bench) -> None:
    """One check is enough."""


def test_a_replica_that_answers_is_up_and_asked_what_it_is() -> None:
    """Its models and cache are known before it is said to be up."""
    bench = checking({"/health": {}, "/v1/models": MODELS, "/metrics": METRICS}, nothing)
    assert bench.checks == [(True, "ok")]
    assert bench.known == {
        "engine": Engine.VLLM,
        "models": ["lora", "qwen"],
        "adapters": ["lora"],
        "kv_tokens": 1600,
        "block_tokens": 16,
        "started": None,
    }


def test_checks_are_spread_in_time() -> None:
    """The interval and up to a tenth of it, so that many replicas are not asked at once."""

    async def work(bench: Bench) -> None:
        for _ in range(5):
            await bench.round()

    bench = checking({"/health": {}}, work)
    assert len(set(bench.sleeps.asked_s)) == 6
    assert all(4.5 <= asked_s <= 5.5 for asked_s in bench.sleeps.asked_s)


def test_a_replica_that_is_not_there_at_first_is_down_at_once() -> None:
    """Nothing is known in its favour."""
    bench = checking({"/health": 500}, nothing)
    assert bench.checks == [(False, "/health says 500")]


def test_one_failed_check_does_not_take_a_replica_down() -> None:
    """Two in a row do."""
    pages: dict[str, Any] = {"/health": {}}

    async def work(bench: Bench) -> None:
        pages["/health"] = 500
        await bench.round()
        assert bench.checks == [(True, "ok")]
        pages["/health"] = {}
        await bench.round()
        pages["/health"] = 500
        await bench.round()
        assert bench.checks == [(True, "ok")] * 2
        await bench.round()
        assert bench.checks[-1] == (False, "/health says 500")

    checking(pages, work)


def test_after_a_failure_the_next_checks_come_soon() -> None:
    """Each twice as late as the one before, until the usual interval; and so until it is up."""
    pages: dict[str, Any] = {"/health": {}}

    async def work(bench: Bench) -> None:
        pages["/health"] = 500
        for _ in range(7):
            await bench.round()
        pages["/health"] = {}
        for _ in range(2):
            await bench.round()
        wanted = [5.0, 0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0, 0.25, 5.0]
        for asked_s, wanted_s in zip(bench.sleeps.asked_s, wanted, strict=True):
            assert 0.9 * wanted_s <= asked_s <= 1.1 * wanted_s

    checking(pages, work)


def test_one_failed_check_is_enough_where_requests_failed_too() -> None:
    """Who says so is believed once."""
    pages: dict[str, Any] = {"/health": {}}

    async def work(bench: Bench) -> None:
        pages["/health"] = 500
        bench.health.poke("a")
        await until(lambda: bench.checks[-1] == (False, "/health says 500"))

    checking(pages, work)


def test_it_comes_up_after_some_good_checks_in_a_row() -> None:
    """Two, as set here."""
    pages: dict[str, Any] = {"/health": 500}

    async def work(bench: Bench) -> None:
        for status in (200, 500, 200):
            pages["/health"] = status
            await bench.round()
        assert (True, "ok") not in bench.checks
        await bench.round()
        assert bench.checks[-1] == (True, "ok")

    checking(pages, work)


def test_a_replica_that_says_it_will_not_is_down_at_once() -> None:
    """A 503 is meant: it drains, or its engine is gone."""
    pages: dict[str, Any] = {"/health": {}}

    async def work(bench: Bench) -> None:
        pages["/health"] = 503
        await bench.round()
        assert bench.checks[-1] == (False, "/health says 503")

    checking(pages, work)


def test_a_server_without_the_page_is_up() -> None:
    """It has answered; so has one that wants a key."""
    for status in (404, 401, 405):
        assert checking({"/health": status}, nothing).checks == [(True, f"/health says {status}")]


def test_a_busy_replica_is_not_down_while_it_answers() -> None:
    """Its checks run out of time, its requests do not."""
    pages: dict[str, Any] = {"/health": {}}

    async def work(bench: Bench) -> None:
        pages["/health"] = None
        for answers in (3, 9, 12):
            bench.answers = answers
            await bench.round()
            assert bench.checks[-1] == (
                True,
                "busy: it answers requests, but not its health check in time",
            )
        await bench.round()
        await bench.round()
        assert bench.checks[-1] == (False, "no whole answer within 0.05 s")

    checking(pages, work, replace(SETTINGS, timeout_s=0.05))


def test_a_replica_that_goes_on_with_an_answer_is_not_down() -> None:
    """However long the answer is, and though none begins."""
    pages: dict[str, Any] = {"/health": {}}

    async def work(bench: Bench) -> None:
        pages["/health"] = None
        bench.heard_s = 100.1
        for _ in range(3):
            await bench.round()
        assert [ok for ok, _ in bench.checks] == [True] * 4
        bench.heard_s = 99.9
        for _ in range(2):
            await bench.round()
        assert bench.checks[-1][0] is False

    checking(pages, work, replace(SETTINGS, timeout_s=0.05))


def test_a_check_that_was_not_looked_at_is_made_again() -> None:
    """Where our process stood still, which is no fault of the replica."""
    pages: dict[str, Any] = {"/health": {}}

    async def work(bench: Bench) -> None:
        asked = len(bench.fake.calls)
        clock = Jumping(bench.clock)
        bench.health._clock = clock
        pages["/health"] = None
        for _ in range(2):
            await bench.round()
        assert len(bench.fake.calls) == asked + 4

    checking(pages, work, replace(SETTINGS, timeout_s=0.05))


class Jumping:
    """A clock that goes on by seconds whenever a check has begun."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked = 0

    def now(self) -> float:
        self._asked += 1
        return self._clock.now() + (3.0 if self._asked % 2 == 0 else 0.0)


def test_a_refused_connection_counts_however_many_answers_there_were() -> None:
    """What is not there cannot be busy."""

    async def work(bench: Bench) -> None:
        bench.fake.stop()
        bench.answers = 5
        await bench.round()
        bench.answers = 9
        await bench.round()
        assert bench.checks[-1] == (False, "the connection was refused")

    checking({"/health": {}}, work)


def test_another_path_can_be_checked() -> None:
    """As the settings say."""
    settings = replace(SETTINGS, path="/ready")
    assert checking({"/ready": {}}, nothing, settings).checks == [(True, "ok")]


def test_a_replicas_key_is_sent_to_it() -> None:
    """For pages that want one."""
    bench = checking({"/health": {}, "/v1/models": MODELS}, nothing, api_key="sk-1")
    assert {call.headers["authorization"] for call in bench.fake.calls} == {"Bearer sk-1"}


def test_what_it_is_is_asked_now_and_then() -> None:
    """Adapters are loaded, and a restart may go unseen between two checks."""

    async def work(bench: Bench) -> None:
        for _ in range(12):
            await bench.round()

    assert checking({"/health": {}, "/v1/models": MODELS}, work).learnings == 3


def test_it_is_asked_again_after_a_failure() -> None:
    """Another process may answer then."""
    pages: dict[str, Any] = {"/health": {}, "/v1/models": MODELS}

    async def work(bench: Bench) -> None:
        pages["/health"] = 500
        await bench.round()
        pages["/health"] = {}
        await bench.round()
        assert bench.learnings == 2

    checking(pages, work)


def test_it_is_asked_again_at_once_when_something_is_odd() -> None:
    """A poke ends the rest."""

    async def work(bench: Bench) -> None:
        bench.health.poke("a")
        bench.health.poke("nobody")
        await until(lambda: bench.learnings == 2)

    checking({"/health": {}, "/v1/models": MODELS}, work)


def test_the_start_of_the_process_is_told() -> None:
    """From its metrics, or for stemcache from when its models were made."""
    pages: dict[str, Any] = {
        "/health": {},
        "/metrics": b"process_start_time_seconds 1000.5\n",
        "/v1/models": {"data": [{"id": "m", "owned_by": "stemcache", "created": 900}]},
    }
    assert checking(pages, nothing).known["started"] == 1000.5
    del pages["/metrics"]
    assert checking(pages, nothing).known["started"] == 900.0


def test_two_processes_behind_one_address_are_no_restarts() -> None:
    """Each answers in turn; only a younger one than was seen is told."""
    pages: dict[str, Any] = {"/health": {}}
    told: list[float | None] = []

    async def work(bench: Bench) -> None:
        for started in (1000, 1007, 1000, 1007, 1100):
            pages["/metrics"] = b"process_start_time_seconds %d\n" % started
            bench.health.poke("a")
            learnings = bench.learnings
            await until(lambda: bench.learnings > learnings)  # noqa: B023  # awaited at once
            told.append(bench.known["started"])

    checking(pages, work)
    assert told == [1000.0, 1007.0, 1007.0, 1007.0, 1100.0]


def test_sglangs_capacity_is_asked_for_at_both_its_addresses() -> None:
    """Older ones have the second."""
    models = {"data": [{"id": "m", "owned_by": "sglang"}]}
    info = {"max_total_num_tokens": 9000, "page_size": 64}
    for path in ("/server_info", "/get_server_info"):
        bench = checking({"/health": {}, "/v1/models": models, path: info}, nothing)
        assert bench.known["engine"] is Engine.SGLANG
        assert (bench.known["kv_tokens"], bench.known["block_tokens"]) == (9000, 64)


def test_llama_cpps_capacity_is_asked_for() -> None:
    """Its slots' contexts together."""
    pages = {
        "/health": {},
        "/v1/models": {"data": [{"id": "m", "owned_by": "llamacpp"}]},
        "/props": {"total_slots": 2, "default_generation_settings": {"n_ctx": 2048}},
    }
    assert checking(pages, nothing).known["kv_tokens"] == 4096


def test_an_engine_that_is_configured_is_not_guessed() -> None:
    """Whatever the pages say."""
    pages = {"/health": {}, "/v1/models": MODELS}
    assert checking(pages, nothing, engine=Engine.OTHER).known["engine"] is Engine.OTHER


def test_pages_of_nonsense_leave_everything_unknown() -> None:
    """And the replica up: it serves."""
    pages = {"/health": {}, "/v1/models": b"[" * 50_000, "/metrics": b"\xff" * 1000}
    bench = checking(pages, nothing)
    assert bench.checks == [(True, "ok")]
    assert set(bench.known.values()) == {None}
    assert bench.said.lines == []


def test_models_are_kept_for_the_list_of_all() -> None:
    """Until the replica is not checked any more."""

    async def work(bench: Bench) -> None:
        page = bench.health.models("a")
        assert page is not None
        assert page.names == {"qwen", "lora"}
        bench.health.configure(SETTINGS, [])
        assert bench.health.models("a") is None

    checking({"/health": {}, "/v1/models": MODELS}, work)


def test_a_change_of_settings_leaves_unchanged_replicas_alone() -> None:
    """They are not asked anew, and the interval is the next one."""

    async def work(bench: Bench) -> None:
        bench.health.configure(replace(SETTINGS, interval_s=50.0), [bench.spec])
        await bench.round()
        assert bench.learnings == 1
        assert bench.sleeps.asked_s[-1] > 40

    checking({"/health": {}}, work)


def test_a_replica_that_is_another_is_checked_anew() -> None:
    """As one that is not known."""

    async def work(bench: Bench) -> None:
        other = replace(bench.spec, weight=2.0)
        bench.health.configure(SETTINGS, [other])
        await until(lambda: len(bench.checks) == 2)

    checking({"/health": {}}, work)


def test_one_can_wait_until_all_were_checked() -> None:
    """For the screen at the start."""

    async def main() -> None:
        held: list[Call] = []
        bench = Bench(paged({"/health": held.append}))
        await bench.fake.start()
        bench.health._sleep = asyncio.sleep
        bench.health.configure(SETTINGS, [bench.spec])
        waiting = asyncio.create_task(bench.health.settled())
        await until(lambda: len(held) == 1)
        assert not waiting.done()
        body = json.dumps({}).encode()
        held[0].write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n" + body)
        await waiting
        assert bench.checks == [(True, "ok")]
        await bench.health.close()
        bench.fake.stop()

    asyncio.run(main())
