"""Connections to replicas, kept and used again.

```
Pool ── name ──► Line (one replica's address) ── idle: oldest … youngest ──► the youngest is used
                                                         └ closed after 4 s, before it would be
```
"""

import asyncio
import errno
import math
import ssl
from typing import Any, Protocol

from stemcache.clock import Clock
from stemcache.gateway.replica import ReplicaSpec
from stemcache.server.gateway.upstream import Upstream
from stemcache.wire.origin import Origin, parse_origin

__all__ = ["CannotConnect", "Line", "Pool"]

_IDLE_S = 4.0
"""Servers on uvicorn, which most replicas are, close an idle connection after 5 s."""
_EXHAUSTED = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}
)
_STALL_S = 0.1
"""A timer that fires so much too late tells of this process, not of a replica."""
_STALLS = 3
_LAST_LOOK_S = 0.005
"""For sockets that are ready, and have not been looked at."""
_MOST_IDLE = 1024
"""Of one replica."""


class CannotConnect(Exception):  # noqa: N818  # it says what happened
    """No connection can be made; the text says why.

    `kind` is refused, timeout, or exhausted: the system gives this process no more sockets, which
    is not the replica's fault.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class _TlsSource(Protocol):
    def __call__(self) -> ssl.SSLContext: ...


class Line:
    """One replica's address, and the connections to it on which nothing runs."""

    __slots__ = (
        "_clock",
        "_idle",
        "_open",
        "_tls",
        "authority",
        "closed",
        "credential",
        "heard_s",
        "made",
        "origin",
        "path",
        "spec",
    )

    def __init__(self, spec: ReplicaSpec, clock: Clock, tls: _TlsSource) -> None:
        self.spec = spec
        self._clock = clock
        self._tls = tls
        self.origin: Origin = parse_origin(spec.url, f"replica {spec.name}")
        self.authority = self.origin.authority.encode("ascii")
        self.path = self.origin.path.encode("ascii")
        self.credential = None if spec.api_key is None else spec.api_key.encode("latin-1")
        self._idle: dict[Upstream, None] = {}  # in the order in which they became idle
        self.closed = False
        self._open: set[Upstream] = set()
        self.made = 0
        """Connections made, ever."""
        self.heard_s = -math.inf
        """When bytes of an answer last came."""

    @property
    def open(self) -> int:
        """Connections, idle and busy."""
        return len(self._open)

    def take(self) -> Upstream | None:
        """An idle connection, the one used last; the caller's from now on. O(1)."""
        while self._idle:
            upstream, _ = self._idle.popitem()
            if not upstream.closed:
                return upstream
        return None

    async def connect(self, limit_s: float) -> Upstream:
        """Make one; the caller's. Raises CannotConnect."""
        upstream = Upstream(self)
        connected = False
        connecting = asyncio.ensure_future(self._open_connection(upstream))
        try:
            await _in_time(connecting, limit_s)
            connected = True
        except TimeoutError:
            raise CannotConnect("timeout", f"no connection within {limit_s:g} s") from None
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", None) or error.reason or "no reason given"
            raise CannotConnect("refused", f"TLS failed ({reason})") from None
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            kind = "exhausted" if getattr(error, "errno", None) in _EXHAUSTED else "refused"
            raise CannotConnect(kind, str(reason)) from None
        finally:
            if not connected:
                connecting.cancel()
                # What was given up may be connected all the same, a moment later.
                upstream.abort()
        self.made += 1
        if not upstream.closed:
            self._open.add(upstream)
        return upstream

    async def _open_connection(self, upstream: Upstream) -> None:
        origin = self.origin
        await asyncio.get_running_loop().create_connection(
            lambda: upstream,
            origin.host,
            origin.port,
            ssl=self._tls() if origin.tls else None,
            server_hostname=origin.host if origin.tls else None,
        )

    def give(self, upstream: Upstream) -> None:
        """Keep a connection for the next request."""
        if self.closed or len(self._idle) >= _MOST_IDLE:
            upstream.abort()
            return
        upstream.idle_since_s = self._clock.now()
        self._idle[upstream] = None

    def lost(self, upstream: Upstream) -> None:
        """Forget a connection."""
        self._open.discard(upstream)
        self._idle.pop(upstream, None)

    def sweep(self, before_s: float) -> None:
        """Close those that have been idle since before then."""
        while self._idle:
            oldest = next(iter(self._idle))
            if oldest.idle_since_s > before_s:
                return
            del self._idle[oldest]
            oldest.abort()

    def close(self) -> None:
        """Close what is idle now, and the others once their answers are complete."""
        self.closed = True
        self.sweep(float("inf"))


async def _in_time(connecting: "asyncio.Task[Any]", limit_s: float) -> None:
    """Wait until it is done; TimeoutError after the limit, in which this process was not stuck.

    After the loop has stood still, timers are due before sockets are looked at: a limit that is
    found over too late says nothing of the other side, which gets another one.
    """
    clock = asyncio.get_running_loop().time
    for _ in range(_STALLS):
        due_s = clock() + limit_s
        done, _ = await asyncio.wait({connecting}, timeout=limit_s)
        if not done:
            late_s = clock() - due_s
            done, _ = await asyncio.wait({connecting}, timeout=_LAST_LOOK_S)
            if not done and late_s > _STALL_S:
                continue
        if not done:
            break
        connecting.result()
        return
    raise TimeoutError


class Pool:
    """All replicas' lines. `tls`: to replicas over https; by default the system's trust store."""

    def __init__(self, clock: Clock, *, tls: ssl.SSLContext | None = None) -> None:
        self._clock = clock
        self._given_tls = tls
        self._lines: dict[str, Line] = {}

    def line(self, spec: ReplicaSpec) -> Line:
        """The replica's line, made when it is first asked for, or when its address changed."""
        line = self._lines.get(spec.name)
        if line is not None and (line.spec is spec or line.spec == spec):
            return line
        if line is not None:
            line.close()
        line = self._lines[spec.name] = Line(spec, self._clock, self._tls)
        return line

    def heard_s(self, name: str) -> float:
        """When bytes of an answer last came from this replica."""
        line = self._lines.get(name)
        return -math.inf if line is None else line.heard_s

    def retain(self, names: frozenset[str]) -> None:
        """Close the lines of all other replicas."""
        for name in [name for name in self._lines if name not in names]:
            self._lines.pop(name).close()

    def sweep(self) -> None:
        """Close connections that have been idle for too long; call it about once a second."""
        before_s = self._clock.now() - _IDLE_S
        for line in self._lines.values():
            line.sweep(before_s)

    def close(self) -> None:
        """Close all that is idle; what runs ends by itself."""
        for line in self._lines.values():
            line.close()

    @property
    def open(self) -> int:
        """Connections to replicas."""
        return sum(line.open for line in self._lines.values())

    def _tls(self) -> ssl.SSLContext:
        if self._given_tls is None:
            self._given_tls = ssl.create_default_context()
            self._given_tls.set_alpn_protocols(["http/1.1"])
        return self._given_tls
