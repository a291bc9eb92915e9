"""Requests that come back to a gateway."""

import json

import pytest

from stemcache.gateway.replica import ReplicaSpec
from stemcache.server.gateway.hops import MOST_HOPS, hops_on, looped
from tests.server.gateway.fakes import chat
from tests.server.gateway.near import near_gateway

CHAT = "/v1/chat/completions"
ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def test_each_gateway_adds_its_name() -> None:
    """In the order in which they were passed."""
    assert hops_on(None, b"a") == b"a"
    assert hops_on(b"", b"a") == b"a"
    assert hops_on(hops_on(None, b"a"), b"b") == b"a, b"


def test_a_request_that_was_here_is_refused() -> None:
    """Wherever in the row."""
    for came in (b"own1", b"a, own1", b"own1, b"):
        refusal = looped(came, b"own1")
        assert refusal is not None
        assert (refusal.status, refusal.code) == (508, "loop_detected")
    assert looped(b"a, b", b"own1") is None


def test_a_row_of_gateways_has_an_end() -> None:
    """Those that do not know their own name, as after a restart, would go round for ever."""
    assert looped(b", ".join([b"x"] * (MOST_HOPS - 1)), b"own1") is None
    assert looped(b", ".join([b"x"] * MOST_HOPS), b"own1") is not None
    assert looped(b"x" * 513, b"own1") is not None


def test_a_gateway_that_is_its_own_replica_says_so() -> None:
    """Once, by the second time: to the client, and in the log."""
    with near_gateway(chat) as near, near.connect() as client:
        itself = ReplicaSpec(name="self", url=near.url)
        near.do(lambda: near.gateway.router.configure(near.gateway.settings, [itself]))
        client.post(CHAT, ASK)
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 508 Loop Detected\r\n")
        error = json.loads(body)["error"]
        assert error["code"] == "loop_detected"
        assert error["message"] == (
            "the request has come back to this gateway: one of its replicas is itself; whoever "
            "runs it has to mend the replicas' addresses"
        )
        assert [line["event"] for line in near.log.lines] == [error["message"]]
        assert near.fakes[0].calls == []
        assert near.gateway.counters.refused["loop_detected"] == 1


def test_gateways_may_stand_in_a_row() -> None:
    """On purpose; the replica sees who was passed, and a client's own word is one of them."""
    with near_gateway(chat) as inner:
        inner.gateway.hop = b"inner"
        behind = [ReplicaSpec(name="inner", url=inner.url)]
        with near_gateway(specs=lambda _: behind) as outer, outer.connect() as client:
            outer.gateway.hop = b"outer"
            client.post(CHAT, ASK, "X-Stemcache-Hops: mine\r\n")
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        assert inner.fakes[0].calls[0].headers["x-stemcache-hops"] == "mine, outer, inner"


@pytest.mark.parametrize("count", [MOST_HOPS, 200])
def test_a_client_that_says_it_came_far_is_refused(count: int) -> None:
    """It has only itself to blame."""
    with near_gateway(chat) as near, near.connect() as client:
        client.post(CHAT, ASK, f"X-Stemcache-Hops: {', '.join('x' * count)}\r\n")
        assert client.answer()[0].startswith(b"HTTP/1.1 508 ")
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
