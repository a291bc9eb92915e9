"""What happens when a replica fails before the first byte of its answer."""

import asyncio
import json

import pytest

from stemcache.clock import ManualClock
from stemcache.gateway.settings import GatewaySettings, Retries
from stemcache.server.gateway.pool import CannotConnect, Line
from tests.server.gateway.fakes import Call, Script, chat, json_answer, stream_head
from tests.server.gateway.near import ends, late, near_gateway, spec_of

CHAT = "/v1/chat/completions"
ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
STREAM = {**ASK, "stream": True}
TURN = GatewaySettings(policy="round-robin")


def resets(call: Call) -> None:
    """Die without a word."""
    call.reset()


def closes(call: Call) -> None:
    """End in order, without an answer."""
    call.transport.close()


def half_a_head(call: Call) -> None:
    """Die in the middle of the head."""
    call.transport.write(b"HTTP/1.1 200 OK\r\ncontent-")
    call.close()


def only_a_head(call: Call) -> None:
    """Die between the head and the first event, as long as a prefill takes."""
    call.transport.write(stream_head())
    call.close()


def half_an_event(call: Call) -> None:
    """Die before the first event was whole."""
    call.transport.write(stream_head() + b'8\r\ndata: {"\r\n')
    call.close()


def garbage(call: Call) -> None:
    """Speak something else."""
    call.transport.write(b"SSH-2.0-OpenSSH\r\n\r\n")


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (resets, "no-answer"),
        (closes, "no-answer"),
        (half_a_head, "dropped"),
        (only_a_head, "dropped"),
        (half_an_event, "dropped"),
        (garbage, "bad-answer"),
    ],
)
def test_a_replica_that_fails_before_its_first_byte_is_replaced(script: Script, kind: str) -> None:
    """The client gets another's answer and nothing of this one's."""
    with near_gateway(script, chat, settings=TURN) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, STREAM)
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 200 ")
        assert b'replica="r1"' in head
        assert body.startswith(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n')
        assert told[0] == (kind, True)
        assert [call.json["messages"] for fake in near.fakes for call in fake.calls] == [
            ASK["messages"]
        ] * 2


def test_a_replica_that_is_not_there_is_replaced() -> None:
    """Its connection is refused."""
    with near_gateway(chat, chat, settings=TURN) as near, near.connect() as client:
        told = ends(near)
        near.do(near.fakes[0].stop)
        for _ in range(4):
            client.post(CHAT, ASK)
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
    assert told.count(("refused", True)) == 2


def test_other_ranks_of_a_replica_that_is_not_there_are_not_asked() -> None:
    """They are one process."""
    with (
        near_gateway(
            chat,
            chat,
            settings=GatewaySettings(policy="round-robin", retries=Retries(attempts=2)),
            specs=lambda fakes: [spec_of(fakes[0], ranks=4), spec_of(fakes[1])],
        ) as near,
        near.connect() as client,
    ):
        near.do(near.fakes[0].stop)
        for _ in range(5):
            client.post(CHAT, ASK)
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")


def test_where_no_replica_is_there_the_client_is_told() -> None:
    """In its API's shape, with when to try again, and no address in it."""
    with near_gateway(chat, chat, settings=TURN) as near, near.connect() as client:
        for fake in near.fakes:
            near.do(fake.stop)
        client.post(CHAT, ASK)
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
        assert b"\r\nretry-after: 1\r\n" in head
        assert json.loads(body) == {
            "error": {
                "message": "no replica answered (2 attempts; the last: refused); try again later",
                "type": "server_error",
                "param": None,
                "code": "replica_refused",
            }
        }
        client.post("/v1/messages", {**ASK, "max_tokens": 1})
        head, body = client.answer()
        assert json.loads(body)["type"] == "error"
        assert json.loads(body)["error"]["type"] == "api_error"


def test_where_no_replica_may_be_asked_it_is_a_503() -> None:
    """All are draining, say."""
    with near_gateway(chat) as near, near.connect() as client:
        assert near.do(lambda: near.gateway.router.drain("r0", on=True))
        client.post(CHAT, ASK)
        head, body = client.answer()
        assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert b"\r\nretry-after: 1\r\n" in head
        assert json.loads(body)["error"]["code"] == "no_replica"
        client.post("/v1/messages", ASK)
        assert json.loads(client.answer()[1])["error"]["type"] == "overloaded_error"
        near.do(lambda: near.gateway.router.drain("r0", on=False))
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(("status", "blame"), [(429, False), (502, True), (503, True), (504, True)])
def test_a_status_of_a_replica_in_trouble_is_tried_elsewhere(status: int, *, blame: bool) -> None:
    """A 429 says that it is busy, the others that it is unwell."""

    def busy(call: Call) -> None:
        call.transport.write(json_answer({}, status=status, headers="Retry-After: 7\r\n"))

    with near_gateway(busy, chat, settings=TURN) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        client.post(CHAT, ASK)
        client.answer()
        assert told[0] == (f"status-{status}", blame)
        assert near.fakes[0].connections == 1  # what it answered was read to its end


def test_the_last_replica_s_answer_is_the_client_s() -> None:
    """Unchanged, with what it says about when to try again."""

    def busy(call: Call) -> None:
        body = {"busy": call.replica.name}
        call.transport.write(json_answer(body, status=429, headers="Retry-After: 7\r\n"))

    with near_gateway(busy, busy, settings=TURN) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, ASK)
        head, body = client.answer()
    assert head.startswith(b"HTTP/1.1 429 X\r\n")
    assert b"\r\nRetry-After: 7\r\n" in head
    assert body == b'{"busy": "r1"}'
    assert told == [("status-429", False), ("status-429", False)]


def test_statuses_that_are_tried_elsewhere_are_a_setting() -> None:
    """None, say."""
    settings = GatewaySettings(policy="round-robin", retries=Retries(statuses=frozenset()))

    def busy(call: Call) -> None:
        call.transport.write(json_answer({}, status=503))

    with near_gateway(busy, chat, settings=settings) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 503 X\r\n")
    assert told == [("status-503", True)]


def test_a_long_answer_that_is_not_wanted_is_not_read() -> None:
    """Its connection is closed."""

    def busy(call: Call) -> None:
        call.transport.write(b"HTTP/1.1 503 X\r\ncontent-length: 1000000\r\n\r\nabc")

    with near_gateway(busy, chat, settings=TURN) as near, near.connect() as client:
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        assert near.fakes[0].calls[0].left.wait(10)


def test_a_kept_connection_that_was_closed_unseen_is_nobody_s_fault() -> None:
    """The same replica is asked again on another, and no attempt is lost."""
    settings = GatewaySettings(policy="round-robin", retries=Retries(attempts=1))
    seen: list[Call] = []

    def script(call: Call) -> None:
        seen.append(call)
        if len(seen) == 2:
            call.reset()
        else:
            chat(call)

    with near_gateway(script, settings=settings) as near, near.connect() as client:
        told = ends(near)
        for _ in range(3):
            client.post(CHAT, ASK)
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        assert near.gateway.counters.stale == 1
        assert near.fakes[0].connections == 2
        assert len(near.fakes[0].calls) == 4
    assert [kind for kind, _ in told] == ["done"] * 3


def test_a_replica_that_kills_each_connection_is_blamed_in_the_end() -> None:
    """The second, fresh one is no chance event."""
    settings = GatewaySettings(policy="round-robin", retries=Retries(attempts=1))
    seen: list[Call] = []

    def script(call: Call) -> None:
        seen.append(call)
        (chat if len(seen) == 1 else resets)(call)

    with near_gateway(script, settings=settings) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, ASK)
        client.answer()
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 502 ")
    assert told[-1] == ("no-answer", True)


def test_two_answers_to_one_request_are_one() -> None:
    """What comes unasked reaches nobody, and its connection is not used again."""

    def script(call: Call) -> None:
        call.transport.write(json_answer({"n": 1}) + json_answer({"n": 2}))

    with near_gateway(script) as near, near.connect() as client:
        for _ in range(3):
            client.post(CHAT, ASK)
            assert client.answer()[1] == b'{"n": 1}'
        assert near.fakes[0].connections == 3


def test_what_comes_on_an_idle_connection_reaches_nobody() -> None:
    """It could be taken for an answer."""
    with near_gateway(chat) as near, near.connect() as client:
        client.post(CHAT, ASK)
        client.answer()
        call = near.fakes[0].calls[0]
        call.write(json_answer({"forged": 1}))
        assert call.left.wait(10)
        client.post(CHAT, ASK)
        assert b"forged" not in client.answer()[1]
        assert near.fakes[0].connections == 2


def test_a_head_without_an_end_is_not_kept() -> None:
    """Of an answer's head no more is read than 64 KiB."""

    def script(call: Call) -> None:
        call.transport.write(b"HTTP/1.1 200 OK\r\nx: " + b"a" * 200_000)

    with near_gateway(script, chat, settings=TURN) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
    assert told[0] == ("bad-answer", True)


def test_an_answer_before_the_request_was_read_is_an_answer() -> None:
    """The rest of the request is nobody's any more, and the connection is not used again."""
    body = json.dumps({**ASK, "pad": "x" * 20_000_000}).encode()
    with near_gateway(chat) as near, near.connect() as client:
        near.fakes[0].early = json_answer({}, status=413)
        client.post(CHAT, body)
        assert client.answer()[0].startswith(b"HTTP/1.1 413 X\r\n")
        near.fakes[0].early = None
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        assert near.fakes[0].connections == 2


def test_want_of_files_here_is_no_replica_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is told to come back, and no breaker opens."""

    async def connect(line: Line, limit_s: float) -> None:
        del line, limit_s
        raise CannotConnect("exhausted", "Too many open files")

    monkeypatch.setattr(Line, "connect", connect)
    with near_gateway(chat, chat, settings=TURN) as near, near.connect() as client:
        told = ends(near)
        client.post(CHAT, ASK)
        head, body = client.answer()
    assert head.startswith(b"HTTP/1.1 502 ")
    assert json.loads(body)["error"]["code"] == "replica_exhausted"
    assert told == [("exhausted", False)] * 2


def test_a_connection_that_is_never_made_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where its own limit fails."""
    made: list[Line] = []

    async def connect(line: Line, limit_s: float) -> None:
        made.append(line)
        await asyncio.sleep(limit_s * 1000)

    clock = ManualClock(5.0)
    monkeypatch.setattr(Line, "connect", connect)
    with near_gateway(chat, clock=clock) as near, near.connect() as client:
        client.post(CHAT, ASK)
        near.until(lambda: bool(made))
        late(clock, near, 601.0)
        assert client.answer()[0].startswith(b"HTTP/1.1 504 ")


def test_a_mistake_in_what_is_learned_is_not_the_client_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets its answer; the loop says what was raised."""
    with near_gateway(chat) as near, near.connect() as client:

        def done(*_: object, **__: object) -> None:
            raise ZeroDivisionError

        with monkeypatch.context() as patched:
            patched.setattr(near.gateway.router, "done", done)
            client.post(CHAT, ASK)
            assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
        near.until(lambda: bool(near.errors))
        assert isinstance(near.errors.pop()["exception"], ZeroDivisionError)
        client.post(CHAT, ASK)
        assert client.answer()[0].startswith(b"HTTP/1.1 200 ")
