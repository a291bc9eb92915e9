"""Kubernetes EndpointSlices, as the API server lists and watches them. Pure.

```
{"metadata": {"name": …}, "ports": [{"name": "http", "port": 8000}],
 "endpoints": [{"addresses": ["10.0.0.5"], "conditions": {"ready": true, "terminating": false},
                "targetRef": {"kind": "Pod", "name": "a", "uid": "4f6e…"}}]}
```
A service has one slice or several; one address may stand in two while it moves between them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, NamedTuple

from stemcache.gateway.presence import State

__all__ = ["Endpoint", "Host", "Slice", "endpoints_of", "read_slice"]

_MOST_ENDPOINTS = 10_000
_MOST_PORT = 65535
_MOST_UID = 200
_BEST_FIRST = (State.READY, State.TERMINATING, State.UNREADY)
"""Of one that stands in two slices."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One pod's address."""

    host: str
    port: int
    state: State = State.READY
    uid: str = ""
    """Of its pod; empty where there is none."""


class Host(NamedTuple):
    """One pod in a slice, whose ports are the slice's."""

    address: str
    state: State
    uid: str


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice: its endpoints, for each of its ports."""

    name: str
    ports: tuple[tuple[str, int], ...]
    """Names and numbers."""
    hosts: tuple[Host, ...]


def read_slice(value: Any) -> Slice | None:
    """One EndpointSlice; None where it is none. What is not as it should be is left out."""
    if not isinstance(value, dict):
        return None
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        return None
    hosts: dict[str, Host] = {}
    endpoints = value.get("endpoints")
    for endpoint in (endpoints if isinstance(endpoints, list) else [])[:_MOST_ENDPOINTS]:
        if not isinstance(endpoint, dict):
            continue
        addresses = endpoint.get("addresses")
        # By the API's own rule all addresses of an endpoint are one; the first stands for them.
        for address in (addresses if isinstance(addresses, list) else [])[:1]:
            if (host := _address(address)) is not None:
                hosts[host] = Host(host, _state(endpoint), _uid(endpoint))
    return Slice(name, _ports(value.get("ports")), tuple(hosts.values()))


def endpoints_of(
    slices: Iterable[Slice], port: str | None
) -> tuple[tuple[Endpoint, ...], str | None]:
    """All endpoints of a service, by address, and what is wrong with its ports if something is.

    `port` is the name or the number; None for the only one.
    """
    found: dict[tuple[str, int], Endpoint] = {}
    trouble: str | None = None
    for one in slices:
        if not one.hosts:
            continue
        numbers = {n for name, n in one.ports if port is None or port in (name, str(n))}
        if len(numbers) != 1:
            shown = ", ".join(f"{name or '(no name)'} = {n}" for name, n in one.ports) or "none"
            trouble = f"the service's ports are {shown}; name one of them with port"
            continue
        number = numbers.pop()
        for host in one.hosts:
            place = host.address, number
            known = found.get(place)
            if known is None or _BEST_FIRST.index(host.state) < _BEST_FIRST.index(known.state):
                found[place] = Endpoint(host.address, number, host.state, host.uid)
    return tuple(found[key] for key in sorted(found)), trouble


def _state(endpoint: dict[str, Any]) -> State:
    conditions = endpoint.get("conditions")
    if not isinstance(conditions, dict):
        return State.READY  # unknown is ready, by the API's rule
    if conditions.get("terminating") is True:
        return State.TERMINATING
    return State.UNREADY if conditions.get("ready") is False else State.READY


def _uid(endpoint: dict[str, Any]) -> str:
    target = endpoint.get("targetRef")
    uid = target.get("uid") if isinstance(target, dict) else None
    return uid if isinstance(uid, str) and len(uid) <= _MOST_UID else ""


def _ports(values: Any) -> tuple[tuple[str, int], ...]:
    found = []
    for value in (values if isinstance(values, list) else [])[:100]:
        if not isinstance(value, dict) or value.get("protocol", "TCP") not in ("TCP", None):
            continue
        number, name = value.get("port"), value.get("name") or ""
        if isinstance(number, bool) or not isinstance(number, int) or not isinstance(name, str):
            continue
        if 0 < number <= _MOST_PORT:
            found.append((name, number))
    return tuple(found)


def _address(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        return str(ip_address(value))
    except ValueError:
        return None
