"""A gateway's life: put together, listen, relay, drain, end.

```
local replicas up ─► listen ─► relay ──SIGTERM, ^C──► draining ──nothing runs, grace over, or a
                                 │ SIGHUP: the file again         second signal──► parts end ─► exit
```
While draining, no connection is taken, `/health` says 503, and running answers may finish. Those
that do not are ended with an error event, or a 503 where nothing of them has been sent.
"""

import asyncio
import contextlib
import gc
import signal
import socket
import ssl
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from structlog.typing import FilteringBoundLogger

from stemcache.clock import Clock
from stemcache.gateway.changes import check_doors, what_changed
from stemcache.gateway.deployment import Configuration
from stemcache.server.gateway.assembly import Assembly
from stemcache.server.gateway.huge_pages import use_huge_pages
from stemcache.server.gateway.listening import allow_files, url_of
from stemcache.server.gateway.reload import Reloader
from stemcache.server.gateway.serve import serve_until
from stemcache.server.gateway.tls import certificate_digest, load_certificate, tls_to_clients
from stemcache.text.memo import PromptTokenizer

__all__ = ["ConfigFile", "Ready", "run_gateway"]

_FIRST_LOOK_S = 3.0
"""How long the first checks are waited for, for the screen to say what was found."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The files that a configuration came from, to be read again when one changes."""

    path: Path | None
    """None where there is none, but files of keys."""
    text: str
    load: Callable[[str], Configuration]
    """Its text together with the flags. Raises UsageError."""
    beside: tuple[Path, ...] = ()
    """Files of keys, which `load` reads."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What runs, once it does."""

    url: str
    configuration: Configuration
    fleet: dict[str, Any]
    """As `/v1/fleet` has it."""


async def run_gateway(
    sock: socket.socket,
    configuration: Configuration,
    *,
    file: ConfigFile | None,
    tls: ssl.SSLContext,
    tokenizing: PromptTokenizer | None,
    clock: Clock,
    rng: Random,
    logger: FilteringBoundLogger,
    on_ready: Callable[[Ready], None],
) -> int:
    """Relay until a signal says to stop; returns how many answers were cut off in the end.

    `tls` is for replicas. Raises UsageError if it cannot begin.
    """
    stop, hurry = asyncio.Event(), asyncio.Event()

    def on_signal() -> None:
        (hurry if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    listen = configuration.listen
    incoming = tls_to_clients(listen)
    parts = Assembly(
        configuration,
        tokenizing=tokenizing,
        tls=tls,
        clock=clock,
        rng=rng,
        logger=logger,
        files=allow_files(),
    )
    beside: list[asyncio.Task[Any]] = []
    try:
        if not await _before(stop, parts.start()):
            return 0
        if file is not None:
            beside.append(_watch(file, parts, incoming, logger))
        else:
            loop.add_signal_handler(signal.SIGHUP, lambda: None)
        serving = loop.create_task(
            serve_until(stop, hurry, sock, parts.gateway, grace_s=listen.grace_s, ssl=incoming)
        )
        beside.append(loop.create_task(_announce(sock, parts, on_ready, tls=incoming is not None)))
        beside.append(loop.create_task(_leave(stop, parts, logger)))
        cut = await serving
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await parts.close()
    logger.info("stopped", cut_off=cut)
    return cut


async def _before(stop: asyncio.Event, starting: Coroutine[Any, Any, None]) -> bool:
    """Whether it was done before the gateway was told to stop; if not, it is cancelled."""
    task = asyncio.ensure_future(starting)
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
        return False
    await task
    return True


def _watch(
    file: ConfigFile,
    parts: Assembly,
    incoming: ssl.SSLContext | None,
    logger: FilteringBoundLogger,
) -> "asyncio.Task[None]":
    shown = certificate_digest(parts.configuration.listen)

    def apply(configuration: Configuration) -> Sequence[str]:
        nonlocal shown
        before = parts.configuration
        check_doors(before, configuration)
        tls_to_clients(before.listen)  # to complain before anything is changed
        parts.apply(configuration)
        changed = what_changed(before, parts.configuration)
        if incoming is not None:
            load_certificate(incoming, before.listen)  # it may have been renewed
            was, shown = shown, certificate_digest(before.listen)
            if shown != was:
                changed.append("certificate")
        return changed

    reloader = Reloader(
        file.path, file.text, load=file.load, apply=apply, logger=logger, beside=file.beside
    )
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, reloader.again)
    return loop.create_task(reloader.run())


async def _announce(
    sock: socket.socket, parts: Assembly, on_ready: Callable[[Ready], None], *, tls: bool
) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_FIRST_LOOK_S):
            await parts.health.settled()
    # What was made so far stays; looking at it again and again would only take time.
    gc.collect()
    gc.freeze()
    use_huge_pages()
    fleet = parts.router.fleet(now_s=asyncio.get_running_loop().time())
    on_ready(Ready(url_of(sock, tls=tls), parts.configuration, fleet))


async def _leave(stop: asyncio.Event, parts: Assembly, logger: FilteringBoundLogger) -> None:
    await stop.wait()
    parts.pages.draining = True
    logger.info(
        "draining",
        in_flight=parts.gateway.in_flight,
        grace_s=parts.configuration.listen.grace_s,
    )
