"""Requests that fail everywhere, replicas that are broken, and replicas that are busy."""

import json
from typing import Any

import pytest

from stemcache.gateway.settings import GatewaySettings, Retries
from tests.server.gateway.fakes import Call, Script, chat, json_answer
from tests.server.gateway.near import Near, near_gateway

CHAT = "/v1/chat/completions"
GOOD = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
BAD = {"model": "m", "messages": [{"role": "user", "content": "poison"}]}
TURN = GatewaySettings(policy="round-robin")


def dies(call: Call) -> None:
    """The process drops the connection for one kind of request."""
    if b"poison" in call.body:
        call.reset()
    else:
        chat(call)


def refuses(call: Call) -> None:
    """It answers 503 to it."""
    if b"poison" in call.body:
        call.transport.write(json_answer({"error": {"message": "no"}}, status=503))
    else:
        chat(call)


def says(status: int, seconds: int) -> Script:
    """A script: an engine whose queue is full."""
    return lambda call: call.transport.write(
        json_answer({"error": {}}, status=status, headers=f"retry-after: {seconds}\r\n")
    )


def replicas(near: Near) -> list[dict[str, Any]]:
    """Of `/v1/fleet`."""
    return list(near.gateway.router.fleet(now_s=near.gateway.clock.now())["replicas"])


@pytest.mark.parametrize("script", [dies, refuses])
@pytest.mark.parametrize("policy", ["round-robin", "auto"])
def test_a_client_s_bad_requests_do_not_shut_others_out(script: Script, policy: str) -> None:
    """Five close one breaker at most; sixty close them all, and good ones go on even then."""
    settings = GatewaySettings(policy=policy)
    with near_gateway(script, script, settings=settings) as near, near.connect() as client:
        for bad in (5, 55):
            for _ in range(bad):
                client.post(CHAT, BAD)
                assert client.answer()[0].split(b" ")[1] in (b"502", b"503")
            closed = [one["breaker"] for one in replicas(near)].count("closed")
            assert closed >= 1 if bad == 5 else closed == 0
            for _ in range(10):
                client.post(CHAT, GOOD)
                assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        assert "closed" in [one["breaker"] for one in replicas(near)]


def test_a_replica_that_fails_what_others_answer_is_left_out() -> None:
    """As before: five in a row, and it gets nothing."""

    def broken(call: Call) -> None:
        call.reset()

    with near_gateway(broken, chat, chat, settings=TURN) as near, near.connect() as client:
        for _ in range(30):
            client.post(CHAT, GOOD)
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        assert [one["breaker"] for one in replicas(near)] == ["open", "closed", "closed"]
        assert len(near.fakes[0].calls) <= 6
        left = replicas(near)[0]["breaker_open_left_s"]
        assert 0.0 < left <= 10.0


@pytest.mark.parametrize("status", [429, 503])
def test_a_replica_that_says_when_to_come_again_is_left_alone_until_then(status: int) -> None:
    """It is asked once, not five times, and its breaker stays closed."""
    with near_gateway(says(status, 7), chat, settings=TURN) as near, near.connect() as client:
        for _ in range(10):
            client.post(CHAT, GOOD)
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        assert len(near.fakes[0].calls) == 1
        busy, other = replicas(near)
        assert busy["breaker"] == "closed"
        assert 0.0 < busy["busy_left_s"] <= 7.0
        assert other["busy_left_s"] == 0.0


def test_where_all_are_busy_the_client_hears_for_how_long() -> None:
    """In the words of one of them, however many requests there were before."""
    with near_gateway(says(503, 7), says(503, 7), settings=TURN) as near, near.connect() as client:
        for _ in range(10):
            client.post(CHAT, GOOD)
            head = client.answer()[0]
            assert head.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 7\r\n" in head
        assert [one["breaker"] for one in replicas(near)] == ["closed", "closed"]


def test_a_refusal_that_is_not_tried_elsewhere_says_so_too() -> None:
    """It is passed on, and the replica is left alone all the same."""
    settings = GatewaySettings(policy="round-robin", retries=Retries(statuses=frozenset()))
    with near_gateway(says(503, 7), chat, settings=settings) as near, near.connect() as client:
        heads = []
        for _ in range(6):
            client.post(CHAT, GOOD)
            heads.append(client.answer()[0])
        refused = [head for head in heads if head.startswith(b"HTTP/1.1 503 ")]
        assert len(refused) == 1
        assert replicas(near)[0]["breaker"] == "closed"


def test_a_refusal_without_a_time_counts_as_a_failure() -> None:
    """Whether busy or broken is not told."""

    def unwell(call: Call) -> None:
        call.transport.write(json_answer({"error": {}}, status=503))

    with near_gateway(unwell, chat, settings=TURN) as near, near.connect() as client:
        for _ in range(20):
            client.post(CHAT, GOOD)
            head, body = client.answer()
            assert head.startswith(b"HTTP/1.1 200 ")
            assert json.loads(body)["choices"]
        assert [one["breaker"] for one in replicas(near)] == ["open", "closed"]
