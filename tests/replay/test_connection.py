import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from stemcache.clock import MonotonicClock
from stemcache.replay.connection import Connection
from stemcache.replay.pool import Address, Pool
from tests.replay.scripted import Answer, scripted, stream, whole


@dataclass
class Heard:
    """A sink that writes everything down."""

    ended: asyncio.Future[None]
    status: int = 0
    content_type: bytes = b""
    body_: bytes = b""
    parts: int = 0
    how: str = ""
    detail: str = ""
    stale: bool = False
    moments: list[float] = field(default_factory=list)
    fail_at_body: Callable[[], None] | None = None

    def head(self, status: int, content_type: bytes, now_s: float) -> None:
        assert not self.status, "one head an answer"
        self.status, self.content_type = status, content_type
        self.moments.append(now_s)

    def body(self, data: bytes, now_s: float) -> None:
        self.body_ += data
        self.parts += 1
        self.moments.append(now_s)
        if self.fail_at_body is not None:
            self.fail_at_body()

    def done(self, now_s: float) -> None:
        self.moments.append(now_s)
        self._end("done")

    def failed(self, kind: str, detail: str, now_s: float, *, stale: bool) -> None:
        self.moments.append(now_s)
        self.detail, self.stale = detail, stale
        self._end(kind)

    def _end(self, how: str) -> None:
        assert not self.how, f"one end an answer: {self.how}, then {how}"
        self.how = how
        self.ended.set_result(None)


async def ask(connection: Connection) -> Heard:
    """One request and its end."""
    heard = Heard(asyncio.get_running_loop().create_future())
    connection.send([b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"], heard)
    async with asyncio.timeout(20):
        await heard.ended
    return heard


def pool_at(port: int) -> Pool:
    """Of connections to this machine."""
    return Pool(Address("127.0.0.1", port, None, "x"), MonotonicClock(), timeout_s=5)


def heard(answer: Answer, *, requests: int = 1, close_after: bool = False) -> list[Heard]:
    """What one connection, if it can be kept, hears of as many requests."""

    async def main() -> list[Heard]:
        async with scripted(answer, close_after=close_after) as server:
            pool = pool_at(server.port)
            found = [await ask(pool.take() or await pool.connect()) for _ in range(requests)]
            pool.close()
            await asyncio.sleep(0.01)
            return found

    return asyncio.run(main())


def cut(parts: Sequence[bytes], size: int) -> list[bytes]:
    """The same bytes in parts of another size."""
    raw = b"".join(parts)
    return [raw[at : at + size] for at in range(0, len(raw), size)]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_answer_in_chunks_is_heard_however_it_is_cut(size: int) -> None:
    """Head, body and end, with moments that do not go back."""
    (one,) = heard(cut(stream(b"abc", b"defg"), size))
    assert (one.how, one.status, one.body_) == ("done", 200, b"abcdefg")
    assert one.content_type == b"text/event-stream"
    assert one.moments == sorted(one.moments)


def test_answers_with_a_length_keep_the_connection() -> None:
    """Three on one."""
    found = heard(whole("404 Not Found", b"no", "Content-Type: text/plain"), requests=3)
    assert [(each.how, each.status, each.body_) for each in found] == [("done", 404, b"no")] * 3


def test_interim_answers_are_passed_over() -> None:
    """However many; the final one counts."""
    early = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    found = heard([early, whole("200 OK", b"x")], requests=2)
    assert [(each.how, each.status, each.body_) for each in found] == [("done", 200, b"x")] * 2


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    """Old servers do so; one with a length that ends early is broken."""
    (old,) = heard(
        b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\nabc", close_after=True
    )
    assert (old.how, old.body_) == ("done", b"abc")
    (broken,) = heard(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc", close_after=True)
    assert (broken.how, broken.detail) == (
        "dropped",
        "the target closed the connection in the middle of its answer",
    )
    (chunked,) = heard(stream(b"abc", end=False), close_after=True)
    assert chunked.how == "dropped"


def test_a_connection_closed_at_once_is_no_answer() -> None:
    """It is stale only if it was used before: then a new one may work."""
    (first,) = heard(b"", close_after=True)
    assert (first.how, first.stale) == ("no_answer", False)
    assert first.detail == "the target closed the connection before it answered"


def test_a_kept_connection_that_closes_unheard_is_stale() -> None:
    """The target closed it while it was idle, as it may."""

    async def main() -> Heard:
        async with scripted(whole("200 OK", b"x")) as server:
            pool = pool_at(server.port)
            connection = await pool.connect()
            await ask(connection)
            server.answer, server.close_after = b"", True
            return await ask(connection)

    found = asyncio.run(main())
    assert (found.how, found.stale) == ("no_answer", True)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"\x00\x01garbage\r\n\r\n", "not_http"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not_http"),
        (b"HTTP/1.1 101 Switching\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n", "not_http"),
        (stream(b"abc")[0] + b"zz\r\nabc\r\n", "not_http"),
        (b"HTTP/1.1 200 OK\r\n" + b"x-many: 1\r\n" * 10_000, "head_too_large"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000, "head_too_large"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 5000, "head_too_large"),
    ],
)  # fmt: skip
def test_what_is_no_answer_ends_it(answer: bytes, kind: str) -> None:
    """Garbage, another protocol, heads without an end: one failure, and the connection closes."""
    (one,) = heard(cut([answer], 4096))
    assert one.how == kind
    assert len(one.detail) <= 200


def test_endless_heads_do_not_pile_up() -> None:
    """Each 64 KiB at most, over all its parts."""
    (one,) = heard([b"HTTP/1.1 200 OK\r\n", *([b"x-a: b\r\n" * 100] * 200)])
    assert one.how == "head_too_large"
    assert one.detail == "the head is larger than 65536 bytes"


def test_bytes_after_an_answer_cost_the_connection() -> None:
    """They could be taken for the answer to what is asked next."""

    async def main() -> tuple[str, bool]:
        async with scripted(whole("200 OK", b"x") + whole("200 OK", b"y")) as server:
            pool = pool_at(server.port)
            found = await ask(await pool.connect())
            return found.how, pool.take() is None

    assert asyncio.run(main()) == ("done", True)


def test_bytes_on_an_idle_connection_close_it() -> None:
    """Nobody asked for them."""

    async def main() -> bool:
        async with scripted([whole("200 OK", b"x")]) as server:
            pool = pool_at(server.port)
            connection = await pool.connect()
            await ask(connection)
            connection.data_received(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
            return connection.closed and pool.take() is None

    assert asyncio.run(main())


def test_a_server_that_says_close_is_believed() -> None:
    """The next request has a new connection."""
    found = heard(whole("200 OK", b"x", "connection: close"), requests=2, close_after=True)
    assert [each.how for each in found] == ["done", "done"]


def test_giving_up_is_one_failure_whenever_it_happens() -> None:
    """Also from within the body, with the end of the answer in the same bytes."""

    async def main() -> Heard:
        async with scripted(b"".join(stream(b"abc", b"def"))) as server:
            connection = await pool_at(server.port).connect()
            heard = Heard(asyncio.get_running_loop().create_future())
            heard.fail_at_body = lambda: connection.fail("event_too_large", "d")
            connection.send([b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"], heard)
            async with asyncio.timeout(20):
                await heard.ended
            await asyncio.sleep(0.01)
            connection.fail("timeout", "again")
            return heard

    found = asyncio.run(main())
    assert (found.how, found.body_, found.parts) == ("event_too_large", b"abc", 1)


def test_two_requests_at_once_are_a_mistake() -> None:
    """Answers come in order, and could not be told apart in time."""

    async def main() -> None:
        async with scripted(b"") as server:
            connection = await pool_at(server.port).connect()
            sink = Heard(asyncio.get_running_loop().create_future())
            connection.send([b"x"], sink)
            with pytest.raises(AssertionError, match="one request at a time"):
                connection.send([b"x"], sink)
            connection.close()

    asyncio.run(main())
