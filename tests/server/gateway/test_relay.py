"""Requests on their way to a replica, and answers on their way back."""

import json
import re
import threading
from typing import Any

import pytest

from stemcache.clock import ManualClock
from stemcache.gateway.settings import ApiKey, GatewaySettings, Limits, Retries
from stemcache.gateway.usage import AnswerUsage
from tests.server.gateway.fakes import Call, chat, event, json_answer, stream_head
from tests.server.gateway.near import ends, late, near_gateway, spec_of

CHAT = "/v1/chat/completions"
ASK: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
STREAM = {**ASK, "stream": True}
TURN = GatewaySettings(policy="round-robin")


def silent(_call: Call) -> None:
    """A script: no answer."""


def test_an_answer_goes_through() -> None:
    """Status, words and headers in their order, with the decision behind them."""

    def script(call: Call) -> None:
        call.transport.write(
            b"HTTP/1.1 201 Made So\r\nB: 2\r\na: 1\r\nContent-Length: 2\r\nset-cookie: x\r\n"
            b"Connection: keep-alive, z\r\nz: 1\r\nSet-Cookie: y\r\n"
            b"X-Stemcache-Decision: forged\r\n\r\nok"
        )

    with near_gateway(script) as near, near.connect() as client:
        client.post(CHAT, ASK)
        head, body = client.answer()
        assert re.fullmatch(
            rb"HTTP/1\.1 201 Made So\r\nB: 2\r\na: 1\r\nContent-Length: 2\r\nset-cookie: x\r\n"
            rb"Set-Cookie: y\r\nX-Stemcache-Decision: replica=\"r0\"; reason=[^\r]*\r\n"
            rb"X-Request-Id: [0-9a-f]{32}\r\n\r\n",
            head,
        )
        assert body == b"ok"


def test_the_decision_can_be_kept_to_oneself() -> None:
    """By a setting."""
    settings = GatewaySettings(policy="round-robin", decision_header=False)
    with near_gateway(chat, settings=settings) as near, near.connect() as client:
        client.post(CHAT, ASK)
        assert b"decision" not in client.answer()[0].lower()


def test_connections_are_used_again_on_both_sides() -> None:
    """One in front and one behind for any number of requests one after the other."""
    with near_gateway(chat) as near, near.connect() as client:
        for i in range(20):
            client.post(CHAT, STREAM if i % 2 else ASK)
            assert b" 200 " in client.answer()[0]
        assert near.fakes[0].connections == 1
        assert near.gateway.counters.connections == 1


def test_what_a_client_claims_is_not_passed_on() -> None:
    """Nor what belongs to its own connection."""
    headers = (
        "X-Forwarded-For: 1.2.3.4\r\nForwarded: for=x\r\nX-Real-IP: x\r\n"
        "x-data-parallel-rank: 3\r\nAccept-Encoding: gzip\r\nTE: trailers\r\n"
        "Connection: keep-alive, x-hop\r\nX-Hop: 1\r\n"
        "Authorization: Bearer mine\r\nX-Kept: Yes\r\nX-Request-Id: req-1\r\n"
    )
    with near_gateway(chat) as near, near.connect() as client:
        client.post(CHAT, ASK, headers)
        client.answer()
        call = near.fakes[0].calls[0]
    assert call.lines == [
        f"Host: 127.0.0.1:{near.fakes[0].port}",
        "content-type: application/json",
        "Authorization: Bearer mine",
        "X-Kept: Yes",
        f"Content-Length: {len(json.dumps(ASK))}",
        f"X-Stemcache-Hops: {near.gateway.hop.decode()}",
        "X-Request-Id: req-1",
    ]
    assert call.json == ASK


@pytest.mark.parametrize("full", [False, True])
def test_tenants_are_told_of_their_own_request_alone(*, full: bool) -> None:
    """Unless a setting says otherwise: who else would have answered when is others' load."""
    keys = (ApiKey(key="key-a", tenant="a"),)
    settings = GatewaySettings(policy="auto", api_keys=keys, full_decision_header=full)
    with near_gateway(chat, chat, settings=settings) as near, near.connect() as client:
        client.post(CHAT, ASK, "x-api-key: key-a\r\n")
        head, _ = client.answer()
        line = next(one for one in head.split(b"\r\n") if one.startswith(b"X-Stemcache-Decision: "))
    names = [part.split(b"=")[0].strip() for part in line.split(b": ", 1)[1].split(b";")]
    own = [b"reason", b"cached", b"prompt", b"source"]
    others = [b"ttft", b"runner-up", b"runner-up-ttft"]
    assert names == ([b"replica", *own, *others] if full else own)


@pytest.mark.parametrize("given", ["", "X-Request-Id: " + "a" * 129, "X-Request-Id: a b"])
def test_a_request_gets_an_id(given: str) -> None:
    """Where it has none that a log can hold."""
    with near_gateway(chat) as near, near.connect() as client:
        client.post(CHAT, ASK, given and given + "\r\n")
        client.answer()
        assert re.fullmatch("[0-9a-f]{32}", near.fakes[0].calls[0].headers["x-request-id"])


def test_a_body_that_is_no_text_goes_through_untouched() -> None:
    """It is the replica's to refuse."""
    body = b'{"messages": "\xff\xfe", \x00'
    with near_gateway(chat) as near, near.connect() as client:
        near.fakes[0].script = lambda call: call.transport.write(json_answer({}, status=422))
        client.post(CHAT, body)
        assert b" 422 " in client.answer()[0]
        assert near.fakes[0].calls[0].body == body


def test_a_rank_is_asked_for() -> None:
    """Of a replica that has several; a seat each."""
    with (
        near_gateway(chat, settings=TURN, specs=lambda fakes: [spec_of(fakes[0], ranks=2)]) as near,
        near.connect() as client,
    ):
        for _ in range(2):
            client.post(CHAT, ASK, "X-Data-Parallel-Rank: 7\r\n")
            client.answer()
        ranks = {call.headers["x-data-parallel-rank"] for call in near.fakes[0].calls}
    assert ranks == {"0", "1"}


def test_a_replica_has_its_own_credential() -> None:
    """The client's goes nowhere then."""
    with (
        near_gateway(chat, specs=lambda fakes: [spec_of(fakes[0], api_key="theirs")]) as near,
        near.connect() as client,
    ):
        client.post(CHAT, ASK, "Authorization: Bearer mine\r\nx-api-key: mine\r\n")
        client.answer()
        call = near.fakes[0].calls[0]
    assert [line for line in call.lines if "mine" in line or "theirs" in line] == [
        "Authorization: Bearer theirs"
    ]


def test_a_replica_may_live_under_a_path() -> None:
    """It is put before the request's."""
    with (
        near_gateway(chat, specs=lambda fakes: [spec_of(fakes[0], path="/under/")]) as near,
        near.connect() as client,
    ):
        client.post(CHAT + "?a=1", ASK)
        client.answer()
        assert near.fakes[0].calls[0].target == "/under/v1/chat/completions?a=1"


def test_usage_is_asked_for_and_kept_back() -> None:
    """The client's stream is as if nobody had asked; the router learns of it."""
    with near_gateway(chat) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, STREAM)
        _, body = client.answer()
        assert near.fakes[0].calls[0].json == {**STREAM, "stream_options": {"include_usage": True}}
    assert b"usage" not in body
    assert body.endswith(b"data: [DONE]\n\n")
    assert told == [("first", None), ("done", AnswerUsage(10, 8, 3))]


def test_usage_that_the_client_wants_it_gets() -> None:
    """And the router too."""
    asked = {**STREAM, "stream_options": {"include_usage": True}}
    with near_gateway(chat) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, asked)
        _, body = client.answer()
        assert near.fakes[0].calls[0].json == asked
    assert b'"usage"' in body
    assert told[-1] == ("done", AnswerUsage(10, 8, 3))


def test_usage_need_not_be_asked_for() -> None:
    """By a setting."""
    settings = GatewaySettings(policy="round-robin", ask_usage=False)
    with near_gateway(chat, settings=settings) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, STREAM)
        client.answer()
        assert near.fakes[0].calls[0].json == STREAM
    assert told[-1] == ("done", None)


def test_usage_of_a_plain_answer_is_read() -> None:
    """At its end, which says that it has begun as well."""
    with near_gateway(chat) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, ASK)
        client.answer()
    assert told == [("done", AnswerUsage(10, 8, 3))]


def test_a_coded_answer_is_passed_on_unread() -> None:
    """A replica that codes without being asked to."""

    def script(call: Call) -> None:
        call.transport.write(json_answer(b"\x1f\x8bxyz", headers="content-encoding: gzip\r\n"))

    with near_gateway(script) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, ASK)
        assert client.answer()[1] == b"\x1f\x8bxyz"
    assert told[-1] == ("done", None)


@pytest.mark.parametrize("status", [400, 401, 404, 422, 500, 501])
def test_an_error_of_a_replica_s_goes_through(status: int) -> None:
    """It is nobody's fault but the request's, as far as can be known."""
    with near_gateway(
        lambda call: call.transport.write(json_answer({"e": 1}, status=status)), chat
    ) as near:
        told = ends(near)
        with near.connect() as client:
            client.post(CHAT, ASK)
            head, body = client.answer()
    assert head.startswith(b"HTTP/1.1 %d X\r\n" % status)
    assert body == b'{"e": 1}'
    assert told == [(f"status-{status}", False)]


def test_requests_without_a_prompt_are_relayed_too() -> None:
    """As they are."""
    with near_gateway(lambda call: call.transport.write(json_answer({"a": 1}))) as near:
        with near.connect() as client:
            client.send(b"GET /v1/files?x=1 HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip\r\n\r\n")
            assert client.answer()[1] == b'{"a": 1}'
            client.send(b"DELETE /v1/files/1 HTTP/1.1\r\nhost: x\r\n\r\n")
            client.answer()
            client.post("/v1/embeddings", {"input": "x"})
            client.answer()
        calls = near.fakes[0].calls
        assert [(c.method, c.target) for c in calls] == [
            ("GET", "/v1/files?x=1"),
            ("DELETE", "/v1/files/1"),
            ("POST", "/v1/embeddings"),
        ]
        assert calls[0].headers["accept-encoding"] == "gzip"
        assert "content-length" not in calls[1].headers


def test_a_head_request_has_no_body() -> None:
    """Only its length."""

    def script(call: Call) -> None:
        call.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n")

    with near_gateway(script) as near, near.connect() as client:
        client.send(b"HEAD /v1/files HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b"content-length: 5\r\n" in client.until(b"\r\n\r\n")
        client.send(b"HEAD /v1/files HTTP/1.1\r\nhost: x\r\n\r\n")
        client.until(b"\r\n\r\n")
        assert client.buffer == b""


def test_an_answer_that_ends_with_the_connection_is_chunked() -> None:
    """So the client's connection can be used again."""

    def script(call: Call) -> None:
        call.transport.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nto the end")
        call.transport.close()

    with near_gateway(script) as near, near.connect() as client:
        for _ in range(2):
            client.post(CHAT, ASK)
            head, body = client.answer()
            assert (b"Transfer-Encoding: chunked" in head, body) == (True, b"to the end")


def test_interim_answers_and_trailers_are_dropped() -> None:
    """The final answer is what the client gets."""

    def script(call: Call) -> None:
        call.transport.write(
            b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-trailer: 1\r\n\r\n"
        )

    with near_gateway(script) as near, near.connect() as client:
        client.post(CHAT, ASK)
        head, body = client.answer()
    assert body == b"abc"
    assert b"link" not in head


def test_what_one_read_holds_goes_out_in_one_chunk() -> None:
    """However many events it has."""

    def script(call: Call) -> None:
        words = [event({"choices": [i]}) for i in range(50)]
        call.transport.write(stream_head() + b"".join(words) + event("[DONE]") + event(b""))

    with near_gateway(script) as near, near.connect() as client:
        client.post(CHAT, STREAM)
        client.until(b"\r\n\r\n")
        size = int(client.until(b"\r\n"), 16)
        assert size == 50 * len('data: {"choices":[10]}\n\n') - 10 + len("data: [DONE]\n\n")


def test_no_answer_is_kept_once_its_client_is_slow() -> None:
    """The replica has to wait, and what is held stays within the transports' buffers."""
    held = threading.Event()
    part = b"x" * 65536

    def script(call: Call) -> None:
        call.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (len(part) * 2000))
        for _ in range(2000):
            call.transport.write(part)
        held.set()

    with near_gateway(script) as near, near.connect() as client:
        client.post(CHAT, ASK)
        assert held.wait(10)
        connection = next(iter(near.gateway.open))
        near.until(lambda: connection.congested)
        sizes = near.do(
            lambda: connection._transport and connection._transport.get_write_buffer_size()
        )
        assert sizes < 2 * 2**20
        head = client.until(b"\r\n\r\n")
        left = 65536 * 2000 - len(client.buffer)
        while left > 0:
            left -= len(client.sock.recv(2**20))
        assert (b" 200 " in head, left) == (True, 0)


def test_a_replica_that_does_not_begin_is_given_up() -> None:
    """Another is asked, and the client notices nothing."""
    clock = ManualClock(100.0)
    with near_gateway(silent, chat, clock=clock, settings=TURN) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, ASK)
        call = near.fakes[0].wait_calls(1)[0]
        late(clock, near, 599.0)
        assert told == []
        late(clock, near, 2.0)
        assert b" 200 " in client.answer()[0]
        assert call.left.wait(10)
    assert told[0] == ("timeout", True)


def test_a_replica_that_does_not_begin_and_is_alone_is_a_504() -> None:
    """With the time to try again."""
    clock = ManualClock(100.0)
    with near_gateway(silent, clock=clock) as near, near.connect() as client:
        client.post(CHAT, ASK)
        near.fakes[0].wait_calls(1)
        late(clock, near, 601.0)
        head, body = client.answer()
    assert head.startswith(b"HTTP/1.1 504 ")
    assert b"retry-after: 1\r\n" in head
    assert json.loads(body)["error"]["code"] == "replica_timeout"


def test_a_stream_that_stands_still_ends_in_an_error() -> None:
    """After its own limit, which begins anew with each part."""
    clock = ManualClock(100.0)
    settings = GatewaySettings(policy="round-robin", limits=Limits(idle_s=30.0))

    def script(call: Call) -> None:
        call.transport.write(stream_head() + event({"choices": [1]}))

    with (
        near_gateway(script, clock=clock, settings=settings) as near,
        near.connect() as client,
    ):
        told = ends(near)
        client.post(CHAT, STREAM)
        client.until(b"[1]}\n\n")
        call = near.fakes[0].calls[0]
        late(clock, near, 29.0)
        call.write(event({"choices": [2]}))
        client.until(b"[2]}\n\n")
        late(clock, near, 29.0)
        assert told == [("first", None)]
        late(clock, near, 2.0)
        assert b'"code":"replica_lost"' in client.until(b"0\r\n\r\n")
        assert call.left.wait(10)
    assert told[-1] == ("timeout", True)


def test_a_client_that_does_not_read_is_no_replica_s_fault() -> None:
    """Its connection is cut in the end."""
    clock = ManualClock(100.0)

    def script(call: Call) -> None:
        call.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n")
        for _ in range(1000):
            call.transport.write(b"x" * 65536)

    with near_gateway(script, clock=clock) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, ASK)
        near.fakes[0].wait_calls(1)
        connection = next(iter(near.gateway.open))
        near.until(lambda: connection.congested)
        late(clock, near, 601.0)
        near.until(lambda: not near.gateway.open)
    assert told[-1] == ("client-stalled", False)


def test_attempts_have_a_bound() -> None:
    """Of the settings: so many replicas see a request at most."""
    settings = GatewaySettings(policy="round-robin", retries=Retries(attempts=2))

    def dying(call: Call) -> None:
        call.transport.abort()

    with near_gateway(dying, dying, chat, settings=settings) as near, near.connect() as client:
        client.post(CHAT, ASK)
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 502 ")
        assert "2 attempts" in json.loads(body)["error"]["message"]
        assert [len(fake.calls) for fake in near.fakes] == [1, 1, 0]
