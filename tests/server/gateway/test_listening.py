"""Addresses to listen on, and how many files may be open."""

import resource
import socket
from contextlib import closing

import pytest

from stemcache.errors import UsageError
from stemcache.server.gateway.listening import allow_files, bind, fit_connections, url_of


def test_an_address_is_taken_and_listened_on() -> None:
    """Who connects before anybody serves waits."""
    with closing(bind("127.0.0.1", 0)) as sock:
        host, port = sock.getsockname()
        with socket.create_connection((host, port), timeout=5):
            assert url_of(sock, tls=False) == f"http://127.0.0.1:{port}"
            assert url_of(sock, tls=True) == f"https://127.0.0.1:{port}"


def test_ipv6_addresses_are_bracketed() -> None:
    """Where this machine has them."""
    try:
        sock = bind("::1", 0)
    except UsageError:
        pytest.skip("no IPv6 here")
    with closing(sock):
        assert url_of(sock, tls=False) == f"http://[::1]:{sock.getsockname()[1]}"


def test_an_address_in_use_is_told() -> None:
    """With what to do."""
    with closing(bind("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        with pytest.raises(UsageError, match=f"--port {port}: Address already in use; choose"):
            bind("127.0.0.1", port)


@pytest.mark.parametrize("host", ["no such host", "a" * 70 + ".b", "256.0.0.1", "\ud800"])
def test_a_host_that_is_not_ours_is_told(host: str) -> None:
    """Whatever it is."""
    with pytest.raises(UsageError, match="cannot listen on --host"):
        bind(host, 0)


class Limits:
    """What the system says and is told."""

    def __init__(self, soft: int, hard: int, *, refuses: bool = False) -> None:
        self.limits = (soft, hard)
        self.refuses = refuses

    def get(self, _kind: int) -> tuple[int, int]:
        return self.limits

    def set(self, _kind: int, limits: tuple[int, int]) -> None:
        if self.refuses:
            raise ValueError("not allowed to raise maximum limit")
        self.limits = limits


@pytest.mark.parametrize(
    ("limits", "files"),
    [
        (Limits(1024, 20_000), 20_000),
        (Limits(20_000, 20_000), 20_000),
        (Limits(1024, resource.RLIM_INFINITY), 65_536),
        (Limits(resource.RLIM_INFINITY, resource.RLIM_INFINITY), resource.RLIM_INFINITY),
        (Limits(1024, 20_000, refuses=True), 1024),
    ],
)
def test_as_many_files_as_may_be_are_allowed(
    limits: Limits, files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stream needs two."""
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)
    assert allow_files() == files


@pytest.mark.parametrize(
    ("files", "connections"),
    [(1024, 428), (20_000, 8_968), (65_536, 16_384), (resource.RLIM_INFINITY, 16_384), (50, 16)],
)
def test_connections_are_fitted_to_the_files_that_may_be_open(files: int, connections: int) -> None:
    """Two each, and some for all else; never more than were asked for."""
    assert fit_connections(16_384, files) == connections
    assert fit_connections(8, files) == 8
