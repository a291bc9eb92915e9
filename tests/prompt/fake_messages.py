"""Anthropic's Messages API as its pages describe it: it answers, or refuses with the reason."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from stemcache.provider.book import load_book
from stemcache.provider.rule import Rule

__all__ = ["FakeMessages", "fake_messages", "faults"]

_MARKED = {"text", "image", "document", "tool_use", "tool_result"}
_USERS = {"text", "image", "document", "tool_result"}
_MODELS = {"text", "thinking", "redacted_thinking", "tool_use"}


def faults(body: dict[str, Any]) -> list[str]:
    """Why the API would answer 400; empty where it would not."""
    found = [name for name in ("model", "max_tokens", "messages") if not body.get(name)]
    found += _mark_faults(body)
    for i, block in enumerate(body.get("system", [])):
        if block["type"] != "text" or not block["text"].strip():
            found.append(f"system.{i}: no text")
    due: list[str] = []
    for i, message in enumerate(body.get("messages", [])):
        role, content = message["role"], message["content"]
        if role != ("user" if i % 2 == 0 else "assistant"):
            found.append(f"messages.{i}: roles do not alternate from user on")
        if not content:
            found.append(f"messages.{i}: empty")
        for j, block in enumerate(content):
            if block["type"] not in (_USERS if role == "user" else _MODELS):
                found.append(f"messages.{i}.{j}: {block['type']} is no {role}'s")
            if block["type"] == "text" and not block["text"].strip():
                found.append(f"messages.{i}.{j}: text without non-whitespace text")
        found += _result_faults(i, content, due)
        due = [block["id"] for block in content if block["type"] == "tool_use"]
        if due and content[-1]["type"] == "text":
            found.append(f"messages.{i}: text behind tool_use")
    return found + [f"{name}: no result" for name in due]


def _result_faults(number: int, content: list[dict[str, Any]], due: list[str]) -> list[str]:
    given = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    found = []
    if sorted(given) != sorted(due):
        found.append(f"messages.{number}: results for {given}, but calls {due}")
    if any(block["type"] != "tool_result" for block in content[: len(given)]):
        found.append(f"messages.{number}: tool_result behind other content")
    for block in content:
        inner = block.get("content") if block["type"] == "tool_result" else None
        texts = [one.get("text", "x") for one in inner] if isinstance(inner, list) else []
        if not all(text.strip() for text in texts):
            found.append(f"messages.{number}: empty text in a result")
    return found


@cache
def _rule() -> Rule:
    return load_book().rule("anthropic")


def _mark_faults(body: dict[str, Any]) -> list[str]:
    rule = _rule()
    blocks = [*body.get("tools", []), *body.get("system", [])]
    blocks += [block for message in body.get("messages", []) for block in message["content"]]
    marked = [block for block in blocks if "cache_control" in block]
    found = []
    if rule.most_markers is not None and len(marked) > rule.most_markers:
        found.append(f"{len(marked)} blocks with cache_control")
    for block in marked:
        kind = block.get("type", "tool")
        if kind not in {*_MARKED, "tool"} or (kind == "text" and not block["text"].strip()):
            found.append(f"cache_control on {kind}")
    order = [ttl.name for ttl in rule.ttls]
    ttls = [order.index(block["cache_control"].get("ttl", order[0])) for block in marked]
    if rule.ttl_order and ttls != sorted(ttls, reverse=True):
        found.append("a longer ttl behind a shorter one")
    return found


@dataclass
class FakeMessages:
    """A server on this machine and what it was sent."""

    url: str
    bodies: list[bytes] = field(default_factory=list)


@contextmanager
def fake_messages() -> Iterator[FakeMessages]:
    """Serve until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            fake.bodies.append(data)
            found = faults(json.loads(data))
            answer: dict[str, Any] = {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [{"type": "text", "text": "ok"}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
            if found:
                error = {"type": "invalid_request_error", "message": "; ".join(found)}
                answer = {"type": "error", "error": error}
            out = json.dumps(answer).encode()
            self.send_response(400 if found else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(out)))
            self.end_headers()
            self.wfile.write(out)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake = FakeMessages(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
