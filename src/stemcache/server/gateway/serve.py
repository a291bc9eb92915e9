"""A gateway's life: listen, relay, drain, end.

```
listen ─► relay ──stop──► draining ──nothing runs──► end
                              └─ no grace, or hurry ─► clients are told ─► end
```
While draining, idle connections are closed and no new ones taken; what runs may finish.
"""

import asyncio
import socket
import ssl
from contextlib import suppress

from stemcache.server.gateway.connection import ClientConnection
from stemcache.server.gateway.gateway import Gateway

__all__ = ["serve_until"]

_BACKLOG = 4096
_TICK_S = 0.5
_STALL_S = 0.5
_LAST_WORDS_S = 1.0


async def serve_until(
    stop: asyncio.Event,
    hurry: asyncio.Event,
    sock: socket.socket,
    gateway: Gateway,
    *,
    grace_s: float,
    ssl: ssl.SSLContext | None = None,
) -> int:
    """Relay until `stop`, then let what runs finish until `hurry` or the end of the grace.

    Returns how many answers were cut off in the end. The gateway is closed.
    """
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: ClientConnection(gateway), sock=sock, ssl=ssl, backlog=_BACKLOG
    )
    sweeping = loop.create_task(_sweep(gateway))
    try:
        await stop.wait()
        server.close()
        gateway.draining = True
        for connection in list(gateway.open):
            connection.drain()
        await _settle(gateway, hurry, grace_s)
        cut = sum(connection.busy for connection in gateway.open)
        for connection in list(gateway.open):
            connection.cut_off()
        await _settle(gateway, asyncio.Event(), _LAST_WORDS_S)
    finally:
        sweeping.cancel()
        server.close()
        for connection in list(gateway.open):
            connection.abort()
        gateway.close()
    await _settle(gateway, asyncio.Event(), _LAST_WORDS_S)
    return cut


async def _sweep(gateway: Gateway) -> None:
    clock = asyncio.get_running_loop().time
    while True:
        due_s = clock() + _TICK_S
        await asyncio.sleep(_TICK_S)
        late_s = clock() - due_s
        try:
            if late_s > _STALL_S:
                gateway.stood_still(late_s)
            gateway.sweep()
        except Exception:
            # Without it nothing would ever time out.
            gateway.log.exception("sweep failed")


async def _settle(gateway: Gateway, hurry: asyncio.Event, limit_s: float) -> None:
    """Wait until no connection is open, the time is over, or somebody is in a hurry."""
    hurrying = asyncio.create_task(hurry.wait())
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            while gateway.open and not hurrying.done():
                gateway.settled.clear()
                settled = asyncio.create_task(gateway.settled.wait())
                await asyncio.wait({settled, hurrying}, return_when=asyncio.FIRST_COMPLETED)
                settled.cancel()
    hurrying.cancel()
