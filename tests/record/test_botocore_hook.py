"""A real Bedrock client against a local endpoint that speaks as Bedrock does."""

import json
import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import botocore.session  # type: ignore[import-untyped]  # it has no types
import pytest
from botocore.config import Config  # type: ignore[import-untyped]  # see above
from botocore.exceptions import (  # type: ignore[import-untyped]  # see above
    ClientError,
    EndpointConnectionError,
)

from stemcache.record.botocore_hook import record_bedrock
from stemcache.record.record import Keep
from tests.record.live_proxy import read_records

ACCESS, SECRET, TOKEN = "AKIASECRETSECRET1234", "very/secret+key", "session-token-secret-0123456789"
USAGE = {
    "inputTokens": 10,
    "outputTokens": 2,
    "totalTokens": 112,
    "cacheReadInputTokens": 100,
    "cacheWriteInputTokens": 0,
}
CLAUDE_USAGE = {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 2}
MESSAGES: list[Any] = [{"role": "user", "content": [{"text": "Grüße"}]}]


def message(kind: str, payload: dict[str, Any]) -> bytes:
    """One message of Amazon's framing."""
    headers = b""
    for name, value in (
        (":message-type", "event"),
        (":event-type", kind),
        (":content-type", "application/json"),
    ):
        headers += bytes([len(name)]) + name.encode() + b"\x07"
        headers += struct.pack(">H", len(value)) + value.encode()
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    start = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return start + struct.pack(">I", zlib.crc32(start))


class Handler(BaseHTTPRequestHandler):
    """Answers the four operations."""

    bodies: ClassVar[list[bytes]] = []
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # http.server's name
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer by the end of the path."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.bodies.append(body)
        if b"refuse" in body:
            self.answer(b'{"message": "no"}', "application/json", 400, error="ValidationException")
        elif self.path.endswith("/converse"):
            output: dict[str, Any] = {"message": {"role": "assistant", "content": [{"text": "Hi"}]}}
            whole: dict[str, Any] = {
                "output": output,
                "stopReason": "end_turn",
                "usage": USAGE,
                "metrics": {},
            }
            self.answer(json.dumps(whole).encode(), "application/json")
        elif self.path.endswith("/converse-stream"):
            self.answer(
                message("messageStart", {"role": "assistant"})
                + message("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hi"}})
                + message("contentBlockStop", {"contentBlockIndex": 0})
                + message("messageStop", {"stopReason": "end_turn"})
                + message("metadata", {"usage": USAGE, "metrics": {"latencyMs": 1}}),
                "application/vnd.amazon.eventstream",
            )
        elif self.path.endswith("/invoke"):
            whole = {
                "id": "msg_1",
                "model": "claude",
                "content": [{"type": "text", "text": "Hi"}],
                "usage": CLAUDE_USAGE,
            }
            self.answer(json.dumps(whole).encode(), "application/json")
        else:
            events: list[dict[str, Any]] = [
                {
                    "type": "message_start",
                    "message": {"id": "msg_1", "model": "claude", "usage": CLAUDE_USAGE},
                },
                {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 7}},
            ]
            data = b""
            for event in events:
                coded = b64encode(json.dumps(event).encode()).decode()
                data += message("chunk", {"bytes": coded})
            self.answer(data, "application/vnd.amazon.eventstream")

    def answer(self, body: bytes, kind: str, status: int = 200, *, error: str = "") -> None:
        """Send it."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("x-amzn-requestid", "amzn-1")
        self.send_header("x-amzn-bedrock-input-token-count", "10")
        if error:
            self.send_header("x-amzn-errortype", error)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def bedrock() -> Iterator[str]:
    """A running endpoint."""
    Handler.bodies.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def client_of(url: str, *, attempts: int = 1) -> Any:
    """A real client with credentials of its own."""
    session = botocore.session.Session()
    session.set_credentials(ACCESS, SECRET, TOKEN)
    return session.create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        config=Config(retries={"total_max_attempts": attempts, "mode": "standard"}),
    )


def body_of(**more: Any) -> str:
    """Of an InvokeModel for Claude."""
    return json.dumps({"messages": MESSAGES, "max_tokens": 9, **more})


def test_all_four_operations_are_recorded(tmp_path: Path) -> None:
    """Exact bodies, usage, content when asked for; no credential."""
    output = tmp_path / "calls.jsonl"
    with bedrock() as url:
        client = client_of(url)
        recorder = record_bedrock(client, output, keep=Keep(answers=True))
        whole = client.converse(modelId="m", messages=MESSAGES)
        stream = client.converse_stream(modelId="m", messages=MESSAGES)["stream"]
        events = list(stream)
        invoked = client.invoke_model(modelId="m", body=body_of())["body"].read()
        chunks = list(client.invoke_model_with_response_stream(modelId="m", body=body_of())["body"])
        client.close()
    recorder.close()

    assert whole["output"]["message"]["content"] == [{"text": "Hi"}]
    assert [next(iter(event)) for event in events][-1] == "metadata"
    assert json.loads(invoked)["id"] == "msg_1"
    assert len(chunks) == 2
    records = read_records(output)
    assert [r["request"].encode() for r in records] == Handler.bodies
    assert [r["url"].rpartition("/")[2] for r in records] == [
        "converse",
        "converse-stream",
        "invoke",
        "invoke-with-response-stream",
    ]
    assert [r["response"]["usage"] for r in records] == [
        USAGE,
        USAGE,
        CLAUDE_USAGE,
        {**CLAUDE_USAGE, "output_tokens": 7},
    ]
    assert [r["response"]["content"] for r in records[:3]] == [
        [{"text": "Hi"}],
        [{"text": "Hi", "type": "text"}],
        [{"text": "Hi", "type": "text"}],
    ]
    assert [r["failed"] for r in records] == [None] * 4
    assert {r["response_headers"]["x-amzn-requestid"] for r in records} == {"amzn-1"}
    assert len({r["scope"] for r in records}) == 1
    text = output.read_text()
    assert not any(secret in text for secret in (ACCESS, SECRET, TOKEN, "Signature"))


def test_a_refused_call_is_recorded_and_raised(tmp_path: Path) -> None:
    """With its status."""
    with bedrock() as url:
        client = client_of(url)
        recorder = record_bedrock(client, tmp_path / "calls.jsonl")
        with pytest.raises(ClientError, match="ValidationException"):
            client.converse(
                modelId="refuse", messages=[{"role": "user", "content": [{"text": "refuse"}]}]
            )
        client.close()
    recorder.close()

    (record,) = read_records(tmp_path / "calls.jsonl")
    assert (record["status"], record["failed"]) == (400, None)


def test_a_stream_that_is_left_is_recorded_so(tmp_path: Path) -> None:
    """Closed before its end."""
    with bedrock() as url:
        client = client_of(url)
        recorder = record_bedrock(client, tmp_path / "calls.jsonl")
        client.converse_stream(modelId="m", messages=MESSAGES)["stream"].close()
        client.close()
    recorder.close()

    (record,) = read_records(tmp_path / "calls.jsonl")
    assert (record["status"], record["failed"]) == (200, "client_left")


def test_an_endpoint_that_cannot_be_reached_is_recorded_and_raised(tmp_path: Path) -> None:
    """One record for each attempt."""
    client = client_of("http://127.0.0.1:9")
    recorder = record_bedrock(client, tmp_path / "calls.jsonl")
    with pytest.raises(EndpointConnectionError):
        client.converse(modelId="m", messages=MESSAGES)
    client.close()
    recorder.close()

    (record,) = read_records(tmp_path / "calls.jsonl")
    assert (record["status"], record["failed"]) == (None, "no_connection")


def test_a_full_disk_fails_no_call() -> None:
    """The answer comes through."""
    with bedrock() as url:
        client = client_of(url)
        recorder = record_bedrock(client, "/dev/full")
        assert client.converse(modelId="m", messages=MESSAGES)["stopReason"] == "end_turn"
        client.close()
    recorder.close()

    assert recorder.tally.lost == 1


def test_a_recorder_that_fails_fails_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake of ours in the hook itself."""
    with bedrock() as url:
        client = client_of(url)
        recorder = record_bedrock(client, tmp_path / "calls.jsonl")
        monkeypatch.setattr(recorder, "capture", None)
        assert client.converse(modelId="m", messages=MESSAGES)["stopReason"] == "end_turn"
        client.close()
    recorder.close()

    assert recorder.tally.lost == 1
