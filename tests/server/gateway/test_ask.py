"""Small requests, to servers of all kinds."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from stemcache.server.gateway.ask import AskError, Reply, ask, open_stream
from stemcache.wire.origin import Origin
from tests.server.gateway.fakes import Call, FakeReplica, json_answer
from tests.server.gateway.quiet import paged

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """In a loop of its own."""
    return asyncio.run(work)


async def reply_of(fake: FakeReplica, **options: Any) -> Reply:
    """Ask a fake server for its page."""
    await fake.start()
    try:
        origin = Origin(tls=False, host="127.0.0.1", port=fake.port, path="/base")
        return await ask(origin, "/page", **{"tls": None, "timeout_s": 5.0, **options})
    finally:
        fake.stop()


def error_of(fake: FakeReplica, **options: Any) -> AskError:
    """What becomes of asking it."""
    with pytest.raises(AskError) as raised:
        run(reply_of(fake, **options))
    return raised.value


def answering(*parts: bytes, close: bool = False) -> FakeReplica:
    """A server that sends these bytes."""

    def script(call: Call) -> None:
        for part in parts:
            call.transport.write(part)
        if close:
            call.transport.close()

    return FakeReplica(script)


def test_an_answer_is_read_whole() -> None:
    """Whatever its status is; the origin's path comes before the page's."""
    fake = paged({"/base/page": json_answer({"a": 1}, status=503)})
    reply = run(reply_of(fake))
    assert (reply.status, reply.body) == (503, b'{"a": 1}')
    assert reply.content_type == b"application/json"
    assert fake.calls[0].headers["connection"] == "close"
    assert fake.calls[0].headers["host"] == f"127.0.0.1:{fake.port}"


def test_a_body_is_posted() -> None:
    """With its length and the headers that are given."""
    fake = paged({"/base/page": {}})
    run(reply_of(fake, method="POST", body=b"{}", headers=[("authorization", "Bearer k")]))
    call = fake.calls[0]
    assert (call.method, call.body) == ("POST", b"{}")
    assert call.headers["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    "parts",
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",),
        (b"HTTP/1.1 200 OK\r\n", b"content-length: 2\r\n\r\no", b"k"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",),
        (b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n\r\nok",),
        (b"HTTP/1.0 200 OK\r\n\r\nok",),
    ],
)
def test_bodies_end_in_all_the_ways_there_are(parts: tuple[bytes, ...]) -> None:
    """By length, by chunks, and with the connection."""
    assert run(reply_of(answering(*parts, close=True))).body == b"ok"


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ((), "dropped"),
        ((b"HTTP/1.1 200 OK\r\n",), "dropped"),
        ((b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nok",), "dropped"),
        ((b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n",), "dropped"),
        ((b"SSH-2.0-OpenSSH_9.6\r\n",), "not-http"),
        ((b"\x15\x03\x03\x00\x02\x02\x46" * 10,), "not-http"),
        ((b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 40_000,), "head-too-large"),
        ((b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n" + b"x" * 900,), "too-large"),
    ],
)
def test_what_is_no_whole_answer_is_told(parts: tuple[bytes, ...], kind: str) -> None:
    """By a word for logs."""
    assert error_of(answering(*parts, close=True), most_bytes=500).kind == kind


def test_a_server_that_does_not_answer_is_given_up() -> None:
    """After the time that it had."""
    assert error_of(answering(), timeout_s=0.05).kind == "timeout"


def test_a_server_that_trickles_is_given_up() -> None:
    """The time is for the whole answer."""
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"
    assert error_of(answering(head, b"o"), timeout_s=0.05).kind == "timeout"


def test_a_refused_connection_is_told() -> None:
    """Nobody listens there."""

    async def work() -> None:
        fake = paged({})
        await fake.start()
        fake.stop()
        origin = Origin(tls=False, host="127.0.0.1", port=fake.port, path="")
        await ask(origin, "/", tls=None, timeout_s=5.0)

    with pytest.raises(AskError) as raised:
        run(work())
    assert raised.value.kind == "refused"


def test_a_host_that_is_not_known_is_told() -> None:
    """The name has an empty label, so nobody is asked."""
    origin = Origin(tls=False, host="a..b", port=80, path="")
    with pytest.raises(AskError) as raised:
        run(ask(origin, "/", tls=None, timeout_s=5.0))
    assert raised.value.kind == "unreachable"


def test_a_stream_is_read_as_it_comes() -> None:
    """A part is there before the next is sent."""

    async def work() -> list[bytes]:
        calls: list[Call] = []
        fake = FakeReplica(calls.append)
        await fake.start()
        origin = Origin(tls=False, host="127.0.0.1", port=fake.port, path="")
        opening = asyncio.create_task(open_stream(origin, "/", tls=None, timeout_s=5.0))
        while not calls:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        calls[0].transport.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        stream = await opening
        parts = stream.parts()
        found = []
        for word in (b"a", b"b"):
            calls[0].transport.write(b"1\r\n%b\r\n" % word)
            found.append(await anext(parts))
        calls[0].transport.write(b"0\r\n\r\n")
        found += [part async for part in parts]
        await stream.close()
        fake.stop()
        return found

    assert run(work()) == [b"a", b"b"]
