"""The application around an engine in a thread: ASGI messages in, ASGI messages out.

Everything between the two is what serves: routes, service, client, frames, `_serve` and the
engine. Only the process and the network are left out, so a test takes milliseconds.
"""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import structlog
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import Message

from stemcache.clock import ManualClock
from stemcache.engine.config import EngineConfig
from stemcache.engine.engine import Engine
from stemcache.engine.model import Model
from stemcache.server.app import make_app
from stemcache.server.engine_client import EngineClient
from stemcache.server.frames import Loaded
from stemcache.server.metrics import Metrics
from stemcache.server.service import Service, ServiceSettings
from stemcache.server.source import TextSide, ToySource
from stemcache.server.worker import EngineSettings, _serve, pages_that_fit

__all__ = ["Answered", "Stage", "play", "samples", "stage"]


@dataclass
class Answered:
    """An answer as it went out."""

    messages: list[Message] = field(default_factory=list)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.messages[1:])

    @property
    def complete(self) -> bool:
        return not self.messages[-1].get("more_body", False)

    def json(self) -> Any:
        return json.loads(self.body)

    def error(self) -> dict[str, Any]:
        return dict(self.json()["error"])

    def events(self) -> list[Any]:
        """What the events of a stream say; `[DONE]` as it stands."""
        texts = self.body.decode().removesuffix("\n\n").split("\n\n")
        datas = [text.removeprefix("data: ") for text in texts]
        return [data if data == "[DONE]" else json.loads(data) for data in datas]


class _Thread:
    """A thread where the client expects a process."""

    def __init__(self, sock: socket.socket, engine: Engine) -> None:
        self._sock = sock
        self._thread = threading.Thread(target=self._work, args=(engine,), daemon=True)
        self._thread.start()

    def _work(self, engine: Engine) -> None:
        try:
            _serve(self._sock, engine)
        except (BrokenPipeError, ConnectionResetError):
            pass  # as in `run_worker`
        finally:
            self._sock.close()

    def die(self) -> None:
        """Be gone, as far as the client can see."""
        self._sock.shutdown(socket.SHUT_RDWR)

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)

    def is_alive(self) -> bool:
        return self._thread.is_alive()


@dataclass
class Stage:
    """One server, its clock and what it logs."""

    service: Service
    clock: ManualClock
    log: list[MutableMapping[str, Any]]
    engine: _Thread

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        leave: asyncio.Event | None = None,
        answered: Answered | None = None,
    ) -> Answered:
        """One request, its body bytes or an object; the client goes once `leave` is set."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        incoming = [{"type": "http.request", "body": content, "more_body": False}]
        answered = answered or Answered()
        never = asyncio.Event()

        async def receive() -> Message:
            if incoming:
                return incoming.pop()
            await (leave or never).wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            answered.messages.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"",
            "headers": [(k.encode(), v.encode()) for k, v in (headers or {}).items()],
        }
        await self.app(scope, receive, send)
        return answered

    async def complete(self, **fields: object) -> Answered:
        """Ask for a completion that goes on to its limit."""
        body = {"model": "toy", "prompt": "Go", "max_tokens": 3, "ignore_eos": True, **fields}
        return await self.ask("POST", "/v1/completions", body)

    async def settle(self) -> None:
        """Wait until the engine has reported all that came before."""
        await self.service.client.reset()

    def lines(self, event: str = "request") -> list[MutableMapping[str, Any]]:
        return [entry for entry in self.log if entry["event"] == event]

    def metrics(self) -> dict[str, float]:
        return samples(self.service.metrics.page())

    def __post_init__(self) -> None:
        self.app = make_app(self.service)


def samples(page: bytes) -> dict[str, float]:
    """Samples by name without `stemcache_`, labels in braces."""
    return {
        sample.name.removeprefix("stemcache_")
        + "".join(f"{{{value}}}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    }


@asynccontextmanager
async def stage(
    *,
    model: Model | None = None,
    text: TextSide | None = None,
    api_key: str | None = None,
    max_body_bytes: int = 2**20,
    kv_memory_bytes: int = 2**17,
    **dials: Any,
) -> AsyncIterator[Stage]:
    """A server of the toy model, or of another."""
    source = ToySource()
    model = model or source.load_model()
    settings = EngineSettings(kv_memory_bytes=kv_memory_bytes, **dials)
    pages = pages_that_fit(settings, model.info.kv_bytes_per_token)
    engine = Engine(model, EngineConfig.of(settings, pages=pages), clock=ManualClock())
    here, there = socket.socketpair()
    here.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=here, limit=1 << 20)
    loaded = Loaded(model.info, pages, engine.stats())
    thread = _Thread(there, engine)
    client = EngineClient(cast("Any", thread), reader, writer, loaded, settings)
    clock, capture = ManualClock(), structlog.testing.LogCapture()
    service = Service(
        client=client,
        text=text or source.load_text(now=lambda: datetime.now(UTC)),
        settings=ServiceSettings(model_name="toy", max_body_bytes=max_body_bytes, api_key=api_key),
        metrics=Metrics(lambda: client.stats, pages=pages, labels={"name": "toy"}),
        logger=structlog.wrap_logger(
            structlog.testing.CapturingLogger(),
            processors=[capture],
            wrapper_class=structlog.make_filtering_bound_logger(0),
        ),
        clock=clock,
        wall=lambda: 1234.9,
        started_at=1000,
    )
    try:
        yield Stage(service, clock, capture.entries, thread)
    finally:
        await client.close()


def play(body: Callable[[Stage], Awaitable[None]], **options: Any) -> None:
    """Run with a stage of its own."""

    async def with_stage() -> None:
        async with stage(**options) as one:
            await body(one)

    asyncio.run(with_stage())
