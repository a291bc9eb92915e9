"""Long requests, which are read in a thread."""

import json
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from stemcache.gateway.prompt import Prompt
from stemcache.gateway.read_prompt import PromptReader
from stemcache.gateway.settings import GatewaySettings, Limits
from tests.server.gateway.fakes import chat
from tests.server.gateway.near import Near, near_gateway

CHAT = "/v1/chat/completions"
SHORT = {"model": "m", "messages": [{"role": "user", "content": "short"}]}
LONG = {"model": "m", "messages": [{"role": "user", "content": "a" * 300_000}]}
MEDIUM = {"model": "m", "messages": [{"role": "user", "content": "a" * 40_000}]}


@dataclass
class Slow:
    """Reads long bodies when it is let."""

    go: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    raises: Exception | None = None
    threads: list[str] = field(default_factory=list)
    reader: PromptReader = field(default_factory=PromptReader)

    def read(self, path: str, headers: Any, body: bytes, **given: Any) -> Prompt:
        self.threads.append(threading.current_thread().name)
        if len(body) > 30_000:
            self.begun.set()
            assert self.go.wait(10)
            if self.raises is not None:
                error, self.raises = self.raises, None
                raise error
        return self.reader.read(path, headers, body, **given)


def post(body: object) -> bytes:
    """A request."""
    data = json.dumps(body).encode()
    return b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (
        len(data),
        data,
    )


def wait(event: threading.Event) -> None:
    """Until it is set."""
    assert event.wait(10)


def settled(near: Near) -> None:
    """Until nothing is under way."""
    near.until(lambda: near.gateway.in_flight == 0)


def test_others_go_on_while_a_long_request_is_read() -> None:
    """It is counted meanwhile, and answered once it was read."""
    slow = Slow()
    with near_gateway(chat, reader=slow) as near, near.connect() as one, near.connect() as other:
        one.post(CHAT, LONG)
        wait(slow.begun)
        other.post(CHAT, SHORT)
        assert other.answer()[0].startswith(b"HTTP/1.1 200 ")
        settled_but_one = near.do(lambda: near.gateway.in_flight)
        slow.go.set()
        assert one.answer()[0].startswith(b"HTTP/1.1 200 ")
    assert settled_but_one == 1
    assert [name.startswith("stemcache-read") for name in slow.threads] == [True, False]


def test_answers_keep_the_order_of_requests_sent_ahead() -> None:
    """A short one behind a long one waits for its turn."""
    slow = Slow()
    with near_gateway(chat, reader=slow) as near, near.connect() as client:
        client.send(post(LONG) + post(SHORT))
        wait(slow.begun)
        assert near.fakes[0].calls == []
        slow.go.set()
        for _ in range(2):
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        sizes = [len(call.body) for call in near.fakes[0].wait_calls(2)]
    assert sizes[0] > 300_000 > sizes[1]


def test_a_client_that_leaves_meanwhile_is_not_sent_for() -> None:
    """The connection takes no harm, and nothing is kept."""
    slow = Slow()
    with near_gateway(chat, reader=slow) as near:
        with near.connect() as client:
            client.post(CHAT, LONG)
            wait(slow.begun)
        near.until(lambda: not near.gateway.open)
        assert near.gateway.buffered_bytes == 0
        slow.go.set()
        settled(near)
        assert near.fakes[0].calls == []


def test_one_that_waits_for_its_turn_to_be_read_can_leave() -> None:
    """Its reading never begins."""
    slow = Slow()
    with near_gateway(chat, reader=slow) as near:
        first = [near.connect() for _ in range(2)]
        for client in first:
            client.post(CHAT, LONG)
        near.until(lambda: len(slow.threads) == 2)
        with near.connect() as third:
            third.post(CHAT, LONG)
            near.until(lambda: near.gateway.in_flight == 3)
        near.until(lambda: near.gateway.in_flight == 2)
        slow.go.set()
        for client in first:
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
            client.sock.close()
        assert len(slow.threads) == 2


def test_long_requests_count_among_those_in_flight() -> None:
    """So that their number is bounded."""
    slow = Slow()
    bounds = GatewaySettings(policy="round-robin", limits=Limits(in_flight=1))
    with (
        near_gateway(chat, reader=slow, settings=bounds) as near,
        near.connect() as one,
        near.connect() as other,
    ):
        one.post(CHAT, LONG)
        wait(slow.begun)
        other.post(CHAT, SHORT)
        assert b"too_many_requests" in other.answer()[1]
        slow.go.set()
        assert one.answer()[0].startswith(b"HTTP/1.1 200 ")


def test_a_mistake_in_reading_is_answered_and_logged() -> None:
    """And the connection goes on."""
    slow = Slow(raises=ValueError("wrong"))
    slow.go.set()
    with near_gateway(chat, reader=slow) as near, near.connect() as client:
        client.post(CHAT, LONG)
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 500 ")
        assert json.loads(body)["error"]["code"] == "internal_error"
        client.post(CHAT, LONG)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        assert [line["event"] for line in near.log.lines] == ["request failed"]


def test_replicas_that_change_under_a_reading_are_looked_up_again() -> None:
    """A dictionary that changes under a thread says so once."""
    slow = Slow(raises=RuntimeError("dictionary changed size during iteration"))
    slow.go.set()
    with near_gateway(chat, reader=slow) as near, near.connect() as client:
        client.post(CHAT, LONG)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(("tokenizer", "aside"), [(None, False), ("/a/tokenizer", True)])
def test_with_a_tokenizer_shorter_ones_are_read_aside_too(
    tokenizer: str | None, *, aside: bool
) -> None:
    """As they cost more."""
    slow = Slow()
    slow.go.set()
    given = GatewaySettings(policy="round-robin", tokenizer=tokenizer)
    with near_gateway(chat, reader=slow, settings=given) as near, near.connect() as client:
        client.post(CHAT, MEDIUM)
        client.answer()
    assert [name.startswith("stemcache-read") for name in slow.threads] == [aside]
