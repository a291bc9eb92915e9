"""Whether a replica's address is the gateway's own. Pure.

Told by what is written: names are not looked up, nor the addresses of this machine. What is missed
here is found by the header that requests carry from gateway to gateway.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from stemcache.errors import UsageError
from stemcache.gateway.deployment import Listen
from stemcache.gateway.replica import ReplicaSpec

__all__ = ["check_own_address"]

_ANY = frozenset({"", "0.0.0.0", "::"})  # noqa: S104  # compared, not bound to
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


def check_own_address(listen: Listen, replicas: Iterable[ReplicaSpec]) -> None:
    """Raise UsageError where a replica is the gateway itself, which would ask itself for ever."""
    for spec in replicas:
        parts = urlsplit(spec.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if port == listen.port and _is_own(listen.host.lower(), parts.hostname or ""):
            raise UsageError(
                f"replica {spec.name!r} has the address that this gateway listens on, port "
                f"{port}, so that it would ask itself; leave it out, or give another --port"
            )


def _is_own(listening: str, host: str) -> bool:
    if host == listening or {host, listening} <= _HERE:
        return True
    if listening in _ANY:
        return host in _ANY or host in _HERE or host.startswith("127.")
    return host in _ANY and listening in _HERE
