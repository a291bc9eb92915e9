"""A provider that keeps the bytes it was sent and answers as it is told, in a thread of its own.

What the model is called says how it answers:

| model | answer |
|---|---|
| `plain`, `gzip`, `zstd` | whole, in that encoding |
| `stepwise` | a stream, each event sent when the test says `step` |
| `hang` | nothing, until the client leaves |
| `drop` | a stream that breaks off in the middle |
| `closed` | the connection is closed without an answer |
| `error` | a 500 |
| `large` | 8 MiB of text |

`stream` in the body makes it a stream of the API that the path names.
"""

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import zstandard

__all__ = ["FakeProvider", "Received", "provider"]

CHAT_USAGE = {
    "prompt_tokens": 2000,
    "completion_tokens": 5,
    "total_tokens": 2005,
    "prompt_tokens_details": {"cached_tokens": 1536},
}
RESPONSES_USAGE = {
    "input_tokens": 2000,
    "input_tokens_details": {"cached_tokens": 1536},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 2005,
}
MESSAGES_USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 400,
    "cache_read_input_tokens": 1600,
    "output_tokens": 1,
    "service_tier": "standard",
}


@dataclass
class Received:
    """One request as it came."""

    head: bytes
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        """Names in lower case."""
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {n.strip().lower(): v.strip() for n, _, v in (x.partition(":") for x in lines) if n}


@dataclass
class FakeProvider:
    """What happened so far. Fields are written by the provider's thread."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    """Bodies of answers, encoded."""
    connections: int = 0
    left: threading.Event = field(default_factory=threading.Event)
    """Set when a client left a `hang` or `stepwise` answer."""
    arrived: threading.Event = field(default_factory=threading.Event)
    """Set when a request has been read."""
    steps: "asyncio.Queue[None]" = field(default_factory=asyncio.Queue)
    loop: asyncio.AbstractEventLoop | None = None
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    def step(self) -> None:
        """Let a `stepwise` answer send its next event."""
        assert self.loop is not None
        self.loop.call_soon_threadsafe(self.steps.put_nowait, None)

    def close_all(self) -> None:
        """Close every connection."""
        assert self.loop is not None
        for writer in self.writers:
            self.loop.call_soon_threadsafe(writer.close)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        self.writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                received = Received(head[:-4], b"")
                received.body = await _body(reader, received.headers)
                self.received.append(received)
                self.arrived.set()
                if not await self._answer(received, reader, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, received: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Whether the connection is kept."""
        path = received.head.split()[1].decode().partition("?")[0]
        try:
            body = json.loads(received.body) if received.body else {}
        except ValueError:
            body = {}
        model = body.get("model", "plain")
        match model:
            case "hang":
                await self._until_left(reader)
                return False
            case "closed":
                return False
            case "error":
                error = {"error": {"type": "server_error", "message": "boom", "code": None}}
                await self._send(writer, json.dumps(error).encode(), status=b"500 Oh no")
                return True
        if body.get("stream"):
            return await self._stream(model, path, reader, writer)
        whole = json.dumps(_whole(path, model)).encode()
        encoding = b""
        if model == "gzip":
            whole, encoding = gzip.compress(whole), b"content-encoding: gzip\r\n"
        elif model == "zstd":
            whole, encoding = zstandard.compress(whole), b"content-encoding: zstd\r\n"
        await self._send(writer, whole, headers=encoding, empty=received.head.startswith(b"HEAD"))
        return True

    async def _stream(
        self, model: str, path: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Request-ID: req-1\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        sent = b""
        events = list(_events(path, model))
        for number, event in enumerate(events):
            if model == "stepwise":
                left = asyncio.ensure_future(self._until_left(reader))
                step = asyncio.ensure_future(self.steps.get())
                await asyncio.wait({left, step}, return_when=asyncio.FIRST_COMPLETED)
                left.cancel()
                step.cancel()
                if self.left.is_set():
                    return False
            if model == "drop" and number == len(events) // 2:
                await writer.drain()
                return False
            sent += event
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))
            await writer.drain()
        self.sent.append(sent)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _send(
        self,
        writer: asyncio.StreamWriter,
        body: bytes,
        *,
        status: bytes = b"200 Fine",
        headers: bytes = b"",
        empty: bool = False,
    ) -> None:
        self.sent.append(body)
        writer.write(
            b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nX-Request-ID: req-1\r\n%b"
            b"Content-Length: %d\r\n\r\n%b" % (status, headers, len(body), b"" if empty else body)
        )
        await writer.drain()

    async def _until_left(self, reader: asyncio.StreamReader) -> None:
        if not await reader.read(1):
            self.left.set()


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", ""):
        parts = []
        while size := int(await reader.readline(), 16):
            parts.append(await reader.readexactly(size))
            await reader.readline()
        await reader.readline()
        return b"".join(parts)
    return await reader.readexactly(int(headers.get("content-length", "0")))


def _whole(path: str, model: str) -> dict[str, Any]:
    text = "x" * 8 * 2**20 if model == "large" else "Hello you"
    if path.endswith("/messages"):
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": MESSAGES_USAGE,
            "diagnostics": {"cache_miss_reason": {"type": "tools_changed"}},
        }
    if path.endswith("/responses"):
        return _response("completed", text, RESPONSES_USAGE)
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
        ],
        "usage": CHAT_USAGE,
        "service_tier": "default",
    }


def _response(status: str, text: str, usage: dict[str, Any] | None) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": content,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "plain",
        "status": status,
        "output": [message] if usage else [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def _events(path: str, model: str) -> Iterator[bytes]:
    if path.endswith("/messages"):
        yield from _message_events(model)
    elif path.endswith("/responses"):
        start: dict[str, Any] = {
            "type": "response.created",
            "response": _response("in_progress", "", None),
        }
        end = {
            "type": "response.completed",
            "response": _response("completed", "Hello you", RESPONSES_USAGE),
        }
        delta = {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": "Hello you",
        }
        events: list[dict[str, Any]] = [start, delta, end]
        for number, event in enumerate(events):
            yield _named({**event, "sequence_number": number})
    else:
        base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
        for text in ("Hello", " you"):
            choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
            yield _data({**base, "choices": [choice], "usage": None})
        yield _data({**base, "choices": [], "usage": CHAT_USAGE})
        yield b"data: [DONE]\n\n"


def _message_events(model: str) -> Iterator[bytes]:
    message = {
        **_whole("/messages", model),
        "content": [],
        "stop_reason": None,
    }
    yield _named({"type": "message_start", "message": message})
    block = {"type": "text", "text": ""}
    yield _named({"type": "content_block_start", "index": 0, "content_block": block})
    for text in ("Hello", " you"):
        delta = {"type": "text_delta", "text": text}
        yield _named({"type": "content_block_delta", "index": 0, "delta": delta})
    yield _named({"type": "content_block_stop", "index": 0})
    yield _named(
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 5},
        }
    )
    yield _named({"type": "message_stop"})


def _data(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _named(value: dict[str, Any]) -> bytes:
    return b"event: " + str(value["type"]).encode() + b"\n" + _data(value)


@contextmanager
def provider() -> Iterator[FakeProvider]:
    """A running provider."""
    fake = FakeProvider()
    ready = threading.Event()
    stop: list[asyncio.Event] = []

    async def main() -> None:
        fake.loop = asyncio.get_running_loop()
        stop.append(asyncio.Event())
        server = await asyncio.start_server(fake.handle, "127.0.0.1", 0, limit=2**20)
        fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()
        await stop[0].wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield fake
    finally:
        assert fake.loop is not None
        fake.loop.call_soon_threadsafe(stop[0].set)
        thread.join(10)
