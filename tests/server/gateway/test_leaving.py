"""Clients that leave, and replicas that are lost in the middle of an answer."""

import json
import socket
import struct

import pytest

from stemcache.gateway.settings import GatewaySettings
from tests.server.gateway.fakes import Call, Script, chat, event, json_answer, stream_head
from tests.server.gateway.near import Client, ends, near_gateway

CHAT = "/v1/chat/completions"
ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
STREAM = {**ASK, "stream": True}
TURN = GatewaySettings(policy="round-robin")
WORD = {"choices": [{"delta": {"content": "a"}}]}


def silent(_call: Call) -> None:
    """No answer yet."""


def only_a_head(call: Call) -> None:
    """No event yet."""
    call.transport.write(stream_head())


def one_word(call: Call) -> None:
    """More is to come."""
    call.transport.write(stream_head() + event(WORD))


def half_a_body(call: Call) -> None:
    """Of a plain answer."""
    call.transport.write(json_answer({"a": "b" * 100})[:-50])


def leave(client: Client, how: str) -> None:
    """As clients do."""
    if how == "reset":
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if how == "half":
        client.sock.shutdown(socket.SHUT_WR)
    else:
        client.sock.close()


@pytest.mark.parametrize("how", ["close", "reset", "half"])
@pytest.mark.parametrize(
    ("script", "ask"),
    [
        (silent, ASK),
        (silent, STREAM),
        (only_a_head, STREAM),
        (one_word, STREAM),
        (half_a_body, ASK),
    ],
)
def test_what_a_client_does_not_wait_for_is_ended(
    script: Script, ask: dict[str, object], how: str
) -> None:
    """At the replica at once, whether it has begun to answer or not; no replica is blamed."""
    with near_gateway(script, chat, settings=TURN) as near:
        told = ends(near)
        with near.connect() as client:
            client.post(CHAT, ask)
            call = near.fakes[0].wait_calls(1)[0]
            leave(client, how)
            assert call.left.wait(10)
        near.until(lambda: not near.gateway.open)
        assert told[-1] == ("client-left", False)
        assert near.fakes[1].calls == []
        assert near.gateway.counters.client_left == 1


def test_a_client_may_leave_while_a_replica_is_connected_to() -> None:
    """Nothing is sent then."""
    with near_gateway(chat) as near:
        told = ends(near)
        with near.connect():

            def send_and_leave() -> None:
                """Within one turn of the loop, so that no connection can be made."""
                connection = next(iter(near.gateway.open))
                body = json.dumps(ASK).encode()
                connection.data_received(
                    b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b"
                    % (CHAT.encode(), len(body), body)
                )
                connection.abort()

            near.until(lambda: bool(near.gateway.open))
            near.do(send_and_leave)
        near.until(lambda: not near.gateway.open)
        assert told == [("client-left", False)]
        assert near.fakes[0].calls == []


def test_requests_that_wait_leave_with_their_client() -> None:
    """What was sent ahead is never begun."""
    with near_gateway(silent) as near:
        with near.connect() as client:
            for _ in range(3):
                client.post(CHAT, ASK)
            near.fakes[0].wait_calls(1)
        near.until(lambda: not near.gateway.open)
        assert len(near.fakes[0].calls) == 1


@pytest.mark.parametrize("how", ["reset", "close"])
def test_a_stream_that_breaks_off_ends_in_an_error_event(how: str) -> None:
    """Which clients raise on, and in chunks that are complete; the connection goes on."""

    def dying(call: Call) -> None:
        call.transport.write(stream_head() + event(WORD) + b"10\r\ndata: {")
        (call.reset if how == "reset" else call.close)()

    with near_gateway(dying, chat, settings=TURN) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, STREAM)
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 200 ")
        first, last, nothing = body.split(b"\n\n")
        assert json.loads(first[6:]) == WORD
        assert json.loads(last[6:]) == {
            "error": {
                "message": "the replica that answered was lost; send the request again",
                "type": "server_error",
                "param": None,
                "code": "replica_lost",
            }
        }
        assert nothing == b""
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
    assert told[:2] == [("first", None), ("dropped", True)]


def test_a_stream_of_messages_breaks_off_in_its_own_way() -> None:
    """With an event of type error."""

    def dying(call: Call) -> None:
        call.transport.write(stream_head() + event({"type": "message_start"}))
        call.close()

    with near_gateway(dying) as near, near.connect() as client:
        client.post("/v1/messages", {**STREAM, "max_tokens": 1})
        _, body = client.answer()
    assert body.endswith(
        b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"the replica '
        b'that answered was lost; send the request again"}}\n\n'
    )


def test_a_stream_that_is_lost_behind_its_end_is_whole() -> None:
    """There is nothing to be sorry for."""

    def dying(call: Call) -> None:
        call.transport.write(stream_head() + event(WORD) + event("[DONE]"))
        call.close()

    with near_gateway(dying) as near, near.connect() as client:
        client.post(CHAT, STREAM)
        assert client.answer()[1].endswith(b"}\n\ndata: [DONE]\n\n")


def test_a_plain_answer_that_breaks_off_is_cut() -> None:
    """The client sees that it is not whole."""

    def dying(call: Call) -> None:
        half_a_body(call)
        call.close()

    with near_gateway(dying) as near, near.connect() as client:
        client.post(CHAT, ASK)
        head = client.until(b"\r\n\r\n")
        assert b"content-length: 109\r\n" in head
        assert len(client.rest()) == 59


def test_a_plain_answer_in_chunks_that_breaks_off_is_cut() -> None:
    """Without the last chunk."""

    def dying(call: Call) -> None:
        call.transport.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
            b'transfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n'
        )
        call.close()

    with near_gateway(dying) as near, near.connect() as client:
        client.post(CHAT, ASK)
        client.until(b"\r\n\r\n")
        assert client.rest() == b'5\r\n{"a":\r\n'


def test_a_plain_answer_to_old_http_that_breaks_off_is_reset() -> None:
    """The end of the connection alone would make it whole."""

    def dying(call: Call) -> None:
        call.transport.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
            b'transfer-encoding: chunked\r\n\r\n5\r\n{"a":\r\n'
        )

    with near_gateway(dying) as near, near.connect() as client:
        client.post(CHAT, ASK, version="1.0")
        client.until(b'{"a":')
        near.fakes[0].calls[0].close()
        with pytest.raises(ConnectionResetError):
            client.sock.recv(1)


def test_a_stream_to_old_http_ends_in_the_error_event_too() -> None:
    """And with the connection."""

    def dying(call: Call) -> None:
        call.transport.write(stream_head() + event(WORD))
        call.close()

    with near_gateway(dying) as near, near.connect() as client:
        client.post(CHAT, STREAM, version="1.0")
        head = client.until(b"\r\n\r\n")
        assert b"chunked" not in head.lower()
        assert b"Connection: close\r\n" in head
        assert client.rest().endswith(b'"code":"replica_lost"}}\n\n')


def test_a_stream_with_a_length_that_breaks_off_is_cut() -> None:
    """An error event has no place in it."""

    def dying(call: Call) -> None:
        call.transport.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\n"
            b"data: 1\n\n"
        )
        call.close()

    asked = {**STREAM, "stream_options": {"include_usage": True}}
    with near_gateway(dying) as near, near.connect() as client:
        client.post(CHAT, asked)
        client.until(b"\r\n\r\n")
        assert client.rest() == b"data: 1\n\n"


def test_garbage_in_the_middle_of_a_stream_breaks_it_off() -> None:
    """As if the connection were lost."""
    with near_gateway(one_word) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, STREAM)
        near.until(lambda: told == [("first", None)])
        near.fakes[0].calls[0].write(b"zz\r\n")
        assert b"replica_lost" in client.answer()[1]
        assert near.fakes[0].calls[0].left.wait(10)
    assert told[-1] == ("bad-answer", True)
