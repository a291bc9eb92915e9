"""Where one side is slower than the other, the other waits; nothing piles up."""

import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.record.live_proxy import NearProxy, near_proxy

SIZE = 256 * 2**20


@contextmanager
def listening(tmp_path: Path) -> Iterator[tuple[socket.socket, NearProxy]]:
    """A provider that is a bare socket, and a proxy before it that keeps nothing."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        near_proxy(
            f"http://127.0.0.1:{server.getsockname()[1]}",
            tmp_path / "calls.jsonl",
            most_body_bytes=1000,
            grace_s=0.1,
        ) as live,
    ):
        server.settimeout(10)
        yield server, live


def client_of(live: NearProxy) -> socket.socket:
    """A connection to the proxy."""
    host, port = live.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def sent_until_stuck(sock: socket.socket, part: bytes, most_bytes: int) -> int:
    """How many bytes go out before nobody takes more."""
    sock.settimeout(0.5)
    sent = 0
    try:
        while sent < most_bytes:
            sent += sock.send(part)
    except TimeoutError:
        pass
    return sent


def test_a_provider_that_does_not_read_holds_its_client_back(tmp_path: Path) -> None:
    """Of a request of 256 MiB no more than buffers hold is taken."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with listening(tmp_path) as (server, live), client_of(live) as client:
        head = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % SIZE
        client.sendall(head)
        provider, _ = server.accept()
        with provider:
            sent = sent_until_stuck(client, b"x" * 2**16, SIZE)
    assert sent < 64 * 2**20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 2**10


def test_a_client_that_does_not_read_holds_its_provider_back(tmp_path: Path) -> None:
    """Of an answer of 256 MiB no more than buffers hold is taken."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with listening(tmp_path) as (server, live), client_of(live) as client:
        client.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
        provider, _ = server.accept()
        with provider:
            provider.recv(65536)
            provider.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % SIZE)
            sent = sent_until_stuck(provider, b"x" * 2**16, SIZE)
    assert sent < 64 * 2**20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 2**10


def test_who_was_held_back_goes_on(tmp_path: Path) -> None:
    """Every byte arrives once the other side reads again, both ways."""
    size = 32 * 2**20
    with listening(tmp_path) as (server, live), client_of(live) as client:
        head = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % size
        sending = threading.Thread(target=client.sendall, args=(head + b"x" * size,))
        sending.start()
        provider, _ = server.accept()
        with provider:
            provider.settimeout(10)
            got = b""
            while b"\r\n\r\n" not in got:
                got += provider.recv(2**16)
            count = len(got.partition(b"\r\n\r\n")[2])
            while count < size:
                count += len(provider.recv(2**20))
            sending.join(10)
            answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + b"y" * size
            sending = threading.Thread(target=provider.sendall, args=(answer,))
            sending.start()
            got = client.recv(2**16)
            head, _, body = got.partition(b"\r\n\r\n")
            back = len(body)
            while back < size:
                back += len(client.recv(2**20))
            sending.join(10)
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert (count, back) == (size, size)


def test_who_reads_late_gets_the_next_answer_too(tmp_path: Path) -> None:
    """A client that had not read when its answer was complete can go on on the same connection."""
    size = 4 * 2**20
    with listening(tmp_path) as (server, live), client_of(live) as client:
        client.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
        provider, _ = server.accept()
        with provider:
            provider.recv(65536)
            provider.settimeout(10)
            provider.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + b"y" * size)
            for expected in (size, 2):
                got = client.recv(2**16)
                count = len(got.partition(b"\r\n\r\n")[2])
                while count < expected:
                    count += len(client.recv(2**20))
                assert count == expected
                client.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
                assert provider.recv(65536).startswith(b"GET /v1/models HTTP/1.1\r\n")
                provider.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
