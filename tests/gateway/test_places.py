"""Addresses of replicas and of their events."""

import pytest

from stemcache.errors import UsageError
from stemcache.gateway.places import (
    check_endpoint,
    check_host,
    check_redis,
    check_service,
    host_of,
    named_replica,
    replica_at,
)
from stemcache.gateway.replica import ReplicaSpec


@pytest.mark.parametrize(
    ("given", "name", "url"),
    [
        ("http://10.0.0.1:8000", "10.0.0.1:8000", "http://10.0.0.1:8000"),
        ("10.0.0.1:8000", "10.0.0.1:8000", "http://10.0.0.1:8000"),
        ("http://vllm", "vllm:80", "http://vllm"),
        ("https://vllm", "vllm:443", "https://vllm"),
        ("http://VLLM:80/", "vllm:80", "http://vllm"),
        ("http://h:8000/v1", "h:8000", "http://h:8000"),
        ("http://h:8000/v1/", "h:8000", "http://h:8000"),
        ("http://h:8000/a/b/", "h:8000/a/b", "http://h:8000/a/b"),
        ("http://h/a/v1", "h:80/a", "http://h/a"),
        ("http://[::1]:8000", "[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_a_url_is_a_replica(given: str, name: str, url: str) -> None:
    """Different spellings of one address have one name."""
    assert replica_at(given, "--replica") == ReplicaSpec(name=name, url=url)


def test_a_name_may_come_before_it() -> None:
    """And then it is the name."""
    assert named_replica("a=http://h:1", "--replica") == ReplicaSpec(name="a", url="http://h:1")
    assert named_replica("h:1", "--replica").name == "h:1"
    assert replica_at('h:1/a"b', "--replica", name="x").name == "x"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "has scheme 'http' and host ''"),
        ("ftp://h", "--replica has scheme 'ftp' and host 'h'"),
        ("http://", "--replica has scheme 'http' and host ''"),
        ("http://me:hunter2@h", "--replica holds a user name"),
        ("http://h?key=hunter2", "--replica has a query or a fragment"),
        ("http://h#hunter2", "--replica has a query or a fragment"),
        ("http://h:0", "--replica has port 0"),
        (
            "http://${H}",
            "--replica has the host '${h}', which no server has; write its name or its",
        ),
        ("$(hostname):80", "--replica has the host '$(hostname)', which no server has"),
        ("http://h:99999", "--replica is no URL"),
        ("http://h:x", "--replica is no URL"),
        ("http://[::1", "--replica is no URL"),
        ("http://hö", "--replica has characters that no URL has"),
        ("http://h\r\nx: y", "--replica has characters that no URL has"),
        ("http://h/" + "a" * 3000, "--replica has characters that no URL has"),
        ("=http://h", "--replica has no usable name before its '='"),
        ("ä=http://h", "--replica has no usable name before its '='"),
        ("a#0=http://h", "use NAME=URL with a name of letters, digits and signs, but no blank"),
        ('a"=http://h', "--replica has no usable name before its '='"),
        ("a b=http://h", "--replica has no usable name before its '='"),
        ("a\t=http://h", "--replica has no usable name before its '='"),
        ('http://h/a"b', "--replica is also the replica's name, and no name has that"),
        ("http://h/" + "a" * 300, "--replica is also the replica's name, and no name has that"),
    ],
)
def test_what_is_no_address_is_told(given: str, message: str) -> None:
    """Without a password that may be in it."""
    with pytest.raises(UsageError) as raised:
        named_replica(given, "--replica")
    assert message in str(raised.value)
    assert "hunter2" not in str(raised.value)


def test_the_host_is_for_endpoints_beside_it() -> None:
    """In brackets where those need them."""
    assert host_of("http://h:8000/a") == "h"
    assert host_of("http://[::1]:8000") == "[::1]"


@pytest.mark.parametrize("endpoint", ["tcp://h:5557", "tcp://[::1]:5557", "ipc:///run/kv"])
def test_endpoints_can_be_connected_to(endpoint: str) -> None:
    """They are taken as they are."""
    assert check_endpoint(endpoint, "--events") == endpoint


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "5557",
        "h:5557",
        "tcp://h",
        "tcp://*:5557",
        "tcp://:1",
        "http://h:1",
        "tcp://h:1/x",
        "ipc://",
        "tcp://h:99999",
        "tcp://h :1",
        "tcp://[::1",
        "tcp://${H}:1",
        "tcp://h:1\n",
    ],
)
def test_other_endpoints_are_refused(endpoint: str) -> None:
    """What an engine binds to is not what one connects to."""
    with pytest.raises(UsageError, match="--events is no endpoint of ZeroMQ"):
        check_endpoint(endpoint, "--events")


def test_a_host_can_be_looked_up() -> None:
    """Or it is told that it cannot."""
    for host in ("vllm.default.svc", "10.0.0.1", "fd00::1"):
        assert check_host(host, "dns") == host
    for host in ("${H}", "http://h", "a b", ""):
        with pytest.raises(
            UsageError, match=r"^dns is no name of a host; give one that can be look"
        ):
            check_host(host, "dns")


@pytest.mark.parametrize("port", [None, "http", "http-2", "80", "65535"])
@pytest.mark.parametrize("namespace", [None, "prod", "0-a"])
def test_a_service_has_names_as_kubernetes_has_them(
    namespace: str | None, port: str | None
) -> None:
    """Whether they are there is seen later."""
    check_service("x", service="vllm-a1", namespace=namespace, port=port)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"service": "a/b"},
            "x has the service 'a/b', and in Kubernetes none is called that; give",
        ),
        ({"service": "Vllm"}, "x has the service 'Vllm'"),
        ({"service": "vllm.prod"}, "x has the service 'vllm.prod'"),
        ({"service": "-a"}, "x has the service '-a'"),
        ({"service": "a" * 64}, "x has the service 'aaa"),
        ({"namespace": "a/b"}, "x has the namespace 'a/b'"),
        ({"namespace": ""}, "x has the namespace ''"),
        ({"namespace": "\u00e9\n"}, r"x has the namespace '\xe9\n'"),
        (
            {"port": "0"},
            "x has the port '0', and in Kubernetes none is called that; give lower-case",
        ),
        ({"port": "70000"}, "letters, digits and hyphens, or a number up to 65535"),
        ({"port": "1" * 5000}, "x has the port '111"),
        ({"port": "ht:tp"}, "x has the port 'ht:tp'"),
    ],
)
def test_a_service_that_there_cannot_be_is_told(fields: dict[str, str], said: str) -> None:
    """It would be asked for and asked for, and never found."""
    given: dict[str, str | None] = {"namespace": None, "port": None, **fields}
    with pytest.raises(UsageError) as raised:
        check_service("x", service=given.pop("service", None) or "vllm", **given)
    assert said in str(raised.value)


def test_a_redis_whose_host_is_none_is_told() -> None:
    """Without the password beside it."""
    check_redis("redis://:hunter2@h:6379/0")
    check_redis("redis://[::1]:6379/0")
    with pytest.raises(UsageError, match="--redis has a host that no server has") as raised:
        check_redis("redis://:hunter2@${REDIS}:6379/0")
    assert "hunter2" not in str(raised.value)
