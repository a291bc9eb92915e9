"""The gateway's own pages, and who may see them."""

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from stemcache.clock import ManualClock
from stemcache.gateway.deployment import Admin
from stemcache.gateway.engine_pages import ModelEntry, ModelPage
from stemcache.gateway.read_prompt import PromptReader
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.router import Router
from stemcache.gateway.settings import ApiKey, GatewaySettings
from stemcache.server.gateway.pages import Page, Pages

HERE = [(b"Host", b"127.0.0.1:8080")]
BODY = {"model": "m", "messages": [{"role": "user", "content": "a secret of the user's " * 40}]}


class Bench:
    """Pages in front of a router with replicas a and b."""

    def __init__(self, *, loopback: bool = True, admin: Admin | None = None, **fields: Any) -> None:
        replicas = (
            ReplicaSpec(name="a", url="http://a:1"),
            ReplicaSpec(name="b", url="http://b:1"),
        )
        self.settings = GatewaySettings(replicas=replicas, **fields)
        self.router = Router(self.settings, rng=Random(1))
        self.router.configure(self.settings, replicas)
        self.models: dict[str, ModelPage] = {}
        self.reader = PromptReader(session_headers=self.settings.session_headers)
        self.pages = Pages(
            self.router,
            self.reader,
            models=self.models.get,
            metrics=lambda: b"stemcache_route_retries_total 0.0\n",
            clock=ManualClock(100.0),
            loopback=loopback,
        )
        self.pages.configure(admin or Admin(), self.settings, self.reader)

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: list[tuple[bytes, bytes]] | None = None,
        body: Any = b"",
    ) -> Page:
        page = self.pages.answer(
            method,
            path,
            HERE if headers is None else headers,
            body if isinstance(body, bytes) else json.dumps(body).encode(),
        )
        assert page is not None, f"{path} is a page of ours"
        return page

    def json(self, path: str, **how: Any) -> Any:
        page = self.ask(path, **how)
        assert page.content_type == "application/json"
        return json.loads(page.body)

    def code(self, path: str, **how: Any) -> tuple[int, str]:
        """Status and code of a refusal."""
        page = self.ask(path, **how)
        return page.status, json.loads(page.body)["error"]["code"]


def bearer(key: bytes) -> list[tuple[bytes, bytes]]:
    """A request's headers with a key."""
    return [(b"host", b"gateway.example"), (b"Authorization", b"Bearer " + key)]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/chat/completions"),
        ("GET", "/"),
        ("GET", "/v1/fleets"),
        ("GET", "/healthz"),
        ("POST", "/v1/models"),
        ("DELETE", "/v1/models/m"),
        ("GET", "/v1/modelsx"),
    ],
)
def test_other_paths_are_relayed(method: str, path: str) -> None:
    """They are not ours."""
    assert Bench().pages.answer(method, path, HERE, b"{}") is None


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/health"),
        ("PUT", "/metrics"),
        ("POST", "/v1/fleet"),
        ("GET", "/v1/fleet/drain?replica=a"),
        ("GET", "/v1/route/explain"),
    ],
)
def test_our_pages_with_another_method_are_refused(method: str, path: str) -> None:
    """And not relayed to a replica that might understand them."""
    assert Bench().code(path, method=method) == (405, "method_not_allowed")


# --- health ------------------------------------------------------------------------------------


def test_health_is_well_while_a_replica_can_be_sent_to() -> None:
    """One is enough."""
    bench = Bench()
    assert bench.ask("/health").status == 200
    assert bench.json("/health") == {"status": "ok", "replicas": 2, "up": 2}
    bench.router.checked("a", ok=False, detail="refused", now_s=100.0)
    assert bench.json("/health") == {"status": "ok", "replicas": 2, "up": 1}


def test_health_is_not_without_a_replica() -> None:
    """Down or drained alike."""
    bench = Bench()
    bench.router.checked("a", ok=False, detail="refused", now_s=100.0)
    bench.router.drain("b", on=True)
    assert bench.ask("/health").status == 503
    assert bench.json("/health") == {"status": "no-replica", "replicas": 2, "up": 0}


def test_health_says_when_requests_go_to_who_has_failed() -> None:
    """They are sent all the same, so it is no reason to take the gateway out."""
    bench = Bench()
    chosen = []
    for member in bench.router.members:
        for _ in range(5):
            member.breaker.failed(100.0)
        chosen.append(str(member.breaker.state(100.0)))
    assert chosen == ["open", "open"]
    assert bench.ask("/health").status == 200
    assert bench.json("/health") == {"status": "degraded", "replicas": 2, "up": 0}
    bench.router.members[0].breaker.reset()
    assert bench.json("/health") == {"status": "ok", "replicas": 2, "up": 1}


def test_health_is_not_while_draining() -> None:
    """So that a balancer in front sends nothing new."""
    bench = Bench()
    bench.pages.draining = True
    assert bench.ask("/health").status == 503
    assert bench.json("/health")["status"] == "draining"


def test_health_is_for_all() -> None:
    """Who checks it has no key."""
    bench = Bench(loopback=False, api_keys=(ApiKey(key="k", tenant="t"),))
    assert bench.ask("/health", headers=[]).status == 200
    assert bench.ask("/health", headers=[], method="HEAD").status == 200


# --- models ------------------------------------------------------------------------------------


def told(*entries: ModelEntry) -> ModelPage:
    """What a replica serves."""
    return ModelPage(entries, None)


def test_models_of_all_replicas_are_listed_once() -> None:
    """In a shape that both kinds of clients read."""
    bench = Bench()
    bench.models["a"] = told(ModelEntry("m", None, 4096, 12), ModelEntry("lora", "m", None, None))
    bench.models["b"] = told(ModelEntry("m", None, 8192, 13), ModelEntry("n", None, None, None))
    answer = bench.json("/v1/models")
    assert [(card["id"], card["parent"]) for card in answer["data"]] == [
        ("m", None),
        ("lora", "m"),
        ("n", None),
    ]
    assert answer["object"] == "list"
    assert answer["has_more"] is False
    assert answer["data"][0] == {
        "id": "m",
        "object": "model",
        "created": 12,
        "owned_by": "stemcache",
        "parent": None,
        "max_model_len": 4096,
        "type": "model",
        "display_name": "m",
    }


def test_models_of_replicas_that_are_down_are_not_listed() -> None:
    """Nobody could be sent to."""
    bench = Bench()
    bench.models["a"] = told(ModelEntry("m", None, None, None))
    bench.router.checked("a", ok=False, detail="refused", now_s=100.0)
    assert bench.json("/v1/models")["data"] == []


def test_configured_models_are_listed_alone() -> None:
    """What a replica says beside them is not for clients."""
    bench = Bench()
    specs = [ReplicaSpec(name="a", url="http://a:1", models=("m", "x"))]
    bench.router.configure(bench.settings, specs)
    bench.models["a"] = told(ModelEntry("m", None, 4096, 12), ModelEntry("hidden", None, 1, 1))
    answer = bench.json("/v1/models")
    assert [(card["id"], card["max_model_len"]) for card in answer["data"]] == [
        ("m", 4096),
        ("x", None),
    ]


@pytest.mark.parametrize("path", ["/v1/models/Qwen/Qwen3-8B", "/v1/models/Qwen%2FQwen3-8B"])
def test_one_model_can_be_asked_for(path: str) -> None:
    """Its name may have slashes."""
    bench = Bench()
    bench.models["a"] = told(ModelEntry("Qwen/Qwen3-8B", None, None, None))
    assert bench.json(path)["id"] == "Qwen/Qwen3-8B"
    assert bench.code("/v1/models/other") == (404, "model_not_found")


def test_models_are_for_clients() -> None:
    """Who have keys, and for admins."""
    admin = Admin(keys=("adm",))
    bench = Bench(loopback=False, admin=admin, api_keys=(ApiKey(key="k", tenant="t"),))
    assert bench.code("/v1/models", headers=[]) == (401, "invalid_api_key")
    assert bench.code("/v1/models", headers=bearer(b"x")) == (401, "invalid_api_key")
    assert bench.ask("/v1/models", headers=bearer(b"k")).status == 200
    assert bench.ask("/v1/models", headers=[(b"x-api-key", b"k")]).status == 200
    assert bench.ask("/v1/models", headers=bearer(b"adm")).status == 200
    assert Bench(loopback=False).ask("/v1/models", headers=[]).status == 200


# --- fleet, drain, metrics ---------------------------------------------------------------------


def test_the_fleet_is_shown() -> None:
    """As the router has it."""
    answer = Bench().json("/v1/fleet")
    assert [replica["name"] for replica in answer["replicas"]] == ["a", "b"]


def test_a_replica_is_drained_and_put_back() -> None:
    """Nothing new goes there meanwhile."""
    bench = Bench()
    assert bench.json("/v1/fleet/drain?replica=a&on=true", method="POST") == {
        "replica": "a",
        "draining": True,
        "in_flight": 0,
    }
    assert bench.json("/v1/fleet")["replicas"][0]["state"] == "draining"
    assert not bench.json("/v1/fleet/drain?replica=a&on=false", method="POST")["draining"]
    assert bench.json("/v1/fleet")["replicas"][0]["state"] == "up"
    assert bench.json("/v1/fleet/drain?replica=b", method="POST")["draining"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", (400, "bad_query")),
        ("?on=true", (400, "bad_query")),
        ("?replica=", (400, "bad_query")),
        ("?replica=a&on=yes", (400, "bad_query")),
        ("?replica=a&of=true", (400, "bad_query")),
        ("?replica=a&replica=b", (400, "bad_query")),
        ("?replica=c", (404, "no_such_replica")),
        ("?" + "x=1&" * 1000, (400, "bad_query")),
        ("?replica=%ff%00", (404, "no_such_replica")),
    ],
)
def test_who_is_to_be_drained_must_be_clear(query: str, code: tuple[int, str]) -> None:
    """A slip of the pen drains nobody."""
    bench = Bench()
    assert bench.code("/v1/fleet/drain" + query, method="POST") == code
    assert bench.json("/health")["up"] == 2


def test_metrics_are_for_prometheus() -> None:
    """In its format."""
    page = Bench().ask("/metrics")
    assert page.content_type.startswith("text/plain; version=0.0.4")
    assert page.body.startswith(b"stemcache_route_retries_total")


# --- explain -----------------------------------------------------------------------------------


def test_a_body_is_explained_and_not_sent() -> None:
    """Where it would go, what was seen, and nothing of its text."""
    bench = Bench()
    page = bench.ask("/v1/route/explain", method="POST", body=BODY)
    answer = json.loads(page.body)
    assert answer["decision"]["replica"] in ("a", "b")
    assert [seat["replica"] for seat in answer["seats"]] == ["a", "b"]
    assert answer["model"] == "m"
    assert b"secret" not in page.body
    assert bench.json("/v1/fleet")["replicas"][0]["seats"][0]["requests"] == {}


def test_who_could_not_be_chosen_is_said() -> None:
    """With why."""
    bench = Bench()
    bench.router.drain("a", on=True)
    answer = bench.json("/v1/route/explain", method="POST", body=BODY)
    assert answer["left_out"] == {"a": "draining"}
    bench.router.drain("b", on=True)
    assert bench.json("/v1/route/explain", method="POST", body=BODY)["decision"] is None


def test_the_path_says_which_api_the_body_is_of() -> None:
    """Chat by default."""
    bench = Bench()
    body = {"model": "m", "prompt": "x" * 2000}
    for path in ("/v1/completions", "%2Fv1%2Fcompletions"):
        answer = bench.json(f"/v1/route/explain?path={path}", method="POST", body=body)
        assert answer["unread"] is None
        assert answer["decision"]["prompt_tokens"] > 100


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000, b'{"messages": 3}', b"3"])
def test_a_body_of_nonsense_is_explained_too(body: bytes) -> None:
    """It would be sent all the same; a replica refuses it."""
    answer = Bench().json("/v1/route/explain", method="POST", body=body)
    assert answer["decision"] is not None


def test_nothing_cannot_be_explained() -> None:
    """The body is what is asked about."""
    assert Bench().code("/v1/route/explain", method="POST") == (400, "no_body")


def test_a_tenants_request_is_explained_with_its_salt() -> None:
    """Another's cache is not counted for it."""
    admin = Admin(keys=("adm",))
    keys = (ApiKey(key="k", tenant="t"), ApiKey(key="l", tenant="u"))
    bench = Bench(admin=admin, api_keys=keys)
    salted: list[tuple[str | None, str | None]] = []

    class Reader:
        def read(self, *arguments: Any, tenant: str | None, salt: str | None) -> Any:
            salted.append((tenant, salt))
            return bench.reader.read(*arguments, tenant=tenant, salt=salt)

    bench.pages.configure(admin, bench.settings, Reader())
    for query in ("", "?tenant=t", "?tenant=u"):
        path = "/v1/route/explain" + query
        assert bench.ask(path, method="POST", body=BODY, headers=bearer(b"adm")).status == 200
    assert [tenant for tenant, _ in salted] == [None, "t", "u"]
    assert len({salt for _, salt in salted}) == 3
    path = "/v1/route/explain?tenant=v"
    assert bench.code(path, method="POST", body=BODY, headers=bearer(b"adm")) == (
        404,
        "no_such_tenant",
    )


def test_a_path_that_no_replica_gets_is_not_explained() -> None:
    """Nor one of those that tenants cannot use."""
    ask = "/v1/route/explain?path="
    bench = Bench(admin=Admin(keys=("adm",)), api_keys=(ApiKey(key="k", tenant="t"),))
    for path in ("/flush_cache", "v1/messages", "/v1/load_lora_adapter", "%00"):
        assert Bench().code(ask + path, method="POST", body=BODY) == (400, "not_relayed")
    assert Bench().ask(ask + "/generate", method="POST", body=BODY).status == 200
    refused = bench.code(ask + "/generate", method="POST", body=BODY, headers=bearer(b"adm"))
    assert refused == (400, "not_relayed")


def test_an_explanation_says_for_whom_it_is() -> None:
    """For no tenant is not for all of them."""
    how: Any = {"method": "POST", "body": BODY, "headers": bearer(b"adm")}
    bench = Bench(admin=Admin(keys=("adm",)), api_keys=(ApiKey(key="k", tenant="t"),))
    answer = bench.json("/v1/route/explain", **how)
    assert (answer["tenant"], answer["tenants"]) == (None, True)
    answer = bench.json("/v1/route/explain?tenant=t", **how)
    assert (answer["tenant"], answer["tenants"]) == ("t", True)
    answer = Bench().json("/v1/route/explain", method="POST", body=BODY)
    assert (answer["tenant"], answer["tenants"]) == (None, False)


# --- who may -----------------------------------------------------------------------------------

CLOSED = ["/v1/fleet", "/metrics"]


@pytest.mark.parametrize("path", CLOSED)
def test_on_this_machine_alone_the_pages_are_open(path: str) -> None:
    """By whatever name it has for itself."""
    for host in (b"127.0.0.1:8080", b"localhost", b"LOCALHOST:9", b"[::1]:8080"):
        assert Bench().ask(path, headers=[(b"host", host)]).status == 200


@pytest.mark.parametrize("path", CLOSED)
def test_pages_in_a_browser_cannot_reach_them(path: str) -> None:
    """Neither by a name that is turned to this machine nor by a form that is posted there."""
    for headers in (
        [(b"host", b"evil.example:8080")],
        [(b"host", b"localhost.evil.example")],
        [*HERE, (b"Origin", b"https://evil.example")],
        [*HERE, (b"origin", b"null")],
    ):
        assert Bench().code(path, headers=headers) == (403, "admin_closed")


@pytest.mark.parametrize(
    "header", [b"Forwarded", b"Via", b"X-Real-IP", b"X-Forwarded-For", b"x-forwarded-proto"]
)
@pytest.mark.parametrize("path", CLOSED)
def test_what_a_proxy_passes_on_cannot_reach_them(path: str, header: bytes) -> None:
    """It asks from this machine, for somebody who may be anywhere; with a key it may."""
    headers = [*HERE, (header, b"for=10.0.0.9")]
    assert Bench().code(path, headers=headers) == (403, "admin_closed")
    keyed = Bench(admin=Admin(keys=("adm",)))
    assert keyed.ask(path, headers=[*headers, *bearer(b"adm")]).status == 200


@pytest.mark.parametrize("path", CLOSED)
def test_where_others_can_reach_it_they_are_closed_without_a_key(path: str) -> None:
    """And where clients have keys: somebody is kept out."""
    assert Bench(loopback=False).code(path) == (403, "admin_closed")
    assert Bench(api_keys=(ApiKey(key="k", tenant="t"),)).code(path) == (403, "admin_closed")


@pytest.mark.parametrize("path", CLOSED)
def test_an_admins_key_opens_them_from_anywhere(path: str) -> None:
    """Nobody else's does."""
    admin = Admin(keys=("adm", "adm2"))
    bench = Bench(loopback=False, admin=admin, api_keys=(ApiKey(key="k", tenant="t"),))
    for key in (b"adm", b"adm2"):
        assert bench.ask(path, headers=bearer(key)).status == 200
        assert bench.ask(path, headers=[(b"X-API-Key", key)]).status == 200
    for headers in (HERE, [], bearer(b"k"), bearer(b"ad"), bearer(b"adm3"), bearer(b"")):
        assert bench.code(path, headers=headers) == (401, "invalid_api_key")


def test_with_an_admins_key_this_machine_needs_it_too() -> None:
    """Whoever sets one means it."""
    assert Bench(admin=Admin(keys=("adm",))).code("/v1/fleet") == (401, "invalid_api_key")


def test_metrics_can_be_opened_to_all() -> None:
    """And nothing else with them."""
    bench = Bench(loopback=False, admin=Admin(open_metrics=True))
    assert bench.ask("/metrics", headers=[]).status == 200
    assert bench.code("/v1/fleet", headers=[]) == (403, "admin_closed")


def test_keys_change_by_a_reload() -> None:
    """At once, for requests from then on."""
    bench = Bench(loopback=False, admin=Admin(keys=("old",)))
    bench.pages.configure(Admin(keys=("new",)), bench.settings, bench.reader)
    assert bench.ask("/v1/fleet", headers=bearer(b"new")).status == 200
    assert bench.ask("/v1/fleet", headers=bearer(b"old")).status == 401
    keyed = replace(bench.settings, api_keys=(ApiKey(key="k", tenant="t"),))
    bench.pages.configure(Admin(), keyed, bench.reader)
    assert bench.ask("/v1/models", headers=[]).status == 401


def test_no_answer_repeats_a_key() -> None:
    """Not a wrong one either: it may be another's right one."""
    bench = Bench(loopback=False, admin=Admin(keys=("adm",)))
    for path in (*CLOSED, "/v1/models"):
        page = bench.ask(path, headers=bearer(b"hunter2"))
        assert b"hunter2" not in page.body
        assert b'adm"' not in page.body
