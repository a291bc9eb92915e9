"""Fake workers in one process: HTTP on loopback, a cache and a queue each, and a control page.

    python -m benchmarks.route.worker '{"workers": 4, "costs": {"block_s": 0.002}}'

The first line of its output says, as JSON, where they are. The control page answers GET:
`/counts`, `/reset`, `/release`, `/kill?worker=0`, `/restart?worker=0&down_s=0.5`.
"""

import asyncio
import json
import os
import socket
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httptools
import msgspec
import uvloop

from benchmarks.route import answers
from benchmarks.route.answers import DIALECTS, Asked, Dialect
from benchmarks.route.cache import chain
from benchmarks.route.engine import Costs, Counts, Engine, Job
from benchmarks.route.events import Publisher
from benchmarks.route.tokens import CHARACTERS, token_ids

__all__ = ["main"]


class Spec(msgspec.Struct, forbid_unknown_fields=True):
    """How many workers, and of what kind."""

    workers: int = 4
    costs: dict[str, Any] = {}
    tokenize: bool = False
    """Whether /tokenize is answered."""
    events: bool = False


class Worker:
    """One fake worker."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.loop = asyncio.get_running_loop()
        self.costs = Costs(**spec.costs)
        self.publisher = Publisher() if spec.events else None
        self.port = 0
        self.engine = self._engine()
        self.connections: set[Connection] = set()
        self.accepted = 0
        self.asked: dict[str, int] = {}
        self.stopping = False
        self._server: asyncio.Server | None = None

    def _engine(self) -> Engine:
        changed = None if self.publisher is None else self._changed
        return Engine(self.costs, time.monotonic, self._call_at, changed)

    def _call_at(self, when_s: float, call: Any, *arguments: Any) -> object:
        return self.loop.call_later(max(0.0, when_s - time.monotonic()), call, *arguments)

    def _changed(self, job: Job, behind: int, gone: list[int]) -> None:
        assert self.publisher is not None, "only told where there are events"
        text = getattr(job, "text", "")
        self.publisher.changed(time.time(), job.keys, behind, text, gone)

    async def listen(self) -> None:
        """Take connections, on the port that it had before."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        self._server = await self.loop.create_server(
            lambda: Connection(self), sock=listener, backlog=8192
        )
        self.stopping = False

    def kill(self) -> None:
        """End at once, as SIGKILL would: what is open is cut."""
        assert self._server is not None, "it listens"
        self._server.close()
        for connection in list(self.connections):
            connection.abort()

    async def restart(self, down_s: float) -> None:
        """End as SIGTERM would: answer what has been asked, then go; come back empty."""
        assert self._server is not None, "it listens"
        self._server.close()
        self.stopping = True
        for connection in list(self.connections):
            connection.close_if_idle()
        for _ in range(3000):
            if not self.connections:
                break
            await asyncio.sleep(0.01)
        await asyncio.sleep(down_s)
        self.engine.cache.clear()
        if self.publisher is not None:
            self.publisher.restarted()
        await self.listen()

    def reset(self, *, cache: bool = True) -> None:
        """Count from zero, and hold nothing."""
        self.engine.counts = Counts()
        if cache:
            self.engine.cache.clear()
            if self.publisher is not None:
                self.publisher.cleared(time.time())
        self.accepted = 0
        self.asked = {}

    def counts(self) -> dict[str, Any]:
        """What was asked and found."""
        return {
            **asdict(self.engine.counts),
            "connections": self.accepted,
            "open": len(self.connections),
            "running": self.engine.running,
            "waiting": len(self.engine.waiting),
            "asked": self.asked,
        }

    def page(self, path: bytes, body: bytes) -> tuple[bytes, bytes, bytes]:
        """Status, kind and body of what is not generation."""
        kind = b"application/json"
        if path == b"/health":
            return (b"503 Stopping" if self.stopping else b"200 OK"), kind, b"{}"
        if path == b"/v1/models":
            return b"200 OK", kind, b'{"object":"list","data":[{"id":"fake","object":"model"}]}'
        if path == b"/metrics":
            return b"200 OK", b"text/plain; version=0.0.4", self._metrics()
        if path in {b"/get_server_info", b"/server_info", b"/get_model_info", b"/model_info"}:
            return b"200 OK", kind, b'{"model_path":"fake","served_model_name":"fake","dp_size":1}'
        if path == b"/version":
            return b"200 OK", kind, b'{"version":"0.33.0"}'
        if self.spec.tokenize and path in {b"/tokenize", b"/v1/chat/completions/render"}:
            return b"200 OK", kind, _tokens(body)
        if path == b"/reset_prefix_cache":
            self.engine.cache.clear()
            if self.publisher is not None:
                self.publisher.cleared(time.time())
            return b"200 OK", kind, b"{}"
        return b"404 Not Found", kind, b'{"error":{"message":"there is no such page"}}'

    def _metrics(self) -> bytes:
        counts = self.engine.counts
        used = len(self.engine.cache) / self.costs.capacity_blocks
        per = CHARACTERS
        return (
            f"# TYPE vllm:num_requests_running gauge\n"
            f'vllm:num_requests_running{{model_name="fake"}} {self.engine.running}\n'
            f"# TYPE vllm:num_requests_waiting gauge\n"
            f'vllm:num_requests_waiting{{model_name="fake"}} {len(self.engine.waiting)}\n'
            f"# TYPE vllm:kv_cache_usage_perc gauge\n"
            f'vllm:kv_cache_usage_perc{{model_name="fake"}} {used:.4f}\n'
            f"# TYPE vllm:prefix_cache_queries counter\n"
            f'vllm:prefix_cache_queries_total{{model_name="fake"}} {counts.characters // per}\n'
            f"# TYPE vllm:prefix_cache_hits counter\n"
            f'vllm:prefix_cache_hits_total{{model_name="fake"}} '
            f"{counts.cached_blocks * 64 // per}\n"
        ).encode()


def _tokens(body: bytes) -> bytes:
    asked = answers.read(body)
    tokens = token_ids(asked.text)
    return msgspec.json.encode(
        {"count": len(tokens), "max_model_len": 1 << 20, "tokens": tokens, "token_ids": tokens}
    )


class Connection(asyncio.Protocol):
    """One connection to a worker: requests one after the other."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._path = b""
        self._body: list[bytes] = []
        self._job: Job | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it."""
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write"), "a stream"
        self._transport = transport  # type: ignore[assignment]  # uvloop's is one by duck typing
        self._worker.connections.add(self)
        self._worker.accepted += 1

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # the protocol's
        """What was asked on it is no longer wanted."""
        self._worker.connections.discard(self)
        self._transport = None
        if self._job is not None:
            self._worker.engine.cancel(self._job)

    def abort(self) -> None:
        """Cut it."""
        if self._transport is not None:
            self._transport.abort()

    def close_if_idle(self) -> None:
        """Close it unless it owes an answer."""
        if self._job is None and self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Parse; what is no HTTP is cut."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.abort()

    def on_url(self, url: bytes) -> None:
        """A request begins."""
        self._path += url

    def on_body(self, body: bytes) -> None:
        """Part of a body."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        path, body = self._path.partition(b"?")[0], b"".join(self._body)
        self._path, self._body = b"", []
        asked = self._worker.asked
        name = path.decode("latin-1")
        asked[name] = asked.get(name, 0) + 1
        dialect = DIALECTS.get(path)
        if dialect is None:
            status, kind, data = self._worker.page(path, body)
            self._write(answers.head(status, len(data), kind) + data)
            return
        try:
            wanted = answers.read(body)
        except (ValueError, KeyError, TypeError):
            data = b'{"error":{"message":"not a request","type":"invalid_request_error"}}'
            self._write(answers.head(b"400 Bad Request", len(data)) + data)
            return
        self._generate(dialect, wanted)

    def _generate(self, dialect: Dialect, asked: Asked) -> None:
        self._job = job = _TextJob(
            keys=chain(asked.text),
            characters=len(asked.text),
            tokens=asked.tokens,
            stream=asked.stream,
            first=lambda _: self._write(dialect.first),
            token=lambda _, count: self._write(dialect.token * count),
            done=lambda done: self._done(dialect, asked, done),
        )
        job.text = asked.text
        self._worker.engine.submit(job)

    def _done(self, dialect: Dialect, asked: Asked, job: Job) -> None:
        per = CHARACTERS
        figures = (job.characters // per, job.cached_blocks * 64 // per, job.tokens)
        if job.stream:
            self._write(dialect.end(*figures, include_usage=asked.include_usage))
        else:
            self._write(dialect.plain(*figures))
        self._job = None
        if self._worker.stopping and self._transport is not None:
            self._transport.close()

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


@dataclass(slots=True)
class _TextJob(Job):
    """A job whose text is kept for its events."""

    text: str = ""


async def control(
    workers: list[Worker], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer one call of the control page."""
    line = (await reader.readline()).decode()
    parts = urlsplit(line.split(" ")[1])
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    chosen = [workers[int(query["worker"])]] if "worker" in query else workers
    found: Any = {}
    if parts.path == "/counts":
        found = {"cpu_s": time.process_time(), "workers": [each.counts() for each in chosen]}
    elif parts.path == "/reset":
        for each in chosen:
            each.reset(cache=query.get("cache") != "0")
    elif parts.path == "/release":
        for each in chosen:
            each.engine.release()
    elif parts.path == "/kill":
        for each in chosen:
            each.kill()
    elif parts.path == "/restart":
        for each in chosen:
            await each.restart(float(query.get("down_s", "0.5")))
    data = json.dumps(found).encode()
    writer.write(answers.head(b"200 OK", len(data)) + data)
    writer.close()


async def serve(spec: Spec) -> None:
    """Run until told to end."""
    workers = [Worker(spec) for _ in range(spec.workers)]
    for each in workers:
        await each.listen()
    server = await asyncio.start_server(
        lambda reader, writer: control(workers, reader, writer), "127.0.0.1", 0
    )
    said = {
        "control": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}",
        "urls": [f"http://127.0.0.1:{each.port}" for each in workers],
        "events": [each.publisher.endpoint for each in workers if each.publisher],
        "replays": [each.publisher.replay_endpoint for each in workers if each.publisher],
        "pid": os.getpid(),
    }
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()
    while True:
        for each in workers:
            if each.publisher is not None:
                each.publisher.answer_replays()
        await asyncio.sleep(0.05 if spec.events else 3600)


def main() -> None:
    """Start as the one argument says."""
    spec = msgspec.json.decode(sys.argv[1] if len(sys.argv) > 1 else "{}", type=Spec)
    uvloop.run(serve(spec))


if __name__ == "__main__":
    main()
