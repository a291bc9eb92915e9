"""Following a service through a fake API server."""

import asyncio
import json
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from stemcache.errors import UsageError
from stemcache.gateway.deployment import KubernetesSource
from stemcache.gateway.presence import Sighting, State
from stemcache.server.gateway.kubernetes import KubernetesFinder
from tests.server.gateway.fakes import Call, FakeReplica, json_answer
from tests.server.gateway.quiet import Said, Sleeps, until

PATH = "/apis/discovery.k8s.io/v1/namespaces/prod/endpointslices"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"


def piece(name: str, *addresses: str, **conditions: bool) -> dict[str, Any]:
    """An EndpointSlice."""
    return {
        "metadata": {"name": name},
        "ports": [{"name": "http", "port": 8000}],
        "endpoints": [{"addresses": [one], "conditions": conditions} for one in addresses],
    }


def chunk(event: object) -> bytes:
    """An event of a watch."""
    data = json.dumps(event).encode() + b"\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


class Api:
    """A fake API server. `lists` are answered in turn, the last one stays; watches are kept."""

    def __init__(self, *lists: Any) -> None:
        self.lists = list(lists)
        self.watches: list[Call] = []
        self.queries: list[dict[str, str]] = []
        self.tokens: list[str | None] = []
        self.watch_status = 200
        self.fake = FakeReplica(self._answer)

    def _answer(self, call: Call) -> None:
        parts = urlsplit(call.target)
        assert parts.path == PATH
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        assert query["labelSelector"] == "kubernetes.io/service-name=vllm"
        self.queries.append(query)
        self.tokens.append(call.headers.get("authorization"))
        if query.get("watch"):
            if self.watch_status != 200:
                call.transport.write(json_answer({}, status=self.watch_status))
                return
            self.watches.append(call)
            call.transport.write(HEAD)
            return
        answer = self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]
        if isinstance(answer, int):
            call.transport.write(json_answer({"kind": "Status"}, status=answer))
        elif isinstance(answer, bytes):
            call.transport.write(json_answer(answer))
        else:
            call.transport.write(json_answer(answer))


def listed(*slices: dict[str, Any], version: str = "10", more: str = "") -> dict[str, Any]:
    """An answer to a list."""
    return {"metadata": {"resourceVersion": version, "continue": more}, "items": list(slices)}


class Bench:
    """A finder, and what it told."""

    def __init__(self, api: Api, account: Path, **fields: Any) -> None:
        self.api = api
        self.said = Said()
        self.sleeps = Sleeps()
        self.told: list[tuple[list[str], set[str]]] = []
        self.seen: tuple[Sighting, ...] = ()
        """All that was told last."""
        source = KubernetesSource(
            **{
                "service": "vllm",
                "namespace": "prod",
                "api": f"http://127.0.0.1:{api.fake.port}",
                "interval_s": 8.0,
                **fields,
            }
        )
        self.finder = KubernetesFinder(
            source,
            tls=ssl.create_default_context(),
            rng=Random(1),
            logger=self.said.logger,
            sleep=self.sleeps,
            account=account,
            environ={},
        )

    def tell(self, seen: tuple[Sighting, ...]) -> None:
        names = [one.spec.name for one in seen]
        draining = {one.spec.name for one in seen if one.state is State.TERMINATING}
        self.told.append((names, draining))
        self.seen = seen

    async def tells(self, count: int) -> None:
        """Wait until it has told so often."""
        await until(lambda: len(self.told) >= count)
        assert len(self.told) == count, self.told


def following(
    api: Api,
    work: Callable[[Bench], Coroutine[Any, Any, None]],
    account: Path = Path("/no/account"),
    **fields: Any,
) -> Bench:
    """Follow a service of this API server while the test goes on."""

    async def main() -> Bench:
        await api.fake.start()
        bench = Bench(api, account, **fields)
        task = asyncio.create_task(bench.finder.run(bench.tell))
        try:
            await work(bench)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            api.fake.stop()
        return bench

    return asyncio.run(main())


def test_what_is_listed_is_told() -> None:
    """Ready pods, by their addresses."""

    async def work(bench: Bench) -> None:
        await bench.tells(1)
        assert bench.told == [(["10.0.0.1:8000", "10.0.0.2:8000"], set())]

    following(Api(listed(piece("s", "10.0.0.2", "10.0.0.1"))), work)


def test_a_long_list_is_read_page_by_page() -> None:
    """And told as one."""
    api = Api(listed(piece("a", "10.0.0.1"), more="a+b="), listed(piece("b", "10.0.0.2")))

    async def work(bench: Bench) -> None:
        await bench.tells(1)
        assert bench.told[0][0] == ["10.0.0.1:8000", "10.0.0.2:8000"]
        assert api.queries[1]["continue"] == "a+b="

    following(api, work)


def test_changes_are_told_as_they_happen() -> None:
    """Added, changed, drained, removed; a bookmark is none."""
    api = Api(listed(piece("a", "10.0.0.1"), version="41"))

    async def work(bench: Bench) -> None:
        await until(lambda: len(api.watches) == 1)
        assert api.queries[1]["resourceVersion"] == "41"
        write = api.watches[0].transport.write
        write(chunk({"type": "ADDED", "object": piece("b", "10.0.0.2")}))
        await bench.tells(2)
        write(chunk({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "50"}}}))
        write(chunk({"type": "MODIFIED", "object": piece("a", "10.0.0.1", terminating=True)}))
        await bench.tells(3)
        write(chunk({"type": "DELETED", "object": piece("a")}))
        await bench.tells(4)
        assert bench.told[1:] == [
            (["10.0.0.1:8000", "10.0.0.2:8000"], set()),
            (["10.0.0.1:8000", "10.0.0.2:8000"], {"10.0.0.1:8000"}),
            (["10.0.0.2:8000"], set()),
        ]

    following(api, work)


def test_a_pod_that_is_not_ready_is_told_of_with_its_uid() -> None:
    """It may be back in a moment, and is the same then, or another."""
    one = piece("a", "10.0.0.1", ready=False)
    one["endpoints"][0]["targetRef"] = {"kind": "Pod", "uid": "4f6e"}
    api = Api(listed(one))

    async def work(bench: Bench) -> None:
        await bench.tells(1)
        (seen,) = bench.seen
        assert (seen.spec.name, seen.state, seen.identity) == (
            "10.0.0.1:8000",
            State.UNREADY,
            "4f6e",
        )
        await until(lambda: len(api.watches) == 1)
        one["endpoints"][0]["conditions"] = {"ready": True}
        api.watches[0].transport.write(chunk({"type": "MODIFIED", "object": one}))
        await bench.tells(2)
        assert bench.seen[0].state is State.READY

    following(api, work)


def test_an_event_may_come_in_pieces_and_two_at_once() -> None:
    """Lines are put together."""
    api = Api(listed())

    async def work(bench: Bench) -> None:
        await until(lambda: len(api.watches) == 1)
        lines = b"".join(
            json.dumps({"type": "ADDED", "object": piece(f"s{n}", f"10.0.0.{n}")}).encode() + b"\n"
            for n in (1, 2)
        )
        for at in range(0, len(lines), 100):
            part = lines[at : at + 100]
            api.watches[0].transport.write(b"%x\r\n%b\r\n" % (len(part), part))
        await bench.tells(3)
        assert bench.told[-1][0] == ["10.0.0.1:8000", "10.0.0.2:8000"]

    following(api, work)


def test_a_watch_that_ends_is_begun_again_from_a_new_list() -> None:
    """Nothing that happened in between is missed."""
    api = Api(listed(piece("a", "10.0.0.1")), listed(piece("a", "10.0.0.9"), version="77"))

    async def work(bench: Bench) -> None:
        await until(lambda: len(api.watches) == 1)
        api.watches[0].transport.write(b"0\r\n\r\n")
        await bench.sleeps.end()
        await until(lambda: len(api.watches) == 2)
        assert bench.told[-1][0] == ["10.0.0.9:8000"]
        assert api.queries[-1]["resourceVersion"] == "77"
        assert bench.sleeps.asked_s[0] < 1
        assert bench.said.lines == []

    following(api, work)


@pytest.mark.parametrize("how", ["status", "event"])
def test_what_is_gone_is_listed_anew(how: str) -> None:
    """A watch from a version that is too old: no trouble, and no long rest."""
    api = Api(listed(piece("a", "10.0.0.1")), listed(piece("a", "10.0.0.2")))
    if how == "status":
        api.watch_status = 410

    async def work(bench: Bench) -> None:
        if how == "event":
            await until(lambda: len(api.watches) == 1)
            gone = {"kind": "Status", "code": 410, "reason": "Expired"}
            api.watches[0].transport.write(chunk({"type": "ERROR", "object": gone}))
        await bench.sleeps.end()
        await bench.tells(2)
        assert bench.told[-1][0] == ["10.0.0.2:8000"]
        assert bench.sleeps.asked_s[0] < 1
        assert bench.said.lines == []

    following(api, work)


def rests(bench: Bench) -> list[float]:
    """What it rested for each time, but for chance: halves of a second."""
    nominal = [0.5 * 2**n for n in range(6)] + [30.0]
    found = []
    for asked_s in bench.sleeps.asked_s:
        near = [one for one in nominal if 0.8 * one <= asked_s <= 1.2 * one]
        assert len(near) == 1, asked_s
        found += near
    return found


def test_a_list_that_fails_keeps_what_is_known() -> None:
    """It is asked for again soon, and later each time."""
    api = Api(listed(piece("a", "10.0.0.1")), *[500] * 8, listed(piece("a", "10.0.0.1")), 500)

    async def work(bench: Bench) -> None:
        await until(lambda: len(api.watches) == 1)
        api.watches[0].transport.abort()
        for _ in range(9):
            await bench.sleeps.end()
        await until(lambda: len(api.watches) == 2)
        assert bench.told == [(["10.0.0.1:8000"], set())]
        assert rests(bench) == [0.5, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
        api.watches[1].transport.write(b"0\r\n\r\n")
        await bench.sleeps.end()
        await until(lambda: len(bench.sleeps.asked_s) == 11)
        assert rests(bench)[-2:] == [0.5, 0.5], "it had been well in between"

    following(api, work)


@pytest.mark.parametrize("how", ["nonsense", "lost", "too long", "error"])
def test_a_watch_that_breaks_begins_anew_soon(how: str) -> None:
    """What happened meanwhile is in the list; what breaks each time is begun less often."""
    api = Api(listed(piece("a", "10.0.0.1")), listed(piece("a", "10.0.0.2")))
    error = {"type": "ERROR", "object": {"kind": "Status", "code": 500}}

    async def work(bench: Bench) -> None:
        for count in range(1, 9):
            await until(lambda: len(api.watches) == count)  # noqa: B023
            watch = api.watches[-1].transport
            if count == 2:
                assert bench.told[-1] == (["10.0.0.2:8000"], set())
            if count == 8:
                break
            match how:
                case "nonsense":
                    watch.write(b"4\r\n{{{\n\r\n")
                case "too long":
                    watch.write(b"500000\r\n" + b"x" * 0x500000 + b"\r\n")
                case "error":
                    watch.write(chunk(error))
                case _:
                    watch.abort()
            await until(lambda: len(bench.sleeps.asked_s) == count)  # noqa: B023
            await bench.sleeps.end()
        assert rests(bench) == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0]
        api.watches[-1].transport.write(b"0\r\n\r\n")
        await bench.sleeps.end()
        await until(lambda: len(api.watches) == 9)
        api.watches[-1].transport.abort()
        await bench.sleeps.end()
        assert rests(bench)[-2:] == [0.5, 0.5], "one has ended as it should in between"

    following(api, work)


def test_each_trouble_is_said_once() -> None:
    """And again after it had been well."""
    api = Api(403, 403, listed(piece("a", "10.0.0.1")), 403)

    async def work(bench: Bench) -> None:
        await bench.sleeps.end()
        await bench.sleeps.end()
        await until(lambda: len(api.watches) == 1)
        api.watches[0].transport.write(b"0\r\n\r\n")
        await bench.sleeps.end()
        await until(lambda: len(bench.said.lines) == 2)
        assert bench.said.events[0] == (
            "the API server says 403; let the service account list and watch endpointslices of "
            "discovery.k8s.io"
        )

    following(api, work)


def test_where_watching_is_not_allowed_it_asks_again_and_again() -> None:
    """At its interval."""
    api = Api(listed(piece("a", "10.0.0.1")), listed(piece("a", "10.0.0.2")))
    api.watch_status = 403

    async def work(bench: Bench) -> None:
        await bench.sleeps.end()
        assert bench.sleeps.asked_s[0] == 8.0
        await bench.sleeps.end()
        await bench.tells(2)
        assert bench.said.events[0] == "watching is not allowed; asking again and again instead"

    following(api, work)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (404, "the API server says 404; it needs discovery.k8s.io/v1, of Kubernetes 1.21 or later"),
        (500, "the API server says 500; asking again soon"),
        (b"<html>", "the API server cannot be asked: what was sent is no JSON"),
        (b"[" * 100_000, "the API server cannot be asked: what was sent is no JSON"),
        (b"[]", "the API server cannot be asked: what was sent is no list of endpoints"),
        (b'{"items": 3}', "the API server cannot be asked: what was sent is no list of endpoints"),
    ],
)
def test_other_answers_are_told(page: int | bytes, said: str) -> None:
    """And asked for again."""

    async def work(bench: Bench) -> None:
        await until(lambda: bool(bench.said.lines))
        assert bench.said.events == [said]
        assert bench.told == []

    following(Api(page), work)


def test_events_of_other_things_are_passed_over() -> None:
    """Whatever their form."""
    api = Api(listed(piece("a", "10.0.0.1")))

    async def work(bench: Bench) -> None:
        await until(lambda: len(api.watches) == 1)
        events: list[Any] = [3, [], {"type": 3}, {"type": "ADDED", "object": None}, {"type": "ODD"}]
        for event in events:
            api.watches[0].transport.write(chunk(event))
        api.watches[0].transport.write(chunk({"type": "DELETED", "object": piece("zz")}))
        api.watches[0].transport.write(chunk({"type": "DELETED", "object": piece("a")}))
        await bench.tells(2)
        assert bench.told[-1] == ([], set())

    following(api, work)


def test_the_token_is_read_for_each_request(tmp_path: Path) -> None:
    """It is renewed in its file every hour or so."""
    (tmp_path / "token").write_text("first\n")
    api = Api(listed())

    async def work(bench: Bench) -> None:
        await until(lambda: len(api.watches) == 1)
        (tmp_path / "token").write_text("second")
        api.watches[0].transport.write(b"0\r\n\r\n")
        await bench.sleeps.end()
        await until(lambda: len(api.watches) == 2)
        assert api.tokens == ["Bearer first"] * 2 + ["Bearer second"] * 2

    following(api, work, tmp_path)


def test_the_namespace_is_the_pods_own(tmp_path: Path) -> None:
    """Where none is given."""
    (tmp_path / "namespace").write_text("prod")

    async def work(bench: Bench) -> None:
        await bench.tells(1)

    following(Api(listed()), work, tmp_path, namespace=None)


def test_a_port_that_is_ambiguous_is_told() -> None:
    """And none is taken."""
    one = piece("a", "10.0.0.1")
    one["ports"].append({"name": "metrics", "port": 9000})

    async def work(bench: Bench) -> None:
        await bench.tells(1)
        assert bench.told == [([], set())]
        assert "name one of them with port" in bench.said.events[0]

    following(Api(listed(one)), work)


def made(environ: dict[str, str], account: Path = Path("/no/account"), **fields: Any) -> Any:
    """A finder in a pod with this environment."""
    return KubernetesFinder(
        KubernetesSource(service="vllm", **fields),
        tls=ssl.create_default_context(),
        rng=Random(1),
        logger=Said().logger,
        account=account,
        environ=environ,
    )


def test_a_pod_finds_the_api_server_by_its_environment() -> None:
    """Over TLS."""
    finder = made({"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"})
    assert finder._origin.url == "https://[fd00::1]"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"KUBERNETES_SERVICE_HOST": "h"},
        {"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "x"},
    ],
)
def test_outside_of_a_pod_the_api_server_must_be_named(environ: dict[str, str]) -> None:
    """The message says how."""
    with pytest.raises(UsageError, match="give the URL of the API server with --kubernetes-api"):
        made(environ)


def test_the_token_is_not_sent_in_the_clear(tmp_path: Path) -> None:
    """Over plain HTTP only to this machine, where a proxy of kubectl's may listen."""
    (tmp_path / "token").write_text("secret")
    assert made({}, tmp_path, api="http://10.0.0.1")._headers() == [("accept", "application/json")]
    for api in ("http://127.0.0.1:8001", "https://10.0.0.1"):
        assert ("authorization", "Bearer secret") in made({}, tmp_path, api=api)._headers()


def test_a_broken_authority_is_told(tmp_path: Path) -> None:
    """Before anything is trusted."""
    (tmp_path / "ca.crt").write_text("no certificate")
    with pytest.raises(UsageError, match=r"ca\.crt cannot be read: .*mount the service account"):
        made({}, tmp_path, api="https://10.0.0.1")
