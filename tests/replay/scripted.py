"""A server in the test's own event loop that answers with given bytes, whatever they are."""

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from queue import Queue

__all__ = [
    "Scripted",
    "anthropic_stream",
    "json_answer",
    "scripted",
    "sse",
    "stream",
    "threaded",
    "whole",
]

Answer = bytes | Sequence[bytes] | Callable[["Asked"], "bytes | Sequence[bytes]"]
"""Bytes to send, or parts with a moment between them."""


@dataclass
class Asked:
    """One request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int


@dataclass
class Scripted:
    """Where it is, and what it was asked."""

    port: int
    answer: Answer
    close_after: bool = False
    """Close the connection after each answer, without having said so."""
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        """Of the server."""
        return f"http://127.0.0.1:{self.port}"


def whole(status: str, body: bytes, *headers: str) -> bytes:
    """An answer with a length."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def json_answer(value: object, status: str = "200 OK") -> bytes:
    """An answer of JSON."""
    return whole(status, json.dumps(value).encode(), "content-type: application/json")


def sse(*events: object) -> bytes:
    """Events of OpenAI's; text is passed on as it is."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in events]
    return b"".join(b"data: " + line.encode() + b"\n\n" for line in lines)


def token(text: str = " a", finish: str | None = None) -> dict[str, object]:
    """An event of a completion and of a chat at once."""
    choice = {"index": 0, "text": text, "delta": {"content": text}, "finish_reason": finish}
    return {"choices": [choice]}


def usage(prompt: int, cached: int | None, output: int) -> dict[str, object]:
    """The last event but [DONE]."""
    details = None if cached is None else {"cached_tokens": cached}
    counts = {"prompt_tokens": prompt, "completion_tokens": output}
    return {"choices": [], "usage": {**counts, "prompt_tokens_details": details}}


def stream(*parts: bytes, end: bool = True) -> list[bytes]:
    """A chunked event stream, a chunk a part; by default an answer of two tokens."""
    bodies = parts or (
        sse(token()),
        sse(token("b", "length")),
        sse(usage(10, 4, 2), "[DONE]"),
    )
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    chunks = [b"%x\r\n%b\r\n" % (len(body), body) for body in bodies]
    return [head, *chunks, *([b"0\r\n\r\n"] if end else [])]


def anthropic_stream() -> list[bytes]:
    """One of Anthropic's."""
    counts = {"input_tokens": 4, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 0}
    events = [
        {"type": "message_start", "message": {"usage": {**counts, "output_tokens": 1}}},
        {"type": "ping"},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "b"}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "max_tokens"},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]
    return stream(*(b"event: x\r\n" + sse(each) for each in events))


@asynccontextmanager
async def scripted(answer: Answer, *, close_after: bool = False) -> AsyncIterator[Scripted]:
    """Serve until the block ends."""
    made = Scripted(0, answer, close_after)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.connections += 1
        number = made.connections
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                first, *lines = head.strip().split("\r\n")
                method, path, _ = first.split(" ")
                headers = dict(line.split(": ", 1) for line in lines)
                asked = Asked(method, path, headers, body, number)
                made.asked.append(asked)
                said = made.answer(asked) if callable(made.answer) else made.answer
                for part in (said,) if isinstance(said, bytes) else said:
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0)
                if made.close_after:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


@contextmanager
def threaded(answer: Answer, *, close_after: bool = False) -> Iterator[Scripted]:
    """The same in a thread, for what has an event loop of its own."""
    ready: Queue[Scripted] = Queue()
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def main() -> None:
        async with scripted(answer, close_after=close_after) as server:
            ready.put(server)
            await ended.wait()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    try:
        yield ready.get(timeout=20)
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(20)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
