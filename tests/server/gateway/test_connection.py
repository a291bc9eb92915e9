"""One client's connection."""

import json
from dataclasses import dataclass

import pytest

from stemcache.clock import ManualClock
from tests.server.gateway.fakes import Call, chat, json_answer
from tests.server.gateway.near import late, near_gateway

CHAT = "/v1/chat/completions"
ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
BODY = json.dumps(ASK).encode()


def request(body: bytes = BODY, headers: bytes = b"", version: bytes = b"1.1") -> bytes:
    """One, as it is sent."""
    return b"POST %b HTTP/%b\r\nhost: x\r\ncontent-length: %d\r\n%b\r\n%b" % (
        CHAT.encode(),
        version,
        len(body),
        headers,
        body,
    )


def echo(call: Call) -> None:
    """Answer what was asked."""
    call.transport.write(json_answer(call.body))


@dataclass
class Page:
    status: int
    content_type: str
    body: bytes


class Hello:
    """One page."""

    def answer(self, method: str, path: str, headers: object, body: bytes) -> Page | None:
        del method, headers
        if path == "/boom":
            raise ZeroDivisionError
        return Page(200, "text/plain", b"hello" + body) if path == "/hello" else None


def test_a_request_may_come_in_any_pieces() -> None:
    """One byte at a time, even."""
    data = request(headers=b"x-a: b\r\n")
    with near_gateway(echo) as near, near.connect() as client:
        for i in range(len(data)):
            client.send(data[i : i + 1])
        assert client.answer()[1] == BODY


def test_a_body_may_come_in_chunks() -> None:
    """It goes on with its length."""
    chunks = b"".join(b"%x;ext=1\r\n%b\r\n" % (1, BODY[i : i + 1]) for i in range(len(BODY)))
    with near_gateway(echo) as near, near.connect() as client:
        client.send(
            b"POST %b HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: chunked\r\n\r\n" % CHAT.encode()
            + chunks
            + b"0\r\nx-trailer: 1\r\n\r\n"
        )
        assert client.answer()[1] == BODY
        call = near.fakes[0].calls[0]
        assert call.headers["content-length"] == str(len(BODY))
        assert not {"transfer-encoding", "x-trailer"} & call.headers.keys()


def test_requests_sent_ahead_are_answered_in_their_order() -> None:
    """One after the other, on one connection to the replica."""
    bodies = [json.dumps({**ASK, "n": i}).encode() for i in range(5)]
    with near_gateway(echo) as near, near.connect() as client:
        client.send(b"".join(request(body) for body in bodies))
        assert [client.answer()[1] for _ in bodies] == bodies
        assert near.fakes[0].connections == 1


def test_requests_sent_ahead_one_by_one_wait_too() -> None:
    """Also those that come while one is being answered."""
    with near_gateway(lambda _call: None) as near, near.connect() as client:
        client.send(request())
        first = near.fakes[0].wait_calls(1)[0]
        half = request(b'{"n": 2}')
        client.send(half[:-4])
        client.send(half[-4:] + request(b'{"n": 3}')[:20])
        first.write(json_answer(b"1"))
        assert client.answer()[1] == b"1"
        second = near.fakes[0].wait_calls(2)[1]
        assert second.body == b'{"n": 2}'
        second.write(json_answer(b"2"))
        assert client.answer()[1] == b"2"
        client.send(request(b'{"n": 3}')[20:])
        assert near.fakes[0].wait_calls(3)[2].body == b'{"n": 3}'


def test_too_many_sent_ahead_are_not_read() -> None:
    """Sixteen wait beside the one that is answered; then the connection is closed."""
    with near_gateway(echo) as near:
        got = near.said(b"".join(request(b"%d" % i) for i in range(30)))
        assert got.count(b"HTTP/1.1 200 X\r\n") == 17
        assert got.count(b"Connection: close\r\n") == 1
        assert got.endswith(b"\r\n\r\n16")
        assert [call.body for call in near.fakes[0].calls] == [b"%d" % i for i in range(17)]


def test_a_bad_request_sent_ahead_is_refused_in_its_turn() -> None:
    """The answer before it is whole."""
    with near_gateway(echo) as near:
        got = near.said(request() + b"nonsense\r\n\r\n")
    first, _, second = got.partition(BODY)
    assert first.startswith(b"HTTP/1.1 200 ")
    assert second.startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_request_may_be_the_last() -> None:
    """By its own word; what comes behind it is refused."""
    with near_gateway(echo) as near:
        got = near.said(request(headers=b"Connection: close\r\n"))
        assert b"\r\nConnection: close\r\n" in got
        got = near.said(request(headers=b"Connection: close\r\n") + request())
        assert got.count(b"HTTP/1.1 ") == 1
        assert len(near.fakes[0].calls) == 2


@pytest.mark.parametrize("headers", [b"", b"Connection: keep-alive\r\n"])
def test_old_http_is_answered_once(headers: bytes) -> None:
    """HTTP/1.0: the connection is closed after the answer."""
    with near_gateway(chat) as near:
        got = near.said(request(headers=headers, version=b"1.0"))
    head, _, body = got.partition(b"\r\n\r\n")
    assert b"\r\nConnection: close" in head
    assert json.loads(body)["choices"]


def test_old_http_needs_no_host() -> None:
    """It did not know it."""
    with near_gateway(echo) as near:
        got = near.said(
            b"POST %b HTTP/1.0\r\ncontent-length: 2\r\n\r\n{}" % CHAT.encode(), timeout_s=10
        )
    assert got.startswith(b"HTTP/1.1 200 ")


def test_who_waits_for_a_go_ahead_gets_it() -> None:
    """Once, before the body; and the replica is not asked for one."""
    with near_gateway(echo) as near, near.connect() as client:
        data = request(headers=b"Expect: 100-continue\r\n")
        client.send(data[: -len(BODY)])
        assert client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(BODY)
        assert client.answer()[1] == BODY
        assert "expect" not in near.fakes[0].calls[0].headers


def test_who_waits_for_a_go_ahead_in_the_second_place_gets_it_in_its_turn() -> None:
    """Not in the middle of the answer before."""
    with near_gateway(lambda _call: None) as near, near.connect() as client:
        client.send(request())
        call = near.fakes[0].wait_calls(1)[0]
        client.send(request(headers=b"Expect: 100-continue\r\n")[: -len(BODY)])
        near.until(lambda: next(iter(near.gateway.open))._parser.request is not None)
        call.write(json_answer(b"1"))
        assert client.answer()[1] == b"1"
        assert client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(BODY)
        assert near.fakes[0].wait_calls(2)[1].body == BODY


def test_an_offer_of_another_protocol_is_not_taken_up() -> None:
    """As curl and Java make it: the request is answered in HTTP/1.1, body and all."""
    headers = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n"
    with near_gateway(echo) as near, near.connect() as client:
        client.send(request(headers=headers) + request(b'{"n": 2}'))
        assert client.answer()[1] == BODY
        assert client.answer()[1] == b'{"n": 2}'
        sent = near.fakes[0].calls[0].headers.keys()
        assert not {"upgrade", "http2-settings", "connection"} & sent


def test_a_page_of_the_gateway_s_own_is_answered_here() -> None:
    """No replica sees the request, and the connection goes on."""
    with near_gateway(echo, pages=Hello()) as near, near.connect() as client:
        client.send(b"GET /hello HTTP/1.1\r\nhost: x\r\n\r\n" * 40)
        for _ in range(17):
            head, body = client.answer()
            assert body == b"hello"
        assert b"content-type: text/plain\r\n" in head
        assert near.fakes[0].calls == []


def test_a_page_has_no_body_for_who_asks_for_its_head() -> None:
    """But its length."""
    with near_gateway(echo, pages=Hello()) as near:
        got = near.said(b"HEAD /hello HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    assert b"content-length: 5\r\n" in got
    assert got.endswith(b"\r\n\r\n")


def test_a_mistake_of_ours_is_a_500() -> None:
    """The log says what it was, the client is told nothing of it."""
    with near_gateway(echo, pages=Hello()) as near, near.connect() as client:
        client.send(b"GET /boom HTTP/1.1\r\nhost: x\r\n\r\n")
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 500 ")
        assert json.loads(body)["error"]["code"] == "internal_error"
        assert near.log.lines == [{"event": "request failed", "exception": True}]
        client.send(request())
        assert client.answer()[1] == BODY


def test_a_mistake_in_a_choice_is_a_500_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left of the request."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with near_gateway(echo) as near, near.connect() as client:
        for name in ("choose", "sent"):
            with monkeypatch.context() as patched:
                patched.setattr(near.gateway.router, name, broken)
                client.send(request())
                assert client.answer()[0].startswith(b"HTTP/1.1 500 ")
                assert near.gateway.in_flight == 0
        client.send(request())
        assert client.answer()[1] == BODY


def test_a_path_that_is_not_relayed_is_not_found() -> None:
    """However it is asked for."""
    with near_gateway(echo) as near, near.connect() as client:
        client.post("/flush_cache", {})
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 404 ")
        assert json.loads(body)["error"]["code"] == "path_not_relayed"
        assert near.fakes[0].calls == []


def test_a_connection_without_requests_is_closed_in_the_end() -> None:
    """Without a word, as no request is being read."""
    clock = ManualClock(10.0)
    with near_gateway(echo, clock=clock) as near, near.connect() as client:
        client.send(request())
        client.answer()
        late(clock, near, 74.0)
        client.send(request())
        client.answer()
        late(clock, near, 76.0)
        assert client.rest() == b""


def test_a_connection_to_a_replica_is_not_kept_for_long() -> None:
    """It is closed before the replica would, while a request may be on its way."""
    clock = ManualClock(10.0)
    with near_gateway(echo, clock=clock) as near, near.connect() as client:
        client.send(request())
        client.answer()
        late(clock, near, 3.9)
        client.send(request())
        client.answer()
        assert near.fakes[0].connections == 1
        late(clock, near, 4.1)
        assert near.fakes[0].calls[0].left.wait(10)
        client.send(request())
        client.answer()
        assert near.fakes[0].connections == 2
        assert near.gateway.pool.open == 1
