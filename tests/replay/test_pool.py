import asyncio
import socket

import pytest

from stemcache.clock import MonotonicClock
from stemcache.errors import UsageError
from stemcache.replay.pool import Address, ConnectError, Pool, resolve
from stemcache.replay.target import parse_target
from tests.replay.scripted import scripted, whole
from tests.replay.test_connection import ask, pool_at


def test_the_connection_idle_last_is_used_first() -> None:
    """The others may be closed by the target, as nobody needs them."""

    async def main() -> bool:
        async with scripted(whole("200 OK", b"x")) as server:
            pool = pool_at(server.port)
            first, second = await pool.connect(), await pool.connect()
            await ask(first)
            await ask(second)
            same = pool.take() is second and pool.take() is first and pool.take() is None
            pool.close()
            return same and pool.made == 2

    assert asyncio.run(main())


def test_a_connection_that_was_closed_meanwhile_is_not_given_out() -> None:
    """Where that is known."""

    async def main() -> bool:
        async with scripted(whole("200 OK", b"x")) as server:
            pool = pool_at(server.port)
            connection = await pool.connect()
            await ask(connection)
            connection.close()
            await asyncio.sleep(0)
            return pool.take() is None

    assert asyncio.run(main())


def test_nobody_there_is_a_refusal() -> None:
    """By its kind, for the count of errors."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    async def main() -> str:
        with pytest.raises(ConnectError) as caught:
            await pool_at(port).connect()
        return caught.value.kind

    assert asyncio.run(main()) == "refused"


def test_a_target_that_takes_no_connection_is_given_up() -> None:
    """A full backlog, or a firewall that says nothing."""

    async def main() -> ConnectError:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            port = full.getsockname()[1]
            fillers = [socket.socket() for _ in range(4)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
            pool = Pool(Address("127.0.0.1", port, None, "x"), MonotonicClock(), timeout_s=0.05)
            with pytest.raises(ConnectError) as caught:
                await pool.connect()
            for filler in fillers:
                filler.close()
            return caught.value

    error = asyncio.run(main())
    assert (error.kind, str(error)) == ("connect_timeout", "no connection was made within 0.05 s")


@pytest.mark.parametrize(
    ("says", "how"),
    [
        (None, "within 0.2 s"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "(WRONG_VERSION_NUMBER)"),
        (b"", "("),
    ],
)
def test_a_target_that_speaks_no_tls_is_told(says: bytes | None, how: str) -> None:
    """Most often the URL says https and the server does not: silent, as HTTP, or by hanging up."""

    async def main() -> ConnectError:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(64)
            if says is None:
                await reader.read()
            else:
                writer.write(says)
            writer.close()

        async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            target = parse_target(f"https://127.0.0.1:{port}", None)
            pool = Pool(await resolve(target), MonotonicClock(), timeout_s=0.2)
            with pytest.raises(ConnectError) as caught:
                await pool.connect()
            await asyncio.sleep(0.02)
            return caught.value

    error = asyncio.run(main())
    assert error.kind == "tls"
    assert str(error).startswith(f"a TCP connection was made, but no TLS on it {how}")
    assert str(error).endswith("plain HTTP, write http:// instead of https://")


def test_an_encrypted_target_that_is_not_there_is_refused() -> None:
    """Like any other: no TCP connection was made."""

    async def main() -> str:
        async with scripted(b"") as server:
            target = parse_target(f"https://127.0.0.1:{server.port}", None)
        pool = Pool(await resolve(target), MonotonicClock(), timeout_s=0.5)
        with pytest.raises(ConnectError) as caught:
            await pool.connect()
        return caught.value.kind

    assert asyncio.run(main()) == "refused"


def test_a_host_that_nobody_knows_is_told() -> None:
    """Before anything else happens."""

    async def main() -> None:
        await resolve(parse_target("http://no.such.host.invalid:1", None))

    with pytest.raises(UsageError) as caught:
        asyncio.run(main())
    assert str(caught.value).startswith(
        "no address is known for no.such.host.invalid, the host of --target ("
    )
    assert str(caught.value).endswith("; check its name")


def test_of_several_addresses_one_that_answers_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """`localhost` is often two, and a server listens on one of them; if on none, the first is."""

    async def main(port: int) -> str:
        loop = asyncio.get_running_loop()

        async def two(_host: str, port: int, **_: object) -> list[object]:
            return [(0, 0, 0, "", (host, port)) for host in ("127.0.0.9", "127.0.0.1")]

        monkeypatch.setattr(loop, "getaddrinfo", two)
        address = await resolve(parse_target(f"http://localhost:{port}", None), timeout_s=5)
        return address.host

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert asyncio.run(main(port)) == "127.0.0.1"
    assert asyncio.run(main(port)) == "127.0.0.9"
