"""What all connections of a gateway share."""

import json
from dataclasses import replace

from stemcache.clock import ManualClock
from stemcache.gateway.settings import GatewaySettings, Limits
from tests.server.gateway.fakes import Call, chat
from tests.server.gateway.near import late, near_gateway, spec_of

CHAT = "/v1/chat/completions"
ASK = {"messages": [{"role": "user", "content": "hello"}]}


def test_seats_of_a_replica_are_found() -> None:
    """All its ranks; none of one that is not there."""
    with near_gateway(
        chat, chat, specs=lambda fakes: [spec_of(fakes[0], ranks=3), spec_of(fakes[1])]
    ) as near:
        seats = [near.do(lambda n=n: near.gateway.seats_of(n)) for n in ("r0", "r1", "r2")]  # type: ignore[misc]
    assert [len(found) for found in seats] == [3, 1, 0]
    assert seats[0].isdisjoint(seats[1])


def test_connections_to_replicas_that_left_are_closed() -> None:
    """With the next sweep, once what ran there has finished."""
    clock = ManualClock(1.0)
    held: list[Call] = []
    with near_gateway(held.append, chat, clock=clock) as near:
        first, second = near.fakes
        with near.connect() as client:
            client.post(CHAT, ASK)
            first.wait_calls(1)
            router = near.gateway.router
            near.do(lambda: router.configure(router.settings, [spec_of(second)]))
            late(clock, near, 0.5)
            near.do(lambda: chat(held[0]))
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
            late(clock, near, 0.5)
            assert held[0].left.wait(10)
            client.post(CHAT, ASK)
            assert b'replica="r1"' in client.answer()[0]


def test_limits_hold_from_the_next_request_on() -> None:
    """Of settings that are taken while requests run."""
    with near_gateway(chat) as near, near.connect() as client:
        client.post(CHAT, ASK)
        client.answer()
        settings: GatewaySettings = near.gateway.settings
        near.do(lambda: near.gateway.configure(replace(settings, limits=Limits(body_bytes=10))))
        client.post(CHAT, ASK)
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 413 ")
        assert json.loads(body)["error"]["code"] == "body_too_large"


def test_what_happens_is_counted() -> None:
    """For the metrics."""
    with near_gateway(chat) as near:
        with near.connect() as client:
            client.post(CHAT, ASK)
            client.answer()
            client.post("/nowhere", ASK)
            client.answer()
        near.said(b"nonsense\r\n\r\n")
        counters = near.gateway.counters
        assert counters.connections == 2
        assert counters.requests == 1
        assert dict(counters.statuses) == {200: 1}
        assert dict(counters.refused) == {"path_not_relayed": 1, "bad_request_syntax": 1}


def test_replicas_that_are_out_of_reach_all_at_once_are_not_to_blame() -> None:
    """It is this machine, or its network; a few that are, are."""
    with near_gateway(chat, chat, chat, chat) as near:
        gateway = near.gateway
        alone = [near.do(lambda n=n: gateway.is_alone_with(n, 10.0)) for n in ("r0", "r1", "r2")]  # type: ignore[misc]
        later = near.do(lambda: gateway.is_alone_with("r3", 11.5))
        unknown = [near.do(lambda n=n: gateway.is_alone_with(n, 11.6)) for n in ("x", "y")]  # type: ignore[misc]
    assert alone == [False, False, True]
    assert later is False
    assert unknown == [False, False]


def test_one_replica_out_of_reach_is_to_blame() -> None:
    """There is nothing to compare it with."""
    with near_gateway(chat) as near:
        assert near.do(lambda: near.gateway.is_alone_with("r0", 10.0)) is False


def test_time_in_which_the_loop_stood_still_is_given_back() -> None:
    """To clients and replicas, and it is said."""
    clock = ManualClock(1.0)
    with near_gateway(lambda _call: None, clock=clock) as near, near.connect() as client:
        client.post(CHAT, ASK)
        near.fakes[0].wait_calls(1)
        (connection,) = near.gateway.open
        before_s = connection.deadline_s
        near.do(lambda: near.gateway.stood_still(2.5))
        assert connection.deadline_s == before_s + 2.5
        assert near.log.lines == [{"event": "the event loop stood still", "seconds": 2.5}]
