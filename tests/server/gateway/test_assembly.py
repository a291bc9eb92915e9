"""The parts of a gateway together: replicas from everywhere, events, reloads."""

import asyncio
import json
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stemcache.clock import MonotonicClock
from stemcache.errors import UsageError
from stemcache.gateway.deployment import (
    Admin,
    Configuration,
    DnsSource,
    Listen,
    LocalReplicas,
    Template,
)
from stemcache.gateway.presence import Sighting, State
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.router import Router
from stemcache.gateway.settings import Agree, ApiKey, GatewaySettings, HealthSettings
from stemcache.server.gateway.assembly import Assembly, check_events
from stemcache.server.gateway.discovery import Source
from stemcache.text.memo import PromptTokenizer
from tests.server.gateway.fakes import FakeReplica
from tests.server.gateway.publisher import Publisher
from tests.server.gateway.quiet import Said, paged, until
from tests.text.small_models import model_directory

HERE = [(b"host", b"127.0.0.1")]
A = ReplicaSpec(name="a", url="http://127.0.0.1:1")
B = ReplicaSpec(name="b", url="http://127.0.0.1:2")


class Bench:
    """An assembly, and what it says."""

    def __init__(
        self, configuration: Configuration, tokenizing: PromptTokenizer | None = None
    ) -> None:
        self.said = Said()
        self.parts = Assembly(
            configuration,
            tokenizing=tokenizing,
            tls=ssl.create_default_context(),
            clock=MonotonicClock(),
            rng=Random(1),
            logger=self.said.logger,
        )

    @property
    def names(self) -> list[str]:
        """Of the replicas."""
        return [member.spec.name for member in self.parts.router.members]

    def page(self, path: str, *, method: str = "GET", body: Any = None) -> Any:
        """One of the gateway's own pages."""
        data = b"" if body is None else json.dumps(body).encode()
        page = self.parts.pages.answer(method, path, HERE, data)
        assert page is not None
        return json.loads(page.body)


def running(
    configuration: Configuration,
    work: Callable[[Bench], Coroutine[Any, Any, None]],
    tokenizing: PromptTokenizer | None = None,
) -> Bench:
    """Started, and closed in the end."""

    async def main() -> Bench:
        bench = Bench(configuration, tokenizing)
        try:
            await bench.parts.start()
            await work(bench)
        finally:
            await bench.parts.close()
        assert len(asyncio.all_tasks()) == 1, "nothing goes on"
        return bench

    return asyncio.run(main())


def of(*replicas: ReplicaSpec, **fields: Any) -> Configuration:
    """A configuration with these replicas."""
    return Configuration(settings=GatewaySettings(replicas=replicas, **fields))


async def by_hand(bench: Bench, configuration: Configuration) -> list[Any]:
    """Where to tell what a source sees, which is told by a test."""
    tell: list[Any] = []

    class Hand:
        async def run(self, told: Any) -> None:
            tell.append(told)
            await asyncio.Event().wait()

    def make(_source: Source) -> Hand:
        return Hand()

    bench.parts.discovery._make = make
    bench.parts.apply(replace(configuration, sources=(DnsSource(host="h", port=1),)))
    await until(lambda: bool(tell))
    return tell


def test_replicas_that_are_found_come_beside_those_that_are_written_down() -> None:
    """One address is one replica, whatever it is called; who terminates is drained."""

    async def work(bench: Bench) -> None:
        tell = await by_hand(bench, of(A))
        found = ReplicaSpec(name="127.0.0.1:1", url=A.url)
        tell[0]((Sighting(found), Sighting(B, State.TERMINATING)))
        assert bench.names == ["a", "b"]
        states = {one["name"]: one["state"] for one in bench.page("/v1/fleet")["replicas"]}
        assert states["b"] == "draining"
        other = Sighting(replace(B, ranks=2), State.TERMINATING)  # another member by that name
        tell[0]((Sighting(found), other))
        states = {one["name"]: one["state"] for one in bench.page("/v1/fleet")["replicas"]}
        assert states["b"] == "draining"
        tell[0]((Sighting(B),))
        states = {one["name"]: one["state"] for one in bench.page("/v1/fleet")["replicas"]}
        assert states["b"] != "draining"
        tell[0]((Sighting(B, State.TERMINATING),))
        tell[0](())
        assert bench.names == ["a"]

    running(of(A), work)


def cached_tokens(parts: Assembly, content: str) -> dict[str, int]:
    """Of a prompt, at each replica that can be chosen; then it is answered by one of them."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": content}]}).encode()
    headers = [(b"content-type", b"application/json")]
    path = b"/v1/chat/completions"
    prompt = parts._reader.read(path, headers, body, tenant=None, salt=None)
    now_s = parts._clock.now()
    seats = parts.router.explain(prompt, now_s=now_s)["seats"]
    decision = parts.router.choose(prompt, now_s=now_s)
    assert decision is not None
    flight = parts.router.sent(decision, prompt, now_s=now_s)
    parts.router.done(flight, None, now_s=now_s)
    return {seat["replica"]: seat["cached_tokens"] for seat in seats}


@pytest.mark.parametrize("how", [State.UNREADY, None])
def test_a_replica_that_is_away_for_a_moment_keeps_what_it_holds(how: State | None) -> None:
    """A pod whose probe failed, an address that one answer lacked; not another pod there."""
    content = "Once upon a time there was a replica. " * 50

    async def work(bench: Bench) -> None:
        parts = bench.parts
        tell = await by_hand(bench, of())
        one = Sighting(A, identity="1")
        away = () if how is None else (Sighting(A, how, "1"),)
        tell[0]((one,))
        assert cached_tokens(parts, content) == {"a": 0}
        tell[0](away)
        assert bench.page("/v1/fleet")["replicas"][0]["state"] == "draining"
        tell[0]((one,))
        assert cached_tokens(parts, content)["a"] > 400
        tell[0](away)
        tell[0]((Sighting(A, identity="2"),))
        assert cached_tokens(parts, content) == {"a": 0}
        events = [event for event in bench.said.events if event not in ("replicas found", "down")]
        assert events[:4] == ["joined", "draining", "serving", "draining"]
        assert sorted(events[4:]) == ["restarted", "serving"]

    running(of(), work)


def test_what_an_admin_has_drained_is_not_put_back_by_its_coming_and_going() -> None:
    """Only what its source had drained."""

    async def work(bench: Bench) -> None:
        tell = await by_hand(bench, of())

        def state() -> str:
            found: str = bench.page("/v1/fleet")["replicas"][0]["state"]
            return found

        tell[0]((Sighting(A),))
        bench.page("/v1/fleet/drain?replica=a&on=true", method="POST")
        for seen in ((Sighting(A, State.UNREADY),), (), (Sighting(A),)):
            tell[0](seen)
            assert state() == "draining"
        bench.page("/v1/fleet/drain?replica=a&on=false", method="POST")
        assert state() != "draining"
        tell[0](())
        assert state() == "draining"
        tell[0]((Sighting(A),))
        assert state() != "draining"

    running(of(), work)


def test_the_end_of_who_was_on_its_way_out_is_no_warning() -> None:
    """Of others it is."""

    async def work(bench: Bench) -> None:
        tell = await by_hand(bench, of(B))
        tell[0]((Sighting(A, State.TERMINATING), Sighting(B)))
        await until(lambda: bench.said.events.count("down") == 2)
        levels = {
            one["replica"]: one["level"] for one in bench.said.lines if one["event"] == "down"
        }
        assert levels == {"a": "info", "b": "warning"}

    running(of(B), work)


def test_a_reload_changes_what_it_can_and_says_what_it_cannot() -> None:
    """All at once."""

    async def work(bench: Bench) -> None:
        key = ApiKey(key="k", tenant="t")
        changed = Configuration(
            settings=GatewaySettings(
                replicas=(B,),
                policy="session",
                api_keys=(key,),
                session_headers=("x-mine",),
                mirror_bytes=2**21,
                tokenizer="t",
                agree=Agree.HASH,
                gateways=3,
                health=HealthSettings(interval_s=77.0),
            ),
            listen=Listen(port=1),
            admin=Admin(keys=("adm",)),
            local=LocalReplicas(replicas=2),
        )
        bench.parts.apply(changed)
        assert bench.names == ["b"]
        settings = bench.parts.gateway.settings
        assert (settings.policy, settings.gateways) == ("session", 3)
        assert settings.api_keys == (key,)
        assert (settings.tokenizer, settings.agree) == (None, Agree.ALONE)
        assert bench.parts.gateway.reader.read(
            "/v1/chat/completions", [(b"x-mine", b"s")], b"{}", tenant=None, salt=None
        ).session
        assert bench.page("/v1/fleet")["error"]["code"] == "invalid_api_key"
        line = next(
            line for line in bench.said.lines if line["event"].startswith("this needs a restart")
        )
        assert line["what"] == ["[listen]", "[local]", "[agree]", "tokenizer", "mirror_bytes"]
        bench.said.lines.clear()
        bench.parts.apply(replace(changed, admin=Admin()))
        assert [line["event"] for line in bench.said.lines] == [
            "this needs a restart to change; the rest is applied"
        ]

    running(of(A), work)


def test_a_reload_that_cannot_be_changes_nothing() -> None:
    """Events without a tokenizer, for one."""

    async def work(bench: Bench) -> None:
        with pytest.raises(UsageError, match="there is no --tokenizer"):
            bench.parts.apply(of(replace(B, events="tcp://b:1")))
        assert bench.names == ["a"]

    running(of(A), work)


def test_no_gateway_begins_or_goes_on_with_itself_as_a_replica() -> None:
    """It would ask itself for ever."""
    listen = Listen(host="127.0.0.1", port=8080)
    itself = ReplicaSpec(name="self", url="http://localhost:8080")
    bad = Configuration(settings=GatewaySettings(replicas=(A, itself)), listen=listen)
    with pytest.raises(UsageError, match="'self' has the address that this gateway listens on"):
        Bench(bad)
    good = Configuration(settings=GatewaySettings(replicas=(A,)), listen=listen)

    async def work(bench: Bench) -> None:
        elsewhere = replace(bad, listen=Listen(port=1))
        with pytest.raises(UsageError, match="'self' has the address that this gateway listens"):
            bench.parts.apply(elsewhere)
        assert bench.names == ["a"]

    running(good, work)


def test_what_the_router_says_is_logged_and_counted() -> None:
    """A replica that is down is a warning."""

    async def work(bench: Bench) -> None:
        await until(lambda: "down" in bench.said.events)
        lines = {line["event"]: line for line in bench.said.lines}
        assert lines["joined"]["level"] == "info"
        assert lines["down"]["level"] == "warning"
        assert lines["down"]["replica"] == "a"
        page = bench.parts.pages.answer("GET", "/metrics", HERE, b"")
        assert page is not None
        assert b'stemcache_route_notices_total{kind="down"} 1' in page.body

    running(of(replace(A, url="http://127.0.0.1:9")), work)


def test_an_open_breaker_makes_a_check_happen() -> None:
    """Whether it is down is seen at once, not at the end of the interval."""
    fake: FakeReplica = paged({"/health": {}})

    async def work(bench: Bench) -> None:
        await fake.start()
        spec = ReplicaSpec(name="a", url=f"http://127.0.0.1:{fake.port}")
        settings = GatewaySettings(
            replicas=(spec,), health=HealthSettings(interval_s=600, breaker_failures=1)
        )
        bench.parts.apply(Configuration(settings=settings))
        await until(lambda: len([c for c in fake.calls if c.target == "/health"]) == 1)
        await bench.parts.health.settled()
        reader = bench.parts.gateway.reader
        prompt = reader.read("/v1/completions", [], b'{"prompt": "x"}', tenant=None, salt=None)
        router = bench.parts.router
        decision = router.choose(prompt, now_s=1.0)
        assert decision is not None
        router.failed(router.sent(decision, prompt, now_s=1.0), "dropped", now_s=1.0, blame=True)
        await until(lambda: len([c for c in fake.calls if c.target == "/health"]) == 2)
        fake.stop()

    running(of(), work)


@pytest.mark.parametrize("stream", ["false", "true"])
def test_each_answer_that_began_is_counted_once(stream: str) -> None:
    """A stream's at its first byte, a plain one's at its end: a replica that answers is busy."""

    async def work(bench: Bench) -> None:
        router, reader = bench.parts.router, bench.parts.gateway.reader
        body = b'{"prompt": "x", "stream": %b}' % stream.encode()
        prompt = reader.read("/v1/completions", [], body, tenant=None, salt=None)
        (member,) = router.members
        member.up = True
        decision = router.choose(prompt, now_s=1.0)
        assert decision is not None
        flight = router.sent(decision, prompt, now_s=1.0)
        if prompt.stream:
            router.first(flight, now_s=2.0)
            assert router.begun == {"a": 1}
        router.done(flight, None, now_s=3.0)
        assert router.begun == {"a": 1}

    running(of(A), work)


def batch(first: int, count: int) -> list[Any]:
    """Blocks of 16 tokens each, one behind the other, as vLLM publishes them."""
    event = {
        "type": "BlockStored",
        "block_hashes": list(range(first, first + count)),
        "parent_block_hash": first - 1 if first else None,
        "token_ids": list(range(16 * first, 16 * (first + count))),
        "block_size": 16,
        "lora_id": None,
        "medium": "GPU",
        "lora_name": None,
    }
    return [1.0, [event], None]


def test_kv_events_are_followed_from_end_to_end(tmp_path: Path) -> None:
    """What was published before, what comes, and again after a restart that was noticed here."""
    directory = model_directory(tmp_path / "model")
    body = {"model": "m", "prompt": list(range(96))}

    async def work(bench: Bench) -> None:
        publisher = Publisher()
        publisher.publish(batch(0, 2))
        events, replay = (f"tcp://127.0.0.1:{port}" for port in publisher.ports)
        spec = replace(A, events=events, replay=replay)
        settings = bench.parts.configuration.settings
        bench.parts.apply(Configuration(settings=replace(settings, replicas=(spec, B))))

        def decision() -> Any:
            path = "/v1/route/explain?path=/v1/completions"
            return bench.page(path, method="POST", body=body)["decision"]

        def cached() -> tuple[str, int]:
            found = decision()
            return found["source"], found["predicted_cached_tokens"]

        await until(lambda: cached() == ("events", 32))
        assert decision()["replica"] == "a"
        publisher.publish(batch(2, 3))
        await until(lambda: cached() == ("events", 80))
        bench.parts.router.restarted("a", "it looks like another", now_s=1.0)
        await until(lambda: cached() == ("events", 80))
        found = {one["name"]: one for one in bench.page("/v1/fleet")["replicas"]}
        assert found["a"]["seats"][0]["mirror"]["event_blocks"] == 5
        assert found["a"]["seats"][0]["mirror"]["source"] == "events"
        await publisher.close()

    configuration = of(A, B, tokenizer=str(directory))
    with pytest.MonkeyPatch.context() as patch:
        # Nobody listens at their addresses.
        patch.setattr(Router, "checked", lambda *_arguments, **_fields: None)
        running(configuration, work, PromptTokenizer(directory))


def test_events_are_checked_before_anything_is_started() -> None:
    """Endpoints of ranks among them."""
    with_events = replace(A, events="tcp://a:5557")
    check_events(GatewaySettings(replicas=(with_events,), tokenizer="t"), ())
    check_events(GatewaySettings(replicas=(A,)), (DnsSource(host="h", port=1),))
    for settings, sources in (
        (GatewaySettings(replicas=(with_events,)), ()),
        (GatewaySettings(), (DnsSource(host="h", port=1, template=Template(events_port=5)),)),
    ):
        with pytest.raises(UsageError, match="there is no --tokenizer; give the directory"):
            check_events(settings, sources)
    ranked = replace(A, events="ipc:///x", ranks=2)
    with pytest.raises(UsageError, match="of several ranks"):
        check_events(GatewaySettings(replicas=(ranked,), tokenizer="t"), ())


def test_connections_are_fitted_to_open_files_and_it_is_said_once() -> None:
    """Whenever the configuration is taken, with what to do."""
    bench = Bench(Configuration())
    bench.parts._files = 1024

    async def main() -> None:
        bench.parts.refresh()
        bench.parts.refresh()
        await bench.parts.close()

    asyncio.run(main())
    assert bench.parts.gateway.settings.limits.connections == 428
    said = [line for line in bench.said.lines if line["event"].startswith("fewer connections")]
    assert [(line["connections"], line["configured"], line["open_files"]) for line in said] == [
        (428, 16_384, 1024)
    ]


def test_all_of_a_prompts_text_is_read_while_a_seat_is_guessed_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where all tell what they hold, its beginning suffices."""
    bench = Bench(Configuration(settings=GatewaySettings(replicas=(A, B))))
    told: set[int] = set()

    async def main() -> None:
        bench.parts.refresh()
        router = bench.parts.router
        monkeypatch.setattr(router.mirror, "follows", told.__contains__)
        numbers = [seat.number for member in router.members for seat in member.seats]
        assert bench.parts._any_guessed()
        told.add(numbers[0])
        assert bench.parts._any_guessed()
        told.update(numbers)
        assert not bench.parts._any_guessed()
        await bench.parts.close()

    asyncio.run(main())
