"""What one request, one client or all of them may cost."""

import json

import pytest

from stemcache.clock import ManualClock
from stemcache.gateway.settings import GatewaySettings, Limits
from tests.server.gateway.fakes import Call, json_answer
from tests.server.gateway.near import late, near_gateway

CHAT = b"/v1/chat/completions"


def settings(**limits: float) -> GatewaySettings:
    """With these bounds."""
    return GatewaySettings(policy="round-robin", limits=Limits(**limits))  # type: ignore[arg-type]


def echo(call: Call) -> None:
    """Answer at once."""
    call.transport.write(json_answer(b"%d" % len(call.body)))


def silent(_call: Call) -> None:
    """No answer."""


def head(length: int, target: bytes = CHAT) -> bytes:
    """Of a request with such a body."""
    return b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % (target, length)


def code(answer: bytes) -> str:
    """Of an error."""
    error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
    return str(error["code"])


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /v1 HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET /v1 HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
        b"GET /v1 HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 1_000_000,
        b"POST /v1/a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"
        + b"a: b\r\n" * 20_000
        + b"\r\n",
    ],
)
def test_a_head_has_a_bound(request_bytes: bytes) -> None:
    """64 KiB, trailers included."""
    with near_gateway(echo) as near:
        answer = near.said(request_bytes)
        assert answer.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
        assert code(answer) == "head_too_large"
        assert near.fakes[0].calls == []


def test_a_body_that_says_that_it_is_too_large_is_not_read() -> None:
    """Nor is the client told to go on."""
    with near_gateway(echo, settings=settings(body_bytes=1000)) as near:
        with near.connect() as client:
            client.send(head(1000) + b"x" * 1000)
            assert client.answer()[1] == b"1000"
        answer = near.said(head(1001).replace(b"\r\n\r\n", b"\r\nexpect: 100-continue\r\n\r\n"))
        assert answer.startswith(b"HTTP/1.1 413 Request Entity Too Large\r\n")
        assert code(answer) == "body_too_large"


def test_a_body_that_turns_out_to_be_too_large_is_given_up() -> None:
    """In chunks, whose sum nobody says."""
    chunk = b"64\r\n" + b"x" * 100 + b"\r\n"
    start = b"POST %b HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" % CHAT
    with near_gateway(echo, settings=settings(body_bytes=1000)) as near:
        with near.connect() as client:
            client.send(start + chunk * 10 + b"0\r\n\r\n")
            assert client.answer()[1] == b"1000"
        answer = near.said(start + chunk * 11)
        assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_client_that_sends_a_hundred_megabytes_reads_why_not() -> None:
    """The rest is read for a moment, or the answer would be lost with the connection."""
    clock = ManualClock(5.0)
    with near_gateway(echo, clock=clock) as near, near.connect() as client:
        client.send(head(100 * 2**20) + b"x" * 2**20)
        for _ in range(20):
            client.send(b"x" * 2**20)
        assert client.until(b"body_too_large")
        late(clock, near, 1.1)
        near.until(lambda: not near.gateway.open)
        assert near.gateway.buffered_bytes == 0


def test_anthropic_s_clients_are_told_in_their_shape() -> None:
    """By the path."""
    with near_gateway(echo, settings=settings(body_bytes=10)) as near:
        answer = near.said(head(11, b"/v1/messages"))
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {
        "type": "error",
        "error": {
            "type": "request_too_large",
            "message": "the body is larger than 10 bytes; send less",
        },
    }


def test_bodies_of_all_requests_have_a_bound_together() -> None:
    """What would go beyond it may come later."""
    with near_gateway(silent, settings=settings(buffered_bytes=2000)) as near:
        with near.connect() as first, near.connect() as second:
            first.send(head(1500) + b"x" * 1000)
            second.send(head(900) + b"y" * 900)
            near.fakes[0].wait_calls(1)
            near.until(lambda: near.gateway.buffered_bytes == 1900)
            answer = near.said(head(101))
            assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
            assert b"\r\nretry-after: 1\r\n" in answer
            assert code(answer) == "too_many_bytes"
            first.send(b"x" * 101)
            assert b"too_many_bytes" in first.until(b"}}")
        near.until(lambda: near.gateway.buffered_bytes == 0)


def test_a_body_is_not_kept_once_the_answer_has_begun() -> None:
    """A long stream costs no more than a short request."""

    def begin(call: Call) -> None:
        call.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc")

    with near_gateway(begin) as near, near.connect() as client:
        client.send(head(100_000) + b"x" * 100_000)
        client.until(b"abc")
        assert near.gateway.buffered_bytes == 0


def test_requests_in_flight_have_a_bound() -> None:
    """Those beyond it may come later; connections stay open."""
    with near_gateway(silent, settings=settings(in_flight=1)) as near, near.connect() as first:
        first.send(head(2) + b"{}")
        near.fakes[0].wait_calls(1)
        with near.connect() as second:
            for _ in range(2):
                second.send(head(2) + b"{}")
                start, body = second.answer()
                assert start.startswith(b"HTTP/1.1 503 ")
                assert b"\r\nretry-after: 1\r\n" in start
                assert json.loads(body)["error"]["code"] == "too_many_requests"


def test_requests_at_one_replica_have_a_bound() -> None:
    """The next goes to another, and where all are full, nowhere."""
    with (
        near_gateway(silent, silent, settings=settings(per_replica=1)) as near,
        near.connect() as first,
        near.connect() as second,
        near.connect() as third,
    ):
        first.send(head(2) + b"{}")
        second.send(head(2) + b"{}")
        assert [len(fake.wait_calls(1)) for fake in near.fakes] == [1, 1]
        third.send(head(2) + b"{}")
        assert b'"no_replica"' in third.answer()[1]


def test_connections_have_a_bound() -> None:
    """Those that are open go on."""
    with near_gateway(echo, settings=settings(connections=1)) as near, near.connect() as first:
        first.send(head(2) + b"{}")
        first.answer()
        answer = near.said(b"")
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert code(answer) == "too_many_connections"
        first.send(head(2) + b"{}")
        first.answer()


@pytest.mark.parametrize("start", [b"GET / HT", b"GET /v1 HTTP/1.1\r\nx: ", b"GE"])
def test_a_head_that_does_not_come_is_not_waited_for(start: bytes) -> None:
    """However many bytes of it dribble in."""
    clock = ManualClock(100.0)
    with near_gateway(echo, clock=clock) as near, near.connect() as client:
        client.send(start)
        near.until(lambda: any(c._parser._head_bytes == len(start) for c in near.gateway.open))
        late(clock, near, 29.0)
        client.send(b"T")
        near.until(lambda: any(c._parser._head_bytes > len(start) for c in near.gateway.open))
        late(clock, near, 2.0)
        assert client.until(b"\r\n") == b"HTTP/1.1 408 Request Timeout\r\n"
        assert code(b"\r\n\r\n" + client.answer()[1]) == "request_timeout"


def test_a_client_that_says_nothing_is_not_waited_for() -> None:
    """Its connection is closed without a word."""
    clock = ManualClock(100.0)
    with near_gateway(echo, clock=clock) as near, near.connect() as client:
        near.until(lambda: bool(near.gateway.open))
        late(clock, near, 31.0)
        assert client.rest() == b""


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    """As long as it goes on, it may take its time."""
    clock = ManualClock(100.0)
    with near_gateway(echo, clock=clock) as near, near.connect() as client:
        client.send(head(9))
        near.until(lambda: bool(near.gateway.open))
        for i in range(1, 4):
            client.send(b"x")
            near.until(lambda i=i: near.gateway.buffered_bytes == i)  # type: ignore[misc]
            late(clock, near, 59.0)
        late(clock, near, 2.0)
        assert b"request_timeout" in client.until(b"}}")
        assert near.gateway.buffered_bytes == 0


def test_the_rest_of_a_refused_request_is_read_for_a_moment_only() -> None:
    """Then the connection is gone."""
    clock = ManualClock(100.0)
    with near_gateway(echo, clock=clock) as near, near.connect() as client:
        client.send(b"nonsense\r\n\r\n")
        client.until(b"bad_request_syntax")
        client.send(b"more")
        late(clock, near, 0.9)
        assert len(near.gateway.open) == 1
        late(clock, near, 0.2)
        near.until(lambda: not near.gateway.open)
