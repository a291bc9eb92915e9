"""The Redis that a measurement starts and ends."""

import socket
from urllib.parse import urlsplit

import pytest

from benchmarks.route.redis import installed, redis


@pytest.mark.skipif(not installed(), reason="redis-server is not installed")
def test_it_answers_on_loopback_while_it_is_wanted_and_no_longer() -> None:
    """Of two each has a port of its own."""
    with redis() as one, redis() as other:
        assert one != other
        for url in (one, other):
            parts = urlsplit(url)
            assert (parts.scheme, parts.hostname) == ("redis", "127.0.0.1")
            with socket.create_connection((str(parts.hostname), parts.port or 0), 1.0) as asked:
                asked.sendall(b"PING\r\n")
                assert asked.recv(16) == b"+PONG\r\n"
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", urlsplit(one).port or 0), 1.0)


def test_without_a_server_nobody_is_said_to_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked for but the program."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert not installed()
