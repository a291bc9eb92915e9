"""What is said once of all replicas that a source finds."""

import pytest

from stemcache.gateway.deployment import Listen, Template
from stemcache.gateway.replica import Engine, ReplicaSpec


def test_a_template_makes_a_replica_of_an_address() -> None:
    """Its name is the address; its events are at the same host."""
    template = Template(
        engine=Engine.SGLANG,
        weight=2.0,
        ranks=2,
        events_port=5557,
        replay_port=5558,
        topic="t",
        kv_tokens=7,
        api_key="k",
        models=("m",),
        tls=True,
        path="/base",
    )
    assert template.spec("10.0.0.1", 8000) == ReplicaSpec(
        name="10.0.0.1:8000",
        url="https://10.0.0.1:8000/base",
        engine=Engine.SGLANG,
        weight=2.0,
        ranks=2,
        events="tcp://10.0.0.1:5557",
        replay="tcp://10.0.0.1:5558",
        topic="t",
        kv_tokens=7,
        api_key="k",
        models=("m",),
    )


def test_ipv6_addresses_are_bracketed() -> None:
    """As URLs want them."""
    assert Template(events_port=1).spec("fd00::1", 80) == ReplicaSpec(
        name="[fd00::1]:80", url="http://[fd00::1]:80", events="tcp://[fd00::1]:1"
    )


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("localhost", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("::", False),
        ("example.org", False),
    ],
)
def test_an_address_of_this_machine_alone_is_known(host: str, *, loopback: bool) -> None:
    """What is not surely loopback is taken to be open."""
    assert Listen(host=host).loopback is loopback


def test_a_zone_of_an_address_does_not_break_its_name() -> None:
    """In a header the name stands in quotes, and a # in it begins a rank."""
    assert Template().spec('fe80::1%a"b #1', 80).name == "[fe80::1%a%22b%20%231]:80"
