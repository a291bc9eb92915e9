"""Writing without waiting for the others' turn."""

import asyncio
import socket
from typing import Any

import pytest
import uvloop

from stemcache.server.gateway.at_once import write_at_once


class Kept:
    """A transport that keeps what it is told."""

    def __init__(self, sslcontext: object) -> None:
        self._sslcontext = sslcontext
        self.limits: list[int] = []

    def get_extra_info(self, name: str) -> object:
        return self._sslcontext if name == "sslcontext" else None

    def set_write_buffer_limits(self, *, high: int) -> None:
        self.limits.append(high)


def test_tls_keeps_its_buffer() -> None:
    """What is encrypted is written when it is."""
    plain, tls = Kept(None), Kept(object())
    write_at_once(plain)  # type: ignore[arg-type]
    write_at_once(tls)  # type: ignore[arg-type]
    assert (plain.limits, tls.limits) == ([0], [])


class Writer(asyncio.Protocol):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.told: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        write_at_once(self.transport)

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")


@pytest.mark.parametrize("loop", [uvloop.new_event_loop, asyncio.new_event_loop])
def test_what_is_written_is_there_before_the_turn_ends(loop: Any) -> None:
    """However much else there is to do in it; and who writes too much is told."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)

    async def main() -> None:
        _, writer = await asyncio.get_running_loop().create_connection(Writer, sock=ours)
        writer.transport.write(b"now")
        assert theirs.recv(100) == b"now"
        assert writer.told == []
        writer.transport.write(bytes(16 * 2**20))
        assert writer.told == ["pause"]
        got = 0
        while got < 16 * 2**20:
            try:
                got += len(theirs.recv(2**20))
            except BlockingIOError:
                await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        assert writer.told == ["pause", "resume"]
        writer.transport.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())
    theirs.close()
