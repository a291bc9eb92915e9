"""Random lives: replicas that fail in every way, clients that leave at any time."""

import json
import threading
from random import Random
from typing import Any

import pytest

from stemcache.gateway.settings import GatewaySettings, HealthSettings, Retries
from tests.server.gateway.fakes import Call, chat, event, json_answer, stream_head
from tests.server.gateway.near import Client, Near, near_gateway

CHAT = "/v1/chat/completions"
WORDS = 20


class Fickle:
    """A script that decides anew for each call."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)

    def __call__(self, call: Call) -> None:
        """Answer, or not."""
        rng = self.rng
        match rng.randrange(10):
            case 0:
                call.reset()
            case 1:
                call.transport.close()
            case 2:
                call.transport.write(json_answer({"busy": 1}, status=rng.choice([429, 503, 500])))
            case 3:
                call.transport.write(b"garbage\r\n\r\n")
            case 4:
                self.stream(call, rng.randrange(WORDS), rng.choice([call.reset, call.close]))
            case 5 if not call.json["stream"]:
                call.transport.write(json_answer({"a": "b" * 100})[:-50])
                call.close()
            case 6:
                self.stream(call, WORDS, None)
            case _:
                chat(call)

    def stream(self, call: Call, words: int, end: Any) -> None:
        """Of which some may be missing, cut into random pieces."""
        if not call.json.get("stream"):
            chat(call)
            return
        data = stream_head() + b"".join(event({"choices": [i]}) for i in range(words))
        if end is None:
            data += event("[DONE]") + event(b"")
        while data:
            cut = self.rng.randrange(1, 200)
            call.write(data[:cut])
            data = data[cut:]
        if end is not None:
            end()


def one_client(near: Near, seed: int, seen: list[str], wrong: list[object]) -> None:
    """Some requests, one after the other, on connections as long as they last."""
    rng = Random(seed)
    client = Client(near.port)
    for number in range(12):
        stream = rng.random() < 0.5
        ask = {"messages": [{"role": "user", "content": f"{seed} {number}"}], "stream": stream}
        if client.buffer:
            wrong.append(client.buffer)
        client.post(CHAT, ask)
        if rng.random() < 0.1:
            client.sock.close()
            client = Client(near.port)
            seen.append("left")
            continue
        try:
            head, body = client.answer()
        except (AssertionError, ConnectionResetError):
            # Only a plain answer may break off without a word.
            seen.append("cut")
            if stream:
                wrong.append("a stream was cut")
            client.sock.close()
            client = Client(near.port)
            continue
        seen.append(judged(head, body, wrong))
    client.sock.close()


def judged(head: bytes, body: bytes, wrong: list[object]) -> str:
    """What kind of answer it is; what is none is wrong."""
    status = int(head.split()[1])
    if status != 200:
        if status not in {429, 500, 502, 503} or not json.loads(body):
            wrong.append((head, body))
        return str(status)
    if b"event-stream" not in head:
        if "choices" not in json.loads(body):
            wrong.append((head, body))
        return "plain"
    *events, rest = body.split(b"\n\n")
    if rest or not all(one.startswith(b"data: ") for one in events):
        wrong.append((head, body))
    if events[-1] == b"data: [DONE]":
        return "stream"
    if "error" not in json.loads(events[-1][6:]):
        wrong.append((head, body))
    return "broken"


@pytest.mark.parametrize("seed", range(3))
def test_every_answer_is_whole_or_says_that_it_is_not(seed: int) -> None:
    """And in the end nothing is left: no request, byte, connection or load."""
    settings = GatewaySettings(
        policy="round-robin",
        retries=Retries(attempts=2),
        health=HealthSettings(breaker_failures=1_000_000),
    )
    scripts = [Fickle(seed * 10 + i) for i in range(3)]
    seen: list[str] = []
    wrong: list[object] = []
    with near_gateway(*scripts, settings=settings) as near:
        threads = [
            threading.Thread(target=one_client, args=(near, seed * 100 + i, seen, wrong))
            for i in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert wrong == []
        assert len(seen) == 12 * 12
        assert {"plain", "stream", "broken", "left"} <= set(seen)
        near.until(lambda: not near.gateway.open)
        assert near.gateway.in_flight == 0
        assert near.gateway.buffered_bytes == 0
        assert [member.in_flight for member in near.gateway.router.members] == [0, 0, 0]
