"""Whether a replica's address is the gateway's own."""

import pytest

from stemcache.errors import UsageError
from stemcache.gateway.deployment import Listen
from stemcache.gateway.own_address import check_own_address
from stemcache.gateway.replica import ReplicaSpec


def spec(url: str) -> ReplicaSpec:
    """A replica there."""
    return ReplicaSpec(name="self", url=url)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080"),
        ("127.0.0.1", "http://localhost:8080/base"),
        ("localhost", "http://127.0.0.1:8080"),
        ("LOCALHOST", "http://localhost:8080"),
        ("::1", "http://[::1]:8080"),
        ("0.0.0.0", "http://localhost:8080"),  # compared, not bound to
        ("0.0.0.0", "http://127.3.2.1:8080"),
        ("::", "http://[::1]:8080"),
        ("127.0.0.1", "http://0.0.0.0:8080"),
        ("10.0.0.9", "https://10.0.0.9:8080"),
        ("gate.example", "http://gate.example:8080"),
    ],
)
def test_a_replica_at_the_gateway_s_own_address_is_refused(host: str, url: str) -> None:
    """It says which, and what to do."""
    with pytest.raises(UsageError) as caught:
        check_own_address(Listen(host=host, port=8080), [spec("http://10.0.0.1:1"), spec(url)])
    assert str(caught.value) == (
        "replica 'self' has the address that this gateway listens on, port 8080, so that it would "
        "ask itself; leave it out, or give another --port"
    )


@pytest.mark.parametrize(
    ("host", "port", "url"),
    [
        ("127.0.0.1", 8080, "http://127.0.0.1:8081"),
        ("127.0.0.1", 8080, "http://127.0.0.2:8080"),
        ("127.0.0.1", 8080, "http://10.0.0.1:8080"),
        ("0.0.0.0", 8080, "http://10.0.0.1:8080"),
        ("10.0.0.9", 8080, "http://127.0.0.1:8080"),
        ("127.0.0.1", 0, "http://127.0.0.1:8080"),
    ],
)
def test_another_address_is_another_server(host: str, port: int, url: str) -> None:
    """Also one of which that cannot be told by its name: such requests are found when they come."""
    check_own_address(Listen(host=host, port=port), [spec(url)])


def test_a_url_without_a_port_has_its_scheme_s() -> None:
    """As browsers have it."""
    with pytest.raises(UsageError, match="port 443"):
        check_own_address(Listen(host="localhost", port=443), [spec("https://localhost")])
    with pytest.raises(UsageError, match="port 80"):
        check_own_address(Listen(host="localhost", port=80), [spec("http://localhost")])
