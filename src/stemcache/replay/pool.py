"""Connections to one target: the one idle last is used first, and more are made at need."""

import asyncio
import socket
import ssl
from dataclasses import dataclass

from stemcache.clock import Clock
from stemcache.errors import UsageError
from stemcache.replay.connection import Connection
from stemcache.replay.target import Target

__all__ = ["Address", "ConnectError", "Pool", "resolve"]

_LOOK_S = 3.0
"""For each address of a host that has several."""

_NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_EOF_WHILE_READING"})
"""Reasons of OpenSSL's for an answer that is of another protocol, or none."""


class ConnectError(Exception):
    """No connection was made. `kind` is what the report counts it as."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Address:
    """Where the target is, looked up once: a look-up a connection would be measured too."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    name: str
    """What the certificate must say."""


async def resolve(target: Target, *, timeout_s: float = _LOOK_S) -> Address:
    """Look the host up. Raises UsageError if no such host is known.

    Of several addresses the first is taken that accepts a connection: `localhost` is often two, of
    which a server listens on one. If none does, the first is.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"no address is known for {target.host}, the host of --target ({error}); check its name"
        ) from None
    hosts = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if len(hosts) > 1:
        for host in hosts:
            if await _accepts(host, target.port, timeout_s):
                hosts = [host]
                break
    context = ssl.create_default_context() if target.tls else None
    return Address(hosts[0], target.port, context, target.host)


async def _accepts(host: str, port: int, timeout_s: float) -> bool:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout_s):
            transport, _ = await loop.create_connection(asyncio.Protocol, host, port)
    except (OSError, TimeoutError):
        return False
    transport.abort()
    return True


async def _connected(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, (address.host, address.port))
    except BaseException:
        sock.close()
        raise
    return sock


def _no_tls(how: str) -> str:
    return (
        f"a TCP connection was made, but no TLS on it {how}; if the server speaks plain HTTP, "
        "write http:// instead of https://"
    )


class Pool:
    """The connections of one run. Not bounded: who sends decides how much is in flight."""

    def __init__(self, address: Address, clock: Clock, *, timeout_s: float) -> None:
        self._address = address
        self._clock = clock
        self._timeout_s = timeout_s
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self.made = 0
        """Connections made so far."""

    def take(self) -> Connection | None:
        """An idle connection, the last one used first; None if there is none."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                return connection
        return None

    async def connect(self) -> Connection:
        """A connection that nobody has used. Raises ConnectError."""
        address = self._address
        loop = asyncio.get_running_loop()
        sock: socket.socket | None = None
        try:
            async with asyncio.timeout(self._timeout_s):
                if address.tls is None:
                    _, connection = await loop.create_connection(
                        self._make, address.host, address.port
                    )
                else:
                    # In two steps, to know which of them was not made.
                    sock = await _connected(address)
                    _, connection = await loop.create_connection(
                        self._make, sock=sock, ssl=address.tls, server_hostname=address.name
                    )
        except TimeoutError:
            if sock is not None:
                raise ConnectError("tls", _no_tls(f"within {self._timeout_s:g} s")) from None
            raise ConnectError(
                "connect_timeout", f"no connection was made within {self._timeout_s:g} s"
            ) from None
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", None) or error.reason or "no reason given"
            if reason in _NOT_TLS:
                raise ConnectError("tls", _no_tls(f"({reason})")) from None
            raise ConnectError("tls", f"TLS failed: {reason}") from None
        except OSError as error:
            if sock is not None:
                raise ConnectError(
                    "tls", _no_tls(f"({error.strerror or str(error) or 'it was closed'})")
                ) from None
            kind = "refused" if isinstance(error, ConnectionRefusedError) else "connect_failed"
            raise ConnectError(kind, error.strerror or str(error)) from None
        self.made += 1
        self._open.add(connection)
        return connection

    def close(self) -> None:
        """Close them all; requests that run on them fail."""
        for connection in list(self._open):
            connection.close()
        self._idle.clear()

    def _make(self) -> Connection:
        return Connection(self._clock, on_idle=self._idle.append, on_closed=self._open.discard)
