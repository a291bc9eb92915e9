"""Flags of `stemcache route` laid over a file."""

import pytest

from stemcache.cli.route_flags import Flags, lay_over
from stemcache.errors import UsageError
from stemcache.gateway.deployment import (
    Admin,
    Configuration,
    DnsSource,
    KubernetesSource,
    Listen,
    LocalReplicas,
    Template,
)
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.settings import Agree, ApiKey, GatewaySettings, Limits

A = ReplicaSpec(name="a", url="http://a:8000")
B = ReplicaSpec(name="b", url="http://[::1]:8000")
WRITTEN = Configuration(settings=GatewaySettings(replicas=(A, B), tokenizer="t"))


def replicas(**flags: object) -> tuple[ReplicaSpec, ...]:
    """Those of the file with a and b, and these flags."""
    return lay_over(WRITTEN, Flags(**flags)).settings.replicas  # type: ignore[arg-type]


def fails(written: Configuration = WRITTEN, **flags: object) -> str:
    """What is said of flags that cannot be."""
    with pytest.raises(UsageError) as raised:
        lay_over(written, Flags(**flags))  # type: ignore[arg-type]
    return str(raised.value)


def test_no_flags_change_nothing() -> None:
    """The file stands as it is."""
    assert lay_over(WRITTEN, Flags()) == WRITTEN


def test_replicas_of_flags_come_beside_those_of_the_file() -> None:
    """Of two with one name the flag's is taken."""
    found = replicas(replicas=("http://c:1", "a=http://elsewhere:1"))
    assert found == (
        B,
        ReplicaSpec(name="c:1", url="http://c:1"),
        ReplicaSpec(name="a", url="http://elsewhere:1"),
    )


def test_a_flag_wins() -> None:
    """Over what the file says of the same."""
    written = Configuration(
        settings=GatewaySettings(replicas=(A,), policy="random", gateways=2, agree=Agree.HASH),
        listen=Listen(host="0.0.0.0", port=1),
        admin=Admin(keys=("old",)),
        ca_file="old.pem",
    )
    flags = Flags(
        settings={"policy": "session", "mirror_bytes": 2**30},
        limits={"body_bytes": 5, "per_replica": 7},
        listen={"port": 9, "grace_s": 1.0},
        api_keys=(ApiKey(key="k", tenant="t"),),
        admin_keys=("new",),
        open_metrics=True,
        ca_file="new.pem",
    )
    assert lay_over(written, flags) == Configuration(
        settings=GatewaySettings(
            replicas=(A,),
            policy="session",
            gateways=2,
            agree=Agree.HASH,
            mirror_bytes=2**30,
            limits=Limits(body_bytes=5, per_replica=7),
            api_keys=(ApiKey(key="k", tenant="t"),),
        ),
        listen=Listen(host="0.0.0.0", port=9, grace_s=1.0),
        admin=Admin(keys=("new",), open_metrics=True),
        ca_file="new.pem",
    )


def test_a_port_of_events_is_each_replicas_own() -> None:
    """At its host."""
    found = replicas(events=("5557",), replay=("5558",))
    assert [(spec.events, spec.replay) for spec in found] == [
        ("tcp://a:5557", "tcp://a:5558"),
        ("tcp://[::1]:5557", "tcp://[::1]:5558"),
    ]


def test_one_replicas_events_may_be_elsewhere() -> None:
    """Later flags win over earlier ones."""
    found = replicas(events=("5557", "b=tcp://proxy:6000"))
    assert [spec.events for spec in found] == ["tcp://a:5557", "tcp://proxy:6000"]


def test_events_of_the_only_replica_need_no_name() -> None:
    """There is nobody else."""
    written = Configuration(settings=GatewaySettings(replicas=(A,)))
    flags = Flags(events=("tcp://proxy:6000",))
    assert lay_over(written, flags).settings.replicas[0].events == "tcp://proxy:6000"


def test_replicas_can_be_found() -> None:
    """In DNS and in Kubernetes; events are said once of all."""
    flags = Flags(
        dns=("vllm.svc:8000", "[fd00::1]:9"),
        kubernetes=("prod/vllm:http", "llama"),
        kubernetes_api="http://127.0.0.1:8001",
        events=("5557",),
    )
    template = Template(events_port=5557)
    api = "http://127.0.0.1:8001"
    assert lay_over(Configuration(), flags).sources == (
        DnsSource(host="vllm.svc", port=8000, template=template),
        DnsSource(host="fd00::1", port=9, template=template),
        KubernetesSource(service="vllm", namespace="prod", port="http", api=api, template=template),
        KubernetesSource(service="llama", api=api, template=template),
    )


def test_local_replicas_can_be_asked_for() -> None:
    """With a model of theirs."""
    flags = Flags(local=3, local_model="./qwen")
    assert lay_over(Configuration(), flags).local == LocalReplicas(replicas=3, model="./qwen")


def test_a_redis_means_that_gateways_agree_through_it() -> None:
    """Which need not be said twice."""
    found = lay_over(WRITTEN, Flags(redis="redis://h", settings={"gateways": 2}))
    assert (found.settings.agree, found.redis, found.settings.gateways) == (
        Agree.REDIS,
        "redis://h",
        2,
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"replicas": ("ftp://c",)}, "--replica ftp://c has scheme 'ftp'"),
        ({"replicas": ("c:1", "http://c:1")}, "two replicas from --replica are called 'c:1'"),
        ({"kubernetes_api": "http://h"}, "--kubernetes-api needs --kubernetes SERVICE beside it"),
        ({"local_model": "x"}, "--model is of replicas that --local starts; give --local N"),
        ({"agree": Agree.REDIS}, "--agree redis needs --redis URL, such as redis://127.0.0.1:6379"),
        (
            {"agree": Agree.HASH, "redis": "redis://:hunter2@h"},
            "--redis is for --agree redis, and --agree is hash; leave one out",
        ),
        (
            {"agree": Agree.HASH},
            "--agree is hash, and --gateways is 1; add --gateways 2, or as many as there are",
        ),
        (
            {"redis": "redis://:hunter2@h:6379/prod"},
            "--redis has a path that is no number of a database; use redis://host:6379/0",
        ),
        ({"redis": "redis://:hunter2@[h/0"}, "--redis is no URL of a Redis; use redis://host"),
        (
            {"replicas": ("c=http://a:8000/v1",)},
            "two replicas from --config and --replica, 'a' and 'c', have one address; leave one",
        ),
        (
            {"replicas": ("c=http://h:1", "d=h:1")},
            "two replicas from --replica, 'c' and 'd', have one address; leave one out",
        ),
        (
            {"api_keys": (ApiKey(key="hunter2", tenant="acme"),), "admin_keys": ("x", "hunter2")},
            "a key of the tenant 'acme' is an admin's key too; give admins keys of their own",
        ),
        ({"settings": {"gateways": 2}}, "--gateways is 2, and --agree is alone; say how they"),
        ({"listen": {"tls_cert": "c"}}, "TLS needs a certificate and its key; give --tls-key too"),
        ({"listen": {"tls_key": "c"}}, "TLS needs a certificate and its key; give --tls-cert too"),
        ({"dns": ("vllm",)}, "--dns vllm is not HOST:PORT; such as vllm.default.svc:8000"),
        ({"dns": ("vllm:http",)}, "--dns vllm:http is not HOST:PORT"),
        ({"dns": ("http://vllm:80",)}, "--dns http://vllm:80 is not HOST:PORT"),
        ({"dns": ("vllm:70000",)}, "--dns has the port 70000; use one from 1 to 65535"),
        ({"dns": ("vllm:" + "9" * 5000,)}, "--dns has the port 99999999999999999999; use one"),
        ({"kubernetes": ("",)}, "--kubernetes  is not [NAMESPACE/]SERVICE[:PORT]"),
        ({"kubernetes": ("/vllm",)}, "--kubernetes /vllm is not [NAMESPACE/]SERVICE[:PORT]"),
        ({"kubernetes": ("vllm:",)}, "--kubernetes vllm: is not [NAMESPACE/]SERVICE[:PORT]"),
        ({"kubernetes": ("a/b/c",)}, "--kubernetes a/b/c is not [NAMESPACE/]SERVICE[:PORT]"),
        ({"kubernetes": ("a//c",)}, "--kubernetes a//c is not [NAMESPACE/]SERVICE[:PORT]"),
        ({"kubernetes": ("Prod/vllm",)}, "--kubernetes Prod/vllm has the namespace 'Prod', and in"),
        ({"kubernetes": ("vllm:a:b",)}, "--kubernetes vllm:a:b has the port 'a:b', and in Kubern"),
        (
            {"dns": ("${H}:80",)},
            "the host of --dns ${H}:80 is no name of a host; give one that can",
        ),
        ({"dns": ("a:b:80",)}, "the host of --dns a:b:80 is no name of a host"),
        ({"events": ("0",)}, "--events has the port 0; use one from 1 to 65535"),
        ({"events": ("tcp://h:1",)}, "--events tcp://h:1 does not say of which replica; use"),
        ({"events": ("c=tcp://h:1",)}, "--events names the replica 'c', and there are: a, b"),
        ({"events": ("a=h:1",)}, "--events is no endpoint of ZeroMQ"),
        ({"replay": ("5558",)}, "replica a has --events-replay and no --events; give --events too"),
    ],
)
def test_what_cannot_be_is_told(flags: dict[str, object], message: str) -> None:
    """With the flag, and what to do."""
    said = fails(WRITTEN, **flags)
    assert message in said
    assert "hunter2" not in said


def test_a_gateway_without_replicas_is_told() -> None:
    """With all the ways to have some."""
    said = fails(Configuration())
    assert said.startswith("there are no replicas; give --replica URL (several times), --local N")


def test_a_password_in_a_url_is_not_shown() -> None:
    """Where the URL is refused."""
    assert "hunter2" not in fails(replicas=("http://me:hunter2@h",))
    assert "hunter2" not in repr(Flags(redis="redis://:hunter2@h", admin_keys=("hunter2",)))
