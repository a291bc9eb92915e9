"""URLs of replicas and endpoints of events, taken apart and checked. Pure.

A URL that is refused is not quoted: it may hold a password.
"""

import re
from urllib.parse import urlsplit

from stemcache.errors import UsageError
from stemcache.gateway.replica import ReplicaSpec
from stemcache.wire.origin import Origin, is_host, parse_origin

__all__ = [
    "can_be_named",
    "check_endpoint",
    "check_host",
    "check_redis",
    "check_service",
    "host_of",
    "named_replica",
    "replica_at",
]

_MOST_CHARACTERS = 2048
_MOST_IN_NAME = 200
_MOST_DIGITS = 9
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""RFC 1123, as Kubernetes has it for services, namespaces and ports' names."""
_MOST_PORT = 65535
_WANTED = 'letters, digits and signs, but no blank, no " and no #'


def can_be_named(name: str) -> bool:
    """Whether a replica can be called that.

    A name stands in quotes in a header and in metrics, and a # in it begins a rank.
    """
    return bool(name) and len(name) <= _MOST_IN_NAME and _plain(name) and not set(name) & set('"#')


def replica_at(url: str, source: str, *, name: str | None = None) -> ReplicaSpec:
    """A replica by its URL; `source` is what messages call where the URL came from.

    Its name is `name`, which can be one, or host, port, and path if there is one.
    """
    origin = _origin(url, source)
    path = _root(origin.path)
    if name is not None:
        return ReplicaSpec(name=name, url=_url(origin, path))
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    name = f"{host}:{origin.port}{path}"
    if not can_be_named(name):
        raise UsageError(
            f"{source} is also the replica's name, and no name has that: {_WANTED}; name it "
            "otherwise with NAME=URL, or percent-encode the path"
        )
    return ReplicaSpec(name=name, url=_url(origin, path))


def named_replica(text: str, source: str) -> ReplicaSpec:
    """A replica as `URL` or `NAME=URL`."""
    name, given, url = text.partition("=")
    if not given or "://" in name or "/" in name:
        return replica_at(text, source)
    if not can_be_named(name):
        raise UsageError(
            f"{source} has no usable name before its '='; use NAME=URL with a name of {_WANTED}, "
            "or the URL alone"
        )
    return replica_at(url, source, name=name)


def host_of(url: str) -> str:
    """The host of a checked URL, in brackets if it is an IPv6 address."""
    host = urlsplit(url).hostname or ""
    return f"[{host}]" if ":" in host else host


def check_endpoint(endpoint: str, source: str) -> str:
    """A ZeroMQ endpoint: tcp with a host and a port, or ipc."""
    if endpoint.startswith("ipc://") and len(endpoint) > len("ipc://") and _plain(endpoint):
        return endpoint
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    good = endpoint.startswith("tcp://") and host and is_host(host) and port and not parts.path
    if not good or not _plain(endpoint):
        raise UsageError(
            f"{source} is no endpoint of ZeroMQ; give the host and port at which the replica "
            "publishes, such as tcp://10.0.0.5:5557"
        )
    return endpoint


def check_host(host: str, source: str) -> str:
    """A name that can be looked up, or an address. Raises UsageError."""
    if not is_host(host):
        raise UsageError(
            f"{source} is no name of a host; give one that can be looked up, such as "
            "vllm.default.svc; variables are not filled in here"
        )
    return host


def check_service(source: str, *, service: str, namespace: str | None, port: str | None) -> None:
    """Raise UsageError for what Kubernetes has no service by: it would be waited for in vain."""
    number = port is not None and port.isascii() and port.isdigit() and len(port) <= _MOST_DIGITS
    for what, name in (("service", service), ("namespace", namespace), ("port", port)):
        if name is None or (what != "port" and _LABEL.fullmatch(name)):
            continue
        if what == "port" and (0 < int(name) <= _MOST_PORT if number else _LABEL.fullmatch(name)):
            continue
        raise UsageError(
            f"{source} has the {what} {name[:80]!a}, and in Kubernetes none is called that; "
            "give lower-case letters, digits and hyphens"
            + (f", or a number up to {_MOST_PORT}" if what == "port" else "")
        )


def check_redis(url: str) -> None:
    """Raise UsageError for a URL whose path names no database of Redis, by its number.

    The rest is checked by who connects.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise UsageError("--redis is no URL of a Redis; use redis://host:6379/0") from None
    if parts.scheme in ("redis", "rediss") and parts.hostname and not is_host(parts.hostname):
        raise UsageError(
            "--redis has a host that no server has; use redis://host:6379/0; variables are not "
            "filled in here"
        )
    number = parts.path.removeprefix("/")
    usable = number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS
    if parts.scheme in ("redis", "rediss") and number and not usable:
        raise UsageError(
            "--redis has a path that is no number of a database; use redis://host:6379/0"
        )


def _origin(url: str, source: str) -> Origin:
    if not _plain(url):
        raise UsageError(f"{source} has characters that no URL has; percent-encode them")
    if "?" in url or "#" in url:
        raise UsageError(f"{source} has a query or a fragment; give scheme, host, port and path")
    return parse_origin(url if "://" in url else f"http://{url}", source)


def _root(path: str) -> str:
    # Requests bring /v1 themselves: who gives a client's base URL means the server.
    return path.removesuffix("/v1").rstrip("/")


def _url(origin: Origin, path: str) -> str:
    return f"{'https' if origin.tls else 'http'}://{origin.authority}{path}"


def _plain(text: str) -> bool:
    return (
        text.isascii()
        and len(text) <= _MOST_CHARACTERS
        and not any(character <= " " or character == "\x7f" for character in text)
    )
