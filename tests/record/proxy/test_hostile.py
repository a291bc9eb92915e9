"""What strangers may send to the proxy, and what a provider may answer."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from stemcache.record.proxy import client as client_module
from tests.record.fake_provider import FakeProvider
from tests.record.live_proxy import NearProxy, near_proxy
from tests.record.made import BODY


def said(live: NearProxy, request: bytes, *, close: bool = False) -> bytes:
    """All that the proxy answers until it closes the connection."""
    host, port = live.url.removeprefix("http://").split(":")
    data = b""
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        sock.sendall(request)
        if close:
            sock.shutdown(socket.SHUT_WR)
        while part := sock.recv(65536):
            data += part
    return data


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"GET http://other/ HTTP/1.1\r\nhost: other\r\n\r\n", 400),
        (b"CONNECT other:443 HTTP/1.1\r\nhost: other:443\r\n\r\n", 400),
        (b"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc", 400),
        (
            b"POST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\nabc",
            400,
        ),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nx: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000 + b"\r\n", 431),
    ],
)
def test_what_is_no_request_is_refused(
    live: NearProxy, fake: FakeProvider, request_bytes: bytes, status: int
) -> None:
    """With a status and a reason, and nothing of it reaches the provider."""
    answer = said(live, request_bytes)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b'"type":"stemcache_record"' in answer
    assert fake.received == []


def test_bad_chunks_are_refused(live: NearProxy) -> None:
    """In the middle of a body: the call to the provider is given up."""
    answer = said(
        live, b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("beginning", [b"GET / HT", b"GET / HTTP/1.1\r\nx: ", b""])
def test_a_head_that_does_not_come_is_not_waited_for(
    live: NearProxy, monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    """A client that dribbles, or says nothing at all, loses its connection."""
    monkeypatch.setattr(client_module, "_HEAD_S", 0.05)
    answer = said(live, beginning)
    assert answer.startswith(b"HTTP/1.1 408 ") or (answer == b"" and beginning == b"")


def test_a_body_that_does_not_come_is_not_waited_for(
    live: NearProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider's connection is given up too."""
    monkeypatch.setattr(client_module, "_BODY_S", 0.05)
    answer = said(live, b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc")
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_too_many_connections_are_refused(live: NearProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are open go on."""
    monkeypatch.setattr(client_module, "_MOST_CONNECTIONS", 1)
    with httpx.Client() as client:
        assert client.get(f"{live.url}/v1/models").status_code == 200
        assert said(live, b"").startswith(b"HTTP/1.1 503 ")
        assert client.get(f"{live.url}/v1/models").status_code == 200


def test_an_offer_of_another_protocol_is_not_taken_up(live: NearProxy, fake: FakeProvider) -> None:
    """As curl and Java make it: the request is answered in HTTP/1.1, body and all."""
    answer = said(
        live,
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\n"
        b"Upgrade: h2c\r\nHTTP2-Settings: x\r\ncontent-length: %d\r\n\r\n%b" % (len(BODY), BODY),
    )
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert fake.received[0].body == BODY
    assert not {"upgrade", "http2-settings", "connection"} & fake.received[0].headers.keys()


def test_old_http_is_answered_without_chunks(live: NearProxy, fake: FakeProvider) -> None:
    """HTTP/1.0: the end of the connection is the end of a stream."""
    body = b'{"model": "plain", "stream": true, "messages": []}'
    answer = said(
        live, b"POST /v1/messages HTTP/1.0\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    )
    head, _, got = answer.partition(b"\r\n\r\n")
    assert b"chunked" not in head.lower()
    assert got == fake.sent[0]


@contextmanager
def answering(
    tmp_path: Path, answer: Callable[[asyncio.StreamWriter], None], *, after: bytes = b"\r\n\r\n"
) -> Iterator[NearProxy]:
    """A proxy before a provider that writes one answer, whatever it is, and closes."""
    stop: list[Callable[[], object]] = []
    ready = threading.Event()
    address: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(after)
        answer(writer)
        await writer.drain()
        writer.close()

    async def main() -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(ended.set))
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        address.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        ready.set()
        await ended.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        with near_proxy(address[0], tmp_path / "calls.jsonl") as live:
            yield live
    finally:
        stop[0]()
        thread.join(10)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"nonsense\r\n\r\n", "sent what is no HTTP/1.1 answer"),
        (b"\x00" * 100, "sent what is no HTTP/1.1 answer"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"a" * 70_000, "sent a head larger than 65536 bytes"),
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\nzz", "sent what is no HTTP"),
        (b"HTTP/1.1 200 OK\r\nx", "closed the connection in the middle of its answer"),
        (b"", "closed the connection before it answered"),
    ],
)
def test_a_bad_answer_is_a_502(tmp_path: Path, answer: bytes, message: str) -> None:
    """That says what is wrong with it."""
    with answering(tmp_path, lambda writer: writer.write(answer)) as live:
        got = httpx.get(f"{live.url}/v1/models")
    assert got.status_code == 502
    assert message in got.json()["error"]["message"]


def test_an_answer_without_a_length_goes_through(tmp_path: Path) -> None:
    """It ends with the connection, and is chunked for the client."""
    answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nto the end"
    with answering(tmp_path, lambda writer: writer.write(answer)) as live:
        got = httpx.get(f"{live.url}/v1/models")
    assert (got.content, got.headers["transfer-encoding"]) == (b"to the end", "chunked")


def test_interim_answers_and_trailers_are_dropped(tmp_path: Path) -> None:
    """The final answer is what the client gets."""
    answer = (
        b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-trailer: 1\r\n\r\n"
    )
    with answering(tmp_path, lambda writer: writer.write(answer)) as live:
        got = httpx.get(f"{live.url}/v1/models")
    assert (got.status_code, got.content) == (200, b"abc")
    assert not {"link", "x-trailer"} & got.headers.keys()


@pytest.mark.parametrize("status", [204, 304])
def test_answers_without_a_body_go_through(tmp_path: Path, status: int) -> None:
    """There is no length and nothing is waited for."""
    answer = b"HTTP/1.1 %d X\r\netag: x\r\n\r\n" % status
    with answering(tmp_path, lambda writer: writer.write(answer)) as live:
        got = httpx.get(f"{live.url}/v1/models")
    assert (got.status_code, got.content) == (status, b"")


def test_an_answer_before_the_end_of_the_request_goes_through(tmp_path: Path) -> None:
    """A 413, say: the client gets it, and the connection is closed."""
    answer = b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno"
    with answering(tmp_path, lambda writer: writer.write(answer)) as live:
        got = said(
            live, b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 99999\r\n\r\nabc"
        )
    assert got.startswith(b"HTTP/1.1 413 Too Large\r\n")
    assert got.endswith(b"\r\n\r\nno")
    assert b"Connection: close" in got


def test_two_answers_to_one_request_are_one(tmp_path: Path) -> None:
    """What comes unasked reaches nobody."""
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok" * 2
    with answering(tmp_path, lambda writer: writer.write(answer)) as live, httpx.Client() as client:
        got = client.get(f"{live.url}/v1/models")
        assert got.content == b"ok"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"[" * 100_000),
        ("application/json", b'{"usage":' * 10_000),
        ("application/json", b'{"usage": {"input_tokens": 1e999}, "id": 5}'),
        ("application/json", b'{"usage": [1], "id": {}, "error": [], "diagnostics": "x"}'),
        ("application/json", b'{"id": "\\ud800", "usage": {"a": NaN}}'),
        ("application/json", b'{"usage": {"input_tokens": %b}}' % (b"9" * 10_000)),
        ("text/event-stream", b"data: [" * 10_000),
        ("text/event-stream", b'data: {"usage": {"x": 1}}\n\n' * 10_000),
        ("text/event-stream", b"data: 1\r\r\ndata: {}\n\n\n:\nevent\n\xff\xfe"),
        ("application/vnd.amazon.eventstream", b"\xff" * 1000),
        ("application/vnd.amazon.eventstream", b"\x00\x00\x00\x00" * 100),
        ("application/vnd.amazon.eventstream", b"\x00\x00\x00\x10\x00\x00\xff\xff" + b"\0" * 8),
        ("", b""),
        ("text/html", b"<html>"),
    ],
)
def test_an_answer_that_cannot_be_read_is_recorded_without(
    tmp_path: Path, kind: str, body: bytes
) -> None:
    """It goes through as it is; the record is there all the same."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
    answer = head % (kind.encode(), len(body)) + body
    with answering(tmp_path, lambda writer: writer.write(answer), after=BODY) as live:
        got = httpx.post(f"{live.url}/v1/messages", content=BODY)
        (record,) = live.records()
    assert got.content == body
    assert (record["status"], record["failed"]) == (200, None)
    assert live.recorder.tally.lost == 0


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"messages": ' + b"[" * 100_000,
        b'{"messages": "\xff\xfe"}',
        b'{"messages": ["\\ud83d"]}',
        b'{"messages": [1e999, NaN]}',
        b'{"messages": {}, "tools": 5, "mcp_servers": "authorization"}',
        b'{"messages": [], "tools": [{"type": "mcp", "headers": [1], "authorization": {}}]}',
        b"\xef\xbb\xbf{}",
        b"null",
        b"",
    ],
)
def test_a_body_that_is_no_request_fails_nothing(
    live: NearProxy, fake: FakeProvider, body: bytes
) -> None:
    """It is relayed; where it could be a prompt it is recorded as it is."""
    httpx.post(f"{live.url}/v1/messages", content=body)

    records = live.records()
    assert fake.received[0].body == body
    assert live.recorder.tally.lost == 0
    assert len(records) == (b"messages" in body)
