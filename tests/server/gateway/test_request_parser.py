"""From a client's bytes to requests, without a socket."""

from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stemcache.gateway.settings import GatewaySettings, Limits
from stemcache.server.gateway.gateway import Gateway
from stemcache.server.gateway.request import Request
from stemcache.server.gateway.request_parser import RequestParser

POST = b"POST /v1/x HTTP/1.1\r\nHost: h\r\ncontent-length: 3\r\n\r\nabc"


class Heard:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.requests: list[Request] = []

    def head_begun(self) -> None:
        self.log.append("head")

    def expected(self) -> None:
        self.log.append("expected")

    def body_grown(self) -> None:
        self.log.append("grown")

    def complete(self, request: Request) -> None:
        self.log.append("complete" if request.refusal is None else request.refusal.code)
        self.requests.append(request)


def parser(**limits: int) -> tuple[RequestParser, Heard, Any]:
    """With what it needs of a gateway."""
    settings = GatewaySettings(limits=Limits(**limits))

    def release(request: Request) -> None:
        gateway.buffered_bytes -= request.held_bytes
        request.held_bytes = 0

    gateway = SimpleNamespace(settings=settings, buffered_bytes=0, release=release)
    heard = Heard()
    return RequestParser(cast(Gateway, gateway), heard), heard, gateway


def test_a_request_is_told_step_by_step() -> None:
    """Its bytes count until they are released."""
    it, heard, gateway = parser()
    it.feed(POST[:-3])
    it.feed(POST[-3:-2])
    assert heard.log == ["grown", "grown"]
    assert gateway.buffered_bytes == 1
    assert [it.begun, it.body_begun, it.in_head] == [True, True, False]
    it.feed(POST[-2:])
    assert heard.log[2:] == ["complete"]
    (request,) = heard.requests
    assert (request.method, request.target, request.body) == (b"POST", b"/v1/x", b"abc")
    assert request.headers == [(b"Host", b"h"), (b"content-length", b"3")]
    assert request.fields == {b"host": b"h", b"content-length": b"3"}
    assert (request.keep_alive, request.old, request.expects) == (True, False, False)
    assert gateway.buffered_bytes == 3
    assert [it.begun, it.stopped] == [False, False]


def test_a_head_that_comes_in_parts_is_told_of_once() -> None:
    """One that is there at once needs no time."""
    it, heard, _ = parser()
    for part in (POST[:9], POST[9:20], POST[20:] + POST[:5]):
        it.feed(part)
    assert heard.log == ["head", "complete", "head"]


def test_who_waits_for_a_go_ahead_is_told_of_at_once() -> None:
    """Not at the end of what was read: the body may be there already."""
    it, heard, _ = parser()
    it.feed(POST.replace(b"Host", b"expect: 100-Continue\r\nHost"))
    assert heard.log == ["expected", "complete"]
    it.feed(POST[:-3].replace(b"Host", b"expect: 100-continue\r\nHost"))
    assert heard.log[2:] == ["expected", "grown"]


def test_what_is_no_part_of_a_body_is_no_progress() -> None:
    """Else a body could be drawn out by sizes of chunks."""
    it, heard, _ = parser()
    it.feed(b"POST /v1/x HTTP/1.1\r\nHost: h\r\ntransfer-encoding: chunked\r\n\r\n")
    it.feed(b"1;x=")
    it.feed(b"y\r\n")
    assert heard.log == ["grown"]
    it.feed(b"a")
    assert heard.log == ["grown", "grown"]


def test_nothing_depends_on_how_bytes_are_cut() -> None:
    """For a row of requests of all kinds, one of them with an offer."""
    rng = Random(3)
    data = (
        POST
        + b"GET /a HTTP/1.1\r\nhost: h\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
        + POST.replace(b"content-length: 3\r\n\r\nabc", b"")
        + b"transfer-encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nt: 1\r\n\r\n"
        + b"GET /b HTTP/1.0\r\n\r\n"
    )
    wanted = [(b"POST", b"abc"), (b"GET", b""), (b"POST", b"abc"), (b"GET", b"")]
    for _ in range(200):
        it, heard, _ = parser()
        start = 0
        while start < len(data):
            step = rng.randrange(1, 60)
            it.feed(data[start : start + step])
            start += step
        assert [(one.method, one.body) for one in heard.requests] == wanted
        assert heard.requests[-1].old
        assert not heard.requests[-1].keep_alive


@pytest.mark.parametrize(
    ("data", "limits", "code"),
    [
        (b"GET / HTTP/1.1\r\nhost: h\r\na: " + b"b" * 200, {"head_bytes": 100}, "head_too_large"),
        (b"GET /" + b"a" * 200 + b" HTTP/1.1\r\n\r\n", {"head_bytes": 100}, "head_too_large"),
        (POST, {"body_bytes": 2}, "body_too_large"),
        (POST, {"buffered_bytes": 2}, "too_many_bytes"),
        (b"x\r\n\r\n", {}, "bad_request_syntax"),
        (POST.replace(b"Host", b"Hose"), {}, "bad_request_head"),
    ],
)
def test_a_refusal_is_the_last(data: bytes, limits: dict[str, int], code: str) -> None:
    """Nothing is kept, and nothing behind it is read."""
    it, heard, gateway = parser(**limits)
    it.feed(data)
    it.feed(POST)
    assert heard.log[-1] == code
    assert len(heard.requests) == 1
    assert it.stopped
    assert gateway.buffered_bytes == 0


def test_a_request_of_which_more_was_read_at_once_is_within_the_bounds() -> None:
    """The bound is the head's, not that of what one read brings."""
    it, heard, _ = parser(head_bytes=100)
    it.feed(POST + POST + POST)
    assert heard.log.count("complete") == 3


def test_a_head_behind_a_large_body_is_within_the_bounds() -> None:
    """Of a read that brings the end of one and the beginning of the other."""
    it, heard, _ = parser(head_bytes=1024)
    large = POST.replace(b": 3", b": 9000").replace(b"abc", b"x" * 9000)
    for cut in (2, 9, 40):
        it.feed(large + POST[:cut])
        assert it.begun
        it.feed(POST[cut:])
    assert heard.log.count("complete") == 6
    it.feed(large + POST[:9])
    it.feed(b"x" * 1024)
    assert heard.log[-1] == "head_too_large"


CHUNKED = b"POST /v1/x HTTP/1.1\r\nHost: h\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("start", [b"1;", b"1;x=", b"1\r\na\r\n0\r\nx: ", b"0" * 300])
def test_what_is_around_a_body_does_not_go_on_for_ever(start: bytes) -> None:
    """A trailer that does not end, or what is behind the size of a chunk: the parser keeps it."""
    it, heard, gateway = parser(head_bytes=1024)
    it.feed(CHUNKED + start)
    fed = 0
    while not it.stopped and fed < 10_000:
        it.feed(b"0" * 100)
        fed += 100
    assert heard.log[-1] == "head_too_large"
    assert fed <= 1024 + 16 + 100
    assert gateway.buffered_bytes == 0
    (refused,) = heard.requests
    assert refused.refusal is not None
    assert "1024 bytes together; send less" in refused.refusal.message


def test_the_smallest_chunks_are_within_the_bounds() -> None:
    """However many, and with something short behind their sizes."""
    it, heard, _ = parser(head_bytes=1024)
    it.feed(CHUNKED)
    for _ in range(5000):
        it.feed(b"1;a=b\r\nx\r\n")
    it.feed(b"0\r\n\r\n")
    assert heard.log[-1] == "complete"
    assert heard.requests[0].body == b"x" * 5000


def test_stopping_lets_go_of_what_was_read_in_part() -> None:
    """And of its bytes."""
    it, heard, gateway = parser()
    it.feed(POST[:-1])
    assert gateway.buffered_bytes == 2
    it.stop()
    assert gateway.buffered_bytes == 0
    it.feed(b"c")
    assert heard.requests == []


def test_who_refuses_first_is_heard() -> None:
    """Once."""
    it, heard, _ = parser()
    it.refuse(408, "late", "request_timeout")
    it.refuse(400, "bad", "bad")
    assert heard.log == ["request_timeout"]
