"""Requests that are not to be done twice."""

import json

import pytest

from stemcache.gateway.settings import GatewaySettings
from stemcache.server.gateway.pool import CannotConnect, Line
from stemcache.server.gateway.upstream import Upstream
from tests.server.gateway.fakes import Call, Script, chat, json_answer
from tests.server.gateway.near import Client, Near, ends, near_gateway

TURN = GatewaySettings(policy="round-robin")
BATCH = {"input_file_id": "file-1", "endpoint": "/v1/chat/completions"}


def resets(call: Call) -> None:
    """Die without a word."""
    call.reset()


def closes(call: Call) -> None:
    """End in order, without an answer."""
    call.transport.close()


def busy(call: Call) -> None:
    """Say that somebody else had better be asked."""
    call.transport.write(
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\nx: y\r\n\r\nbusy"
    )


def counts(near: Near) -> list[int]:
    """Of calls, by replica."""
    return [len(fake.calls) for fake in near.fakes]


def send(client: Client, method: str, path: str) -> tuple[bytes, bytes]:
    """One request with a body."""
    body = json.dumps(BATCH)
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    client.send((head + body).encode())
    return client.answer()


@pytest.mark.parametrize("script", [resets, closes])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/v1/batches", "/v1/files/a", "/v1/responses/resp_1/cancel"])
def test_what_is_no_prompt_is_sent_once(script: Script, method: str, path: str) -> None:
    """The replica may have done it; the client is told so, and decides."""
    with near_gateway(script, chat, settings=TURN) as near, near.connect() as client:
        told = ends(near)
        head, body = send(client, method, path)
        assert head.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
        error = json.loads(body)["error"]
        assert error["code"] == "replica_no_answer"
        assert error["message"] == (
            "the replica did not answer (no-answer), and may have done what was asked; it was not "
            "asked twice: look, before you try again"
        )
        assert counts(near) == [1, 0]
        assert told == [("no-answer", True)]
        assert near.gateway.counters.retries == 0


def test_an_answer_that_says_to_try_elsewhere_is_the_client_s() -> None:
    """A proxy before the replica may say so of what was done all the same."""
    with near_gateway(busy, chat, settings=TURN) as near, near.connect() as client:
        head, body = send(client, "POST", "/v1/batches")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert body == b"busy"
        assert counts(near) == [1, 0]


def test_what_was_not_sent_yet_goes_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection was made: nothing can have been done."""
    connect = Line.connect
    tried: list[Line] = []

    async def connecting(line: Line, limit_s: float) -> Upstream:
        tried.append(line)
        if len(tried) == 1:
            raise CannotConnect("refused", "refused the connection")
        return await connect(line, limit_s)

    monkeypatch.setattr(Line, "connect", connecting)
    with near_gateway(chat, chat, settings=TURN) as near, near.connect() as client:
        assert send(client, "POST", "/v1/batches")[0].startswith(b"HTTP/1.1 200 ")
        assert counts(near) == [0, 1]


def test_it_gets_a_connection_of_its_own() -> None:
    """Of one that was kept nobody knows whether the replica has closed it meanwhile."""

    def answers(call: Call) -> None:
        call.transport.write(json_answer({"id": "x"}))

    with near_gateway(answers, settings=TURN) as near, near.connect() as client:
        for _ in range(3):
            client.post("/v1/chat/completions", {"messages": []})
            client.answer()
        assert near.fakes[0].connections == 1
        for count in (2, 3):
            assert send(client, "POST", "/v1/batches")[0].startswith(b"HTTP/1.1 200 ")
            assert near.fakes[0].connections == count


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/embeddings"),
        ("POST", "/v1/score"),
        ("POST", "/tokenize"),
        ("POST", "/v1/chat/completions/batch"),
        ("POST", "/v1/responses"),
        ("POST", "/v1/engines/m/completions"),
        ("GET", "/v1/batches"),
        ("OPTIONS", "/v1/batches"),
    ],
)
def test_what_costs_time_only_is_sent_again(method: str, path: str) -> None:
    """Nothing of it stays at a replica."""
    with near_gateway(resets, chat, settings=TURN) as near, near.connect() as client:
        assert send(client, method, path)[0].startswith(b"HTTP/1.1 200 ")
        assert counts(near) == [1, 1]
