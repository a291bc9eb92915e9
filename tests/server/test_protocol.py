"""What one connection may cost, and that a client which leaves is noticed."""

import asyncio
import json
import socket
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from stemcache.server import protocol
from tests.server.live_server import LiveServer, serve
from tests.server.stage import Stage, play

LONG = json.dumps(
    {"model": "toy", "prompt": "Go on", "max_tokens": 3000, "ignore_eos": True, "n": 20}
).encode()
SHORT = json.dumps({"model": "toy", "prompt": "Go", "max_tokens": 2, "ignore_eos": True}).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[LiveServer]:
    """A slow server that takes few connections."""
    flags = ("--chunk-tokens", "1", "--max-running", "1", "--max-waiting", "20")
    with serve(*flags) as one:
        yield one


def connect(server: LiveServer) -> socket.socket:
    """A connection to it."""
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def post(body: bytes, headers: bytes = b"") -> bytes:
    """A request for a completion, as bytes."""
    return b"POST /v1/completions HTTP/1.1\r\nhost: toy\r\n%bcontent-length: %d\r\n\r\n%b" % (
        headers,
        len(body),
        body,
    )


def answer(connection: socket.socket) -> tuple[int, Any]:
    """Status and JSON of the next answer."""
    response = HTTPResponse(connection, method="POST")
    response.begin()
    return response.status, json.loads(response.read())


UPGRADE = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"


@pytest.mark.parametrize("parts", [1, 2, 40])
def test_an_offer_of_another_protocol_is_answered_in_this_one(
    server: LiveServer, parts: int
) -> None:
    """Curl with --http2 and Java's HttpClient send one with each request; the body is kept."""
    raw = post(SHORT, UPGRADE)
    step = -(-len(raw) // parts)
    with connect(server) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(2):
            for at in range(0, len(raw), step):
                connection.sendall(raw[at : at + step])
            status, body = answer(connection)
            assert status == 200, body
            assert body["usage"]["completion_tokens"] == 2


def test_a_tunnel_is_refused(server: LiveServer) -> None:
    """The server is no proxy."""
    with connect(server) as connection:
        connection.sendall(b"CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n")
        status, body = answer(connection)
    assert (status, body["error"]["message"]) == (
        405,
        "CONNECT is for proxies, and this is none; use GET or POST",
    )


def test_what_is_not_http_is_refused(server: LiveServer) -> None:
    """In the shape of all errors."""
    with connect(server) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
        status, body = answer(connection)
    assert (status, body["error"]["message"]) == (400, "this is no valid HTTP/1.1")


def test_a_client_that_leaves_with_a_request_sent_ahead_is_noticed(server: LiveServer) -> None:
    """What runs is cancelled, what waits is never begun, and nothing is called a failure."""
    before = server.wait_until_idle()
    with connect(server) as connection:
        connection.sendall(post(LONG))
        server.wait_for("stemcache_requests_running", 1)
        connection.sendall(post(LONG) + post(LONG))
    metrics = server.wait_until_idle()
    made = "stemcache_completion_tokens_total"
    assert metrics[made] - before[made] < 20 * 3000
    assert metrics["stemcache_requests_total{client_left}"] == 1
    assert metrics.get("stemcache_requests_total{failed}", 0) == 0
    assert "Traceback" not in str(server.log)


def test_requests_sent_ahead_are_answered_in_their_order(server: LiveServer) -> None:
    """However many there are, and however they are cut."""
    raw = b"".join(
        post(json.dumps({"model": "toy", "prompt": "a" * n, "max_tokens": 1}).encode())
        for n in range(1, 9)
    )
    with connect(server) as connection:
        file = connection.makefile("rb")
        connection.sendall(raw[:700])
        connection.sendall(raw[700:])
        for n in range(1, 9):
            assert file.readline() == b"HTTP/1.1 200 OK\r\n"
            length = 0
            while (line := file.readline()) != b"\r\n":
                if line.startswith(b"content-length:"):
                    length = int(line.split()[1])
            assert json.loads(file.read(length))["usage"]["prompt_tokens"] == n


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET /health HTTP/1.1\r\nhost: a\r\nx-long: " + b"a" * 200_000,
        b"GET /health HTTP/1.1\r\nhost: a\r\n" + b"x-many: aaaaaaaaaaaaaaaaaaaa\r\n" * 6000,
    ],
    ids=["address", "unfinished header", "many headers"],
)
def test_a_head_that_is_too_large_is_refused(server: LiveServer, head: bytes) -> None:
    """Complete or not, and before any key is looked at."""
    with connect(server) as connection:
        connection.sendall(head[:60_000])
        try:
            connection.sendall(head[60_000:])
        except ConnectionError:
            return  # refused while it was still being sent
        try:
            status, body = answer(connection)
        except ConnectionError:
            return
    assert (status, body["error"]["message"]) == (
        431,
        "address and headers are larger than 65536 bytes together; send less",
    )


def test_connections_are_bounded(server: LiveServer) -> None:
    """One too many is told so; those that are open go on."""
    opened = []
    try:
        for _ in range(1 + 20 + 128):
            opened.append(connect(server))
            opened[-1].sendall(b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
            assert answer(opened[-1])[0] == 200
        with connect(server) as late:
            status, body = answer(late)
        opened[0].sendall(b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n")
        assert answer(opened[0])[0] == 200
    finally:
        for connection in opened:
            connection.close()
    assert (status, body["error"]["message"]) == (
        503,
        "149 connections are open, and no more are taken; try again later",
    )


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", None),
        (b"GET /health HTTP/1.1\r\nhost", 408),
        (b"POST /tokenize HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{", 408),
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_who_does_not_go_on_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, sent: bytes, status: int | None
) -> None:
    """With an answer, where a request had begun."""
    monkeypatch.setattr(protocol, "_PATIENCE_S", 0.05)

    async def body(stage: Stage) -> None:
        config = Config(stage.app, ws="none", lifespan="off", log_config=None)
        state = ServerState()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: protocol.Protocol(config, state, {}), "127.0.0.1", 0
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(sent)
            answered = await reader.read()
            writer.close()
        if status is None:
            assert answered == b""
        else:
            assert answered.startswith(b"HTTP/1.1 %d " % status)
            assert b"the rest of the request did not come within 0.05 s; send it" in answered

    play(body)
