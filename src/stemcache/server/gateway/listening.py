"""The address that a gateway listens on, taken before anything slow begins."""

import resource
import socket
from contextlib import suppress

from stemcache.errors import UsageError

__all__ = ["allow_files", "bind", "fit_connections", "url_of"]

_BACKLOG = 4096
_FILES = 65_536
"""Where nothing says how many there may be."""
_OTHERS = 64
"""Logs, checks, events, and what Python has open."""
_LEAST = 16


def bind(host: str, port: int) -> socket.socket:
    """An address that is listened on: who connects early waits. Raises UsageError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
            # Two that start at once can both bind, and only one can listen: better seen here.
            sock.listen(_BACKLOG)
        except OSError:
            sock.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"cannot listen on --host {host} --port {port}: {reason}; "
            "choose another, or 0 for any free port"
        ) from None
    return sock


def allow_files() -> int:
    """Let this process have as many open files as it may; how many that is.

    Two for each request: the usual 1,024 are 500 streams.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft in (hard, resource.RLIM_INFINITY):
        return soft
    most = hard if hard != resource.RLIM_INFINITY else max(soft, _FILES)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def fit_connections(connections: int, files: int) -> int:
    """How many clients' connections fit into so many files, at most those asked for.

    Each may need one to a replica; a tenth is left to connections that are kept idle.
    """
    if files == resource.RLIM_INFINITY:
        return connections
    return min(connections, max(_LEAST, (files * 9 // 10 - _OTHERS) // 2))


def url_of(sock: socket.socket, *, tls: bool) -> str:
    """What clients call it."""
    host, port = sock.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if tls else 'http'}://{shown}:{port}"
