"""Anything at all, from either side: an answer or an end, and never an error of ours."""

import contextlib
import socket
import threading
from collections import Counter
from pathlib import Path
from random import Random

from tests.record.live_proxy import near_proxy

PIECES = (
    b"POST /v1/messages HTTP/1.1\r\n",
    b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 204 No\r\n\r\n",
    b"content-length: 5\r\n",
    b"content-length: 0\r\n\r\n",
    b"transfer-encoding: chunked\r\n",
    b"connection: close\r\n",
    b"connection: upgrade\r\nupgrade: x\r\n",
    b"expect: 100-continue\r\n",
    b"\r\n",
    b"\r\n\r\n",
    b"5\r\nabcde\r\n",
    b"0\r\n\r\n",
    b'{"messages": []}',
    b"data: {}\n\n",
    b"\x00\xff\x80",
    b":",
    b" ",
)


STARTS = {
    "request": (
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\n",
        b"GET /v1/models HTTP/1.1\r\nhost: x\r\n",
        b"HEAD / HTTP/1.1\r\nhost: x\r\n",
        b"POST / HTTP/1.0\r\n",
    ),
    "answer": (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 204 No\r\n",
        b"HTTP/1.0 500 Oh\r\n",
    ),
}
BODIES = (b'{"messages": []}', b'data: {"id": "x"}\n\n', b"", b"x" * 70_000)
HEADERS = (b"connection: close\r\n", b"connection: upgrade\r\nupgrade: x\r\n", b"a: b\r\n", b"")


def made(random: Random, kind: str) -> bytes:
    """A message that may be whole, cut off, damaged, followed by another, or none at all."""
    if random.random() < 0.1:
        return b"".join(random.choices(PIECES, k=random.randint(1, 9)))
    body = random.choice(BODIES)
    data = random.choice(STARTS[kind]) + random.choice(HEADERS)
    match random.randint(0, 2):
        case 0:
            data += b"content-length: %d\r\n\r\n" % len(body) + body
        case 1:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            data += b"transfer-encoding: chunked\r\n\r\n" + chunk + b"0\r\n\r\n"
        case _:
            data += b"\r\n" + (body if kind == "answer" else b"")
    chance = random.random()
    if chance < 0.1:
        at = random.randrange(len(data))
        return data[:at] + random.randbytes(random.randint(0, 3)) + data[at + 1 :]
    if chance < 0.25:
        return data[: random.randrange(len(data))]
    return data + made(random, kind) if chance > 0.9 else data


def test_random_bytes_from_both_sides_break_nothing(tmp_path: Path) -> None:
    """Whatever is sent in whatever pieces, no handler raises and no record is lost."""
    random = Random(20261130)
    stop = threading.Event()
    answers: Counter[bytes] = Counter()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def provide() -> None:
            mine = Random(1)
            while not stop.is_set():
                with contextlib.suppress(OSError):
                    sock, _ = server.accept()
                    with sock:
                        sock.settimeout(0.02)
                        for _ in range(mine.randint(0, 2)):
                            with contextlib.suppress(TimeoutError):
                                sock.recv(65536)
                            sock.sendall(made(mine, "answer"))

        thread = threading.Thread(target=provide, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with near_proxy(url, tmp_path / "calls.jsonl", grace_s=0.1) as live:
            host, port = live.url.removeprefix("http://").split(":")
            for _ in range(300):
                with (
                    socket.create_connection((host, int(port)), timeout=0.1) as sock,
                    contextlib.suppress(OSError),
                ):
                    for _ in range(random.randint(1, 3)):
                        sock.sendall(made(random, "request"))
                        if random.random() < 0.8:
                            answers[sock.recv(65536)[9:12]] += 1
            stop.set()
            live.stop()
        with contextlib.suppress(OSError), socket.create_connection(server.getsockname()):
            thread.join(1)
    assert answers.keys() >= {b"200", b"204", b"400", b"500", b"502"}
    assert live.recorder.tally.lost == 0
    assert live.errors == []
