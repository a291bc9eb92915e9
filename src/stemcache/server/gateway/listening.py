"""The address that a gateway listens on, taken before anything slow begins."""

import socket

from stemcache.errors import UsageError

__all__ = ["bind", "url_of"]

_BACKLOG = 4096


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


def url_of(sock: socket.socket, *, tls: bool) -> str:
    """What clients call it."""
    host, port = sock.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if tls else 'http'}://{shown}:{port}"
