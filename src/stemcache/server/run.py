"""A server's life: bind, load, serve, drain, end.

```
bind ─► load ─► serve ──SIGTERM/SIGINT──► draining ──nothing runs, or --grace is over──► exit 0
                  └──the engine's process ends──► running requests get 500 ──────────► exit 2
```

While draining, new requests get 503 with Retry-After and `/health` says 503. A second signal ends
the grace at once.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

import uvicorn
from structlog.typing import FilteringBoundLogger

from stemcache.clock import Clock
from stemcache.engine.model import ModelInfo
from stemcache.errors import UsageError
from stemcache.server.app import make_app
from stemcache.server.engine_client import EngineClient
from stemcache.server.metrics import Metrics
from stemcache.server.protocol import Protocol
from stemcache.server.refusal import HttpError
from stemcache.server.service import Service, ServiceSettings
from stemcache.server.source import Source
from stemcache.server.worker import EngineSettings

__all__ = ["Ready", "bind", "run_server"]

_LAST_WORDS_S = 2.0
"""How long cancelled requests may take to send their error."""

_MORE_CONNECTIONS = 128

_BACKLOG = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What is served and where, once it is."""

    info: ModelInfo
    model_name: str
    pages: int
    settings: EngineSettings
    url: str


class _Uvicorn(uvicorn.Server):
    """Leaves signals to `run_server`."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing to capture."""
        yield


def bind(host: str, port: int) -> socket.socket:
    """A listening address, before anything slow begins. Raises UsageError if it cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
        except OSError:
            sock.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        raise _cannot_listen(host, port, error) from None
    return sock


def _listen(sock: socket.socket) -> None:
    # Only now: until the model is loaded, whoever connects is refused instead of kept waiting.
    # Where two servers start at once both can bind, but only one can listen.
    try:
        sock.listen(_BACKLOG)
    except OSError as error:
        host, port = sock.getsockname()[:2]
        raise _cannot_listen(host, port, error) from None


def _cannot_listen(host: str, port: int, error: Exception) -> UsageError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return UsageError(
        f"cannot listen on --host {host} --port {port}: {reason}; "
        "choose another, or 0 for any free port"
    )


def _url(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def run_server(
    sock: socket.socket,
    source: Source,
    engine: EngineSettings,
    settings: ServiceSettings,
    *,
    grace_s: float,
    clock: Clock,
    wall: Callable[[], float],
    logger: FilteringBoundLogger,
    on_ready: Callable[[Ready], None],
) -> int:
    """Serve until told to stop; returns the exit code. Raises UsageError if it cannot begin."""
    stop = asyncio.Event()
    hurry = asyncio.Event()

    def on_signal() -> None:
        (hurry if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)

    logger.info("loading", model=source.name)
    loading = asyncio.create_task(EngineClient.start(source, engine))
    try:
        text = await asyncio.to_thread(source.load_text, now=datetime.now)
    except BaseException:
        await _abandon(loading)
        raise
    if not await _before(loading, stop):
        return 0
    client = await loading
    try:
        ready = Ready(
            info=client.info,
            model_name=settings.model_name,
            pages=client.pages,
            settings=engine,
            url=_url(sock),
        )
        service = Service(
            client=client,
            text=text,
            settings=settings,
            metrics=Metrics(lambda: client.stats, pages=client.pages, labels=_labels(ready)),
            logger=logger,
            clock=clock,
            wall=wall,
            started_at=int(wall()),
        )
        return await _serve(
            sock, service, stop, hurry, grace_s=grace_s, on_ready=lambda: on_ready(ready)
        )
    finally:
        await client.close()


async def _before(task: "asyncio.Task[EngineClient]", stop: asyncio.Event) -> bool:
    """Whether the task ended before the server was told to stop; if not, it is cancelled."""
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not task.done():
        await _abandon(task)
        return False
    return True


async def _abandon(loading: "asyncio.Task[EngineClient]") -> None:
    loading.cancel()
    await asyncio.wait({loading})
    if not loading.cancelled():
        loading.exception()  # seen; another error is on its way


async def _serve(
    sock: socket.socket,
    service: Service,
    stop: asyncio.Event,
    hurry: asyncio.Event,
    *,
    grace_s: float,
    on_ready: Callable[[], None],
) -> int:
    dials = service.client.settings
    server = _Uvicorn(
        uvicorn.Config(
            make_app(service),
            http=Protocol,
            # All that may run or wait at once, and some to ask for health and to be refused.
            limit_concurrency=dials.max_running + dials.max_waiting + _MORE_CONNECTIONS,
            loop="none",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=round(_LAST_WORDS_S),
        )
    )
    _listen(sock)
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    waits = [asyncio.create_task(event.wait()) for event in (stop, service.client.ended)]
    try:
        on_ready()
        await asyncio.wait({serving, *waits}, return_when=asyncio.FIRST_COMPLETED)
        service.draining = True
        # Nothing of theirs runs yet, and their clients might never send the rest.
        service.end_reading(_shutting_down("before it had read the request"))
        if service.client.alive:
            service.logger.info("draining", in_flight=service.in_flight, grace_s=grace_s)
            await _settle(service, grace_s, hurry)
        else:
            service.logger.error("the engine's process has ended; stopping")
        if service.in_flight:
            service.client.fail_all(_shutting_down("and the answer took longer than its --grace"))
            await _settle(service, _LAST_WORDS_S, asyncio.Event())
        for connection in list(server.server_state.connections):
            assert isinstance(connection, Protocol), "uvicorn is told to make these"
            connection.abort_running()  # its client does not read
        await _settle(service, _LAST_WORDS_S, asyncio.Event())
        alive = service.client.alive
        server.should_exit = True
        await serving
    finally:
        for task in waits:
            task.cancel()
    service.logger.info("stopped")
    return 0 if alive else 2


def _shutting_down(when: str) -> HttpError:
    return HttpError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        f"the server is shutting down {when}; send the request to another server, or again later",
        code="shutting_down",
        headers={"retry-after": "5", "connection": "close"},
    )


async def _settle(service: Service, limit_s: float, hurry: asyncio.Event) -> None:
    """Wait until nothing is in flight, the time is over, or the user is in a hurry."""

    async def settled() -> None:
        while service.in_flight:
            service.settled.clear()
            await service.settled.wait()

    waits = {asyncio.create_task(settled()), asyncio.create_task(hurry.wait())}
    ended = {asyncio.create_task(service.client.ended.wait())}
    await asyncio.wait(waits | ended, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    for task in waits | ended:
        task.cancel()


def _labels(ready: Ready) -> dict[str, str]:
    return {
        "name": ready.model_name,
        "revision": ready.info.revision,
        "kv_dtype": ready.info.kv_dtype,
        "index": ready.settings.index,
        "block_size": str(ready.settings.block_size),
    }
