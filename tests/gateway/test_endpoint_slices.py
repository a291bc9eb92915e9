"""What is read of Kubernetes' EndpointSlices."""

from typing import Any

import pytest

from stemcache.gateway.endpoint_slices import Endpoint, Slice, endpoints_of, read_slice
from stemcache.gateway.presence import State


def sliced(*endpoints: Any, name: str = "s", ports: Any = None) -> Slice:
    """A slice as the API server sends it."""
    value = {
        "metadata": {"name": name, "resourceVersion": "7"},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8000, "protocol": "TCP"}] if ports is None else ports,
        "endpoints": list(endpoints),
    }
    found = read_slice(value)
    assert found is not None
    return found


def endpoint(address: str, **conditions: bool) -> dict[str, Any]:
    """One of its endpoints."""
    return {"addresses": [address], "conditions": conditions}


def test_each_endpoint_has_a_state() -> None:
    """Those that do not say are ready, by the API's rule."""
    one = sliced(
        endpoint("10.0.0.1", ready=True),
        endpoint("10.0.0.2", ready=False),
        endpoint("10.0.0.3"),
        {"addresses": ["10.0.0.4"]},
    )
    assert endpoints_of([one], None) == (
        (
            Endpoint("10.0.0.1", 8000),
            Endpoint("10.0.0.2", 8000, State.UNREADY),
            Endpoint("10.0.0.3", 8000),
            Endpoint("10.0.0.4", 8000),
        ),
        None,
    )


def test_terminating_endpoints_stay_and_are_told_so() -> None:
    """They are not ready any more, and finish what they have."""
    one = sliced(endpoint("10.0.0.1", ready=False, serving=True, terminating=True))
    assert endpoints_of([one], None)[0] == (Endpoint("10.0.0.1", 8000, State.TERMINATING),)


def test_an_endpoint_has_its_pods_uid() -> None:
    """Another pod may get the same address."""
    named = {**endpoint("10.0.0.1", ready=True), "targetRef": {"kind": "Pod", "uid": "4f6e"}}
    assert endpoints_of([sliced(named)], None)[0] == (Endpoint("10.0.0.1", 8000, uid="4f6e"),)


@pytest.mark.parametrize("target", [None, 3, [], {}, {"uid": None}, {"uid": 3}, {"uid": "x" * 201}])
def test_a_uid_that_is_none_is_not_told(target: Any) -> None:
    """The endpoint is taken all the same."""
    named = {**endpoint("10.0.0.1"), "targetRef": target}
    assert endpoints_of([sliced(named)], None)[0] == (Endpoint("10.0.0.1", 8000),)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("one", "other", "state"),
    [
        ({"terminating": True}, {"ready": True}, State.READY),
        ({"ready": False}, {"ready": True}, State.READY),
        ({"ready": False}, {"terminating": True}, State.TERMINATING),
    ],
)
def test_an_address_in_two_slices_is_one_endpoint(
    one: dict[str, bool], other: dict[str, bool], state: State, order: int
) -> None:
    """While it moves between them; that it serves is believed first."""
    slices = [
        sliced(endpoint("10.0.0.1", **one), name="a"),
        sliced(endpoint("10.0.0.1", **other), name="b"),
    ]
    found, _ = endpoints_of(slices[::order], None)
    assert found == (Endpoint("10.0.0.1", 8000, state),)


@pytest.mark.parametrize(("port", "number"), [("http", 8000), ("8000", 8000), ("metrics", 9000)])
def test_a_port_is_chosen_by_name_or_number(port: str, number: int) -> None:
    """Where the service has several."""
    ports = [{"name": "http", "port": 8000}, {"name": "metrics", "port": 9000}]
    one = sliced(endpoint("10.0.0.1"), ports=ports)
    assert endpoints_of([one], port)[0] == (Endpoint("10.0.0.1", number),)


def test_a_port_that_is_not_said_is_told() -> None:
    """With those that there are."""
    ports = [{"name": "http", "port": 8000}, {"name": "", "port": 9000}]
    one = sliced(endpoint("10.0.0.1"), ports=ports)
    said = "the service's ports are http = 8000, (no name) = 9000; name one of them with port"
    assert endpoints_of([one], None) == ((), said)
    assert endpoints_of([one], "grpc") == ((), said)


def test_a_slice_without_endpoints_has_no_trouble_with_its_ports() -> None:
    """A service that is scaled to nothing has a slice with neither."""
    assert endpoints_of([sliced(ports=[])], None) == ((), None)


def test_ipv6_addresses_are_taken_and_names_are_not() -> None:
    """A slice of type FQDN has nothing to be connected to."""
    one = sliced(endpoint("FD00::1"), endpoint("pod.example"), endpoint("10.0.0.1; rm"))
    assert endpoints_of([one], None)[0] == (Endpoint("fd00::1", 8000),)


@pytest.mark.parametrize(
    "value",
    [None, 3, "x", [], {}, {"metadata": None}, {"metadata": {}}, {"metadata": {"name": 3}}],
)
def test_what_is_no_slice_is_none(value: Any) -> None:
    """It cannot be kept without a name."""
    assert read_slice(value) is None


@pytest.mark.parametrize(
    "endpoints",
    [
        None,
        3,
        {},
        [None, 3, [], "x"],
        [{"addresses": None}],
        [{"addresses": []}],
        [{"addresses": [None, 3]}],
        [{"addresses": "10.0.0.1"}],
    ],
)
def test_endpoints_that_are_none_are_left_out(endpoints: Any) -> None:
    """Whatever is in their place."""
    value = {"metadata": {"name": "s"}, "ports": [{"port": 1}], "endpoints": endpoints}
    one = read_slice(value)
    assert one is not None
    assert one.hosts == ()


@pytest.mark.parametrize(
    "ports",
    [None, 3, {}, [None], [{"port": "http"}], [{"port": True}], [{"port": 0}], [{"port": 70_000}]],
)
def test_ports_that_are_none_are_left_out(ports: Any) -> None:
    """And told of where an endpoint needs one."""
    one = read_slice(
        {"metadata": {"name": "s"}, "ports": ports, "endpoints": [endpoint("10.0.0.1")]}
    )
    assert one is not None
    assert endpoints_of([one], None) == (
        (),
        "the service's ports are none; name one of them with port",
    )


def test_other_protocols_are_no_ports_of_ours() -> None:
    """HTTP goes over TCP."""
    ports = [{"port": 53, "protocol": "UDP"}, {"port": 8000, "protocol": None, "name": None}]
    assert sliced(ports=ports).ports == (("", 8000),)
