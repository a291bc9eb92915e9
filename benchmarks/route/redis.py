"""A Redis for gateways that tell each other through one, for as long as a measurement."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.route.processes import free_port, stop, wait_until

__all__ = ["installed", "redis"]

_PROGRAM = "redis-server"


def installed() -> bool:
    """Whether there is a server to start."""
    return shutil.which(_PROGRAM) is not None


@contextmanager
def redis() -> Iterator[str]:
    """The URL of a server that listens on loopback and keeps nothing on disk."""
    port = free_port()
    flags = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    with tempfile.TemporaryDirectory(prefix="route-redis-") as folder:
        process = subprocess.Popen(
            [_PROGRAM, *flags, "--dir", folder], stdout=subprocess.DEVNULL, cwd=folder
        )
        try:
            wait_until(lambda: _answers(port), 10.0, _PROGRAM)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            stop(process)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1.0) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False
