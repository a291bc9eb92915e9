"""A proxy's life: listen, relay, drain, end.

```
listen ─► relay ──SIGTERM/SIGINT/SIGHUP──► draining ──nothing runs, or no grace──► flush ─► end
```
While draining, idle connections are closed and no new ones taken. A second signal ends the grace.
"""

import asyncio
import signal
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from stemcache.errors import UsageError
from stemcache.record.proxy.client import ClientConnection, Connections
from stemcache.record.proxy.relay import Means
from stemcache.record.proxy.target import Routes

__all__ = ["bind", "relay_until", "run_proxy", "tls_context", "url_of"]

_BACKLOG = 1024
_LAST_WORDS_S = 1.0


def bind(host: str, port: int) -> socket.socket:
    """A listening address. Raises UsageError if it cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
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


def url_of(sock: socket.socket) -> str:
    """What clients call a listening address."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def tls_context(ca_file: str | None) -> ssl.SSLContext:
    """The system's trust store, and certificates of the user's beside it."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(
                f"--ca-file {ca_file} cannot be read: {error}; give a file of PEM certificates"
            ) from None
    return context


async def run_proxy(
    sock: socket.socket,
    routes: Routes,
    means: Means,
    *,
    grace_s: float,
    on_ready: Callable[[], None],
) -> int:
    """Relay until a signal says to stop; returns how many calls were cut off in the end.

    The recorder is the caller's to close.
    """
    stop, hurry = asyncio.Event(), asyncio.Event()

    def on_signal() -> None:
        (hurry if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, on_signal)
    return await relay_until(stop, hurry, sock, routes, means, grace_s=grace_s, on_ready=on_ready)


async def relay_until(
    stop: asyncio.Event,
    hurry: asyncio.Event,
    sock: socket.socket,
    routes: Routes,
    means: Means,
    *,
    grace_s: float,
    on_ready: Callable[[], None],
) -> int:
    """Relay until `stop`, then let what runs finish until `hurry` or the end of the grace."""
    connections = Connections(routes, means)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ClientConnection(connections), sock=sock)
    on_ready()
    await stop.wait()
    server.close()
    connections.draining = True
    for connection in list(connections.open):
        connection.drain()
    await _settle(connections, hurry, grace_s)
    cut = sum(connection.busy for connection in connections.open)
    for connection in list(connections.open):
        connection.abort()
    await _settle(connections, asyncio.Event(), _LAST_WORDS_S)
    return cut


async def _settle(connections: Connections, hurry: asyncio.Event, limit_s: float) -> None:
    """Wait until no connection is open, the time is over, or the user is in a hurry."""
    hurrying = asyncio.create_task(hurry.wait())
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            while connections.open and not hurrying.done():
                connections.settled.clear()
                settled = asyncio.create_task(connections.settled.wait())
                await asyncio.wait({settled, hurrying}, return_when=asyncio.FIRST_COMPLETED)
                settled.cancel()
    hurrying.cancel()
