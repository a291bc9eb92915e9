"""Chat Completions and Messages over HTTP, with a cache that reads the longest common prefix.

Tokens are a quarter of the characters of what a model reads, in the provider's order. Messages
writes and reads only where something is marked. What the model's name ends with says how it fails:

| name ends with | answer |
|---|---|
| `-refused` | 400 |
| `-busy` | 429 the first time, then as usual |
| `-broken` | a stream that breaks off behind its first event |
| `-endless` | a stream of texts until the client leaves |
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["FakeModels", "fake_models"]

_MESSAGES = ("/messages", "/invoke", ":rawPredict")


@dataclass
class FakeModels:
    """What was sent, and what it holds."""

    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    busy: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    answer: str = "Very well."

    def usage(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """What it would report, and remembers the prompt."""
        text = json.dumps([body.get(name) for name in ("tools", "system", "messages")])
        marked = "cache_control" in text
        text = text.replace(', "cache_control": {"type": "ephemeral"}', "")
        with self.lock:
            shared = max((_common(text, one) for one in self.texts), default=0) // 4
            self.texts.append(text)
        total = len(text) // 4
        read = shared if shared >= 1024 else 0
        if path.endswith(_MESSAGES):
            read = read if marked else 0
            return {
                "input_tokens": 0 if marked else total,
                "cache_creation_input_tokens": total - read if marked else 0,
                "cache_read_input_tokens": read,
                "output_tokens": 3,
            }
        return {
            "prompt_tokens": total,
            "completion_tokens": 3,
            "total_tokens": total + 3,
            "prompt_tokens_details": {"cached_tokens": read // 128 * 128},
        }


def _common(one: str, other: str) -> int:
    for at, (ours, theirs) in enumerate(zip(one, other, strict=False)):
        if ours != theirs:
            return at
    return min(len(one), len(other))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet, or the client acknowledges late
    models: FakeModels

    def do_POST(self) -> None:  # as the library calls it
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        path = self.path.partition("?")[0]
        self.models.raw.append(raw)
        self.models.bodies.append(body)
        model = str(body.get("model") or path.split("/")[-2])
        if model.endswith("-refused"):
            self._whole({"error": {"type": "invalid_request_error", "message": "no"}}, 400)
            return
        if model.endswith("-busy") and model not in self.models.busy:
            self.models.busy.add(model)
            self._whole({"error": {"type": "rate_limit_error", "message": "later"}}, 429)
            return
        usage = self.models.usage(path, body)
        messages = path.endswith(_MESSAGES)
        if body.get("stream"):
            made = _message_events if messages else _chat_events
            events = made(model, self.models.answer, usage, body)
            self._stream(events, broken=model.endswith("-broken"))
            return
        make = _message if messages else _chat
        self._whole(make(model, self.models.answer, usage), 200)

    def _whole(self, value: object, status: int) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        if status == 429:
            self.send_header("retry-after", "0")
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[dict[str, Any] | str], *, broken: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for event in events:
                data = b""
                if isinstance(event, dict) and "type" in event:
                    data = b"event: " + event["type"].encode() + b"\n"
                text = event if isinstance(event, str) else json.dumps(event)
                data += b"data: " + text.encode() + b"\n\n"
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                self.wfile.flush()
                if broken:
                    self.close_connection = True
                    return
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Says nothing."""


def _chat(model: str, text: str, usage: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": f"chatcmpl-{usage['prompt_tokens']}",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage,
    }


def _message(model: str, text: str, usage: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def _chat_events(
    model: str, text: str, usage: dict[str, Any], body: dict[str, Any]
) -> Iterator[dict[str, Any] | str]:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    for delta, reason in (({"role": "assistant", "content": text}, None), ({}, "stop")):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield {**base, "choices": [choice]}
    while model.endswith("-endless"):
        choice = {"index": 0, "delta": {"content": text * 99}, "finish_reason": None}
        yield {**base, "choices": [choice]}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**base, "choices": [], "usage": usage}
    yield "[DONE]"


def _message_events(
    model: str, text: str, usage: dict[str, Any], body: dict[str, Any]
) -> Iterator[dict[str, Any] | str]:
    del body
    message = {**_message(model, text, usage), "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": message}
    yield {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }
    delta = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
    }
    yield delta
    while model.endswith("-endless"):
        yield delta
    yield {"type": "content_block_stop", "index": 0}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 3},
    }
    yield {"type": "message_stop"}


@contextmanager
def fake_models() -> Iterator[FakeModels]:
    """A running server."""
    models = FakeModels()
    handler = type("Handler", (_Handler,), {"models": models})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    models.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield models
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
