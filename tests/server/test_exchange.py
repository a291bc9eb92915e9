"""One request and its answer, message by message."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import pytest
from starlette.types import Message

from stemcache.errors import EngineError, RequestError
from stemcache.server import exchange as exchange_module
from stemcache.server.exchange import Exchange
from stemcache.server.refusal import HttpError

TOO_LARGE = (
    "the request body is larger than 10 bytes; send less, or start the server with a larger "
    "--max-body"
)


class Yes(msgspec.Struct):
    yes: int


class Line:
    """A client: says what it was told to say, then waits until it leaves."""

    def __init__(self, *parts: bytes, leaves: bool = False, stalls: bool = False) -> None:
        self.sent: list[Message] = []
        self.leave = asyncio.Event()
        if leaves:
            self.leave.set()
        self.incoming: list[Message] = [
            {"type": "http.request", "body": part, "more_body": i + 1 < len(parts) or stalls}
            for i, part in enumerate(parts)
        ]
        if leaves or stalls:
            for message in self.incoming:
                message["more_body"] = True

    async def receive(self) -> Message:
        if self.incoming:
            return self.incoming.pop(0)
        await self.leave.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    def exchange(self, headers: Mapping[str, str] | None = None) -> Exchange:
        scope = {
            "path": "/p",
            "headers": [(k.encode(), v.encode()) for k, v in (headers or {}).items()],
        }
        return Exchange(
            scope, self.receive, self.send, request_id="r1", arrived_s=0.0, max_body_bytes=10
        )

    def heads(self) -> list[dict[str, str]]:
        return [
            {name.decode(): value.decode() for name, value in message["headers"]}
            for message in self.sent
            if message["type"] == "http.response.start"
        ]


def run(body: Callable[[], Awaitable[None]]) -> None:
    """Run to the end, with no task left over."""

    async def alone() -> None:
        await body()
        me = asyncio.current_task()
        left = asyncio.all_tasks() - {me}
        if left:
            await asyncio.wait(left, timeout=1)

        assert not [task for task in left if not task.done()]

    asyncio.run(alone())


def test_a_header_that_is_not_there_is_empty() -> None:
    """Names are those of ASGI, in lower case."""

    async def body() -> None:
        exchange = Line().exchange({"accept": "a"})

        assert (b"a", b"") == (exchange.header(b"accept"), exchange.header(b"expect"))

    run(body)


@pytest.mark.parametrize("parts", [[b""], [b"0123456789"], [b"01", b"", b"234", b"56789"]])
def test_a_body_is_all_its_parts(parts: list[bytes]) -> None:
    """However it is cut, up to the last byte that is allowed."""

    async def body() -> None:
        exchange = Line(*parts).exchange({"content-length": str(len(b"".join(parts)))})
        found = await exchange.body()
        exchange.close()

        assert b"".join(parts) == found

    run(body)


@pytest.mark.parametrize(
    ("parts", "headers"),
    [
        ([b"01234567890"], {"content-length": "11"}),
        ([b"012345", b"67890"], {}),
        ([b"012345", b"67890", b"1" * 100], {"content-length": "111"}),
        ([b""], {"content-length": "11"}),
    ],
)
def test_a_body_that_is_too_large_is_read_to_its_end_and_refused(
    parts: list[bytes], headers: dict[str, str]
) -> None:
    """So that a client which is still sending gets to see why."""

    async def body() -> None:
        line = Line(*parts)
        with pytest.raises(HttpError) as caught:
            await line.exchange(headers).body()

        assert [] == line.incoming
        assert TOO_LARGE == str(caught.value)
        assert (413, "body_too_large") == (caught.value.status, caught.value.code)
        assert {"connection": "close"} == caught.value.headers

    run(body)


def test_a_client_that_asks_before_it_sends_is_refused_unheard() -> None:
    """With `Expect: 100-continue` nothing of a body that is too large need travel."""

    async def body() -> None:
        line = Line(b"01234567890")
        with pytest.raises(HttpError) as caught:
            await line.exchange({"content-length": "11", "expect": "100-Continue"}).body()

        assert 1 == len(line.incoming)
        assert TOO_LARGE == str(caught.value)

    run(body)


def test_a_client_that_asks_before_it_sends_little_is_heard() -> None:
    """The header alone refuses nothing."""

    async def body() -> None:
        exchange = Line(b"0123").exchange({"content-length": "4", "expect": "100-continue"})
        found = await exchange.body()
        exchange.close()

        assert b"0123" == found

    run(body)


def test_the_rest_of_a_body_that_is_too_large_is_not_read_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that neither ends nor leaves is refused when the time for that is over."""
    monkeypatch.setattr(exchange_module, "_DISCARD_S", 0.0)

    async def body() -> None:
        with pytest.raises(HttpError) as caught:
            await Line(b"01234567890", stalls=True).exchange().body()

        assert TOO_LARGE == str(caught.value)

    run(body)


@pytest.mark.parametrize("parts", [[], [b"01"], [b"01234567890"]])
def test_a_client_that_leaves_within_its_body_is_gone(parts: list[bytes]) -> None:
    """Whether or not the body was too large already."""

    async def body() -> None:
        exchange = Line(*parts, leaves=True).exchange()
        with pytest.raises(ConnectionAbortedError) as caught:
            await exchange.body()

        assert "the client left before its body was complete" == str(caught.value)
        assert exchange.client_left

    run(body)


def test_a_client_that_leaves_after_its_body_cancels_the_handler() -> None:
    """At whatever the handler waits for then."""

    async def body() -> None:
        line = Line(b"x")
        exchange = line.exchange()

        async def handler() -> None:
            await exchange.body()
            line.leave.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(handler())
        await asyncio.wait({task})

        assert task.cancelled()
        assert exchange.client_left

    run(body)


def test_a_client_that_leaves_with_its_answer_has_not_left() -> None:
    """After the last byte a server reports a disconnect too."""

    async def body() -> None:
        line = Line(b"x")
        exchange = line.exchange()
        await exchange.body()
        await exchange.send_json(200, Yes(1))
        line.leave.set()
        assert exchange._watch is not None
        await exchange._watch

        assert not exchange.client_left

    run(body)


def test_a_whole_answer_is_one_message_with_its_length() -> None:
    """Type, id and length stand in its head, and what else it was given."""

    async def body() -> None:
        line = Line()
        exchange = line.exchange()
        await exchange.send_json(201, Yes(1), {"retry-after": "5"})

        assert 201 == exchange.status
        assert [
            {
                "content-type": "application/json",
                "x-request-id": "r1",
                "retry-after": "5",
                "content-length": "9",
            }
        ] == line.heads()
        assert [{"type": "http.response.body", "body": b'{"yes":1}'}] == line.sent[1:]

    run(body)


def test_other_answers_say_what_they_are() -> None:
    """The type is the caller's to choose."""

    async def body() -> None:
        line = Line()
        await line.exchange().send_bytes(200, b"abc", content_type=b"text/plain")
        (head,) = line.heads()

        assert ("text/plain", "3") == (head["content-type"], head["content-length"])

    run(body)


def test_a_stream_begins_once_and_is_not_held_back() -> None:
    """One head for all its events, which proxies are told to pass on."""

    async def body() -> None:
        line = Line()
        exchange = line.exchange()
        for events in (b"a", b"b"):
            await exchange.send_events(events)
        await exchange.end_events(b"c")

        assert [
            {
                "content-type": "text/event-stream; charset=utf-8",
                "x-request-id": "r1",
                "cache-control": "no-cache",
                "x-accel-buffering": "no",
            }
        ] == line.heads()
        assert [(b"a", True), (b"b", True), (b"c", False)] == [
            (message["body"], message.get("more_body", False)) for message in line.sent[1:]
        ]

    run(body)


def test_a_stream_that_ends_at_once_is_a_stream() -> None:
    """Even one without an event has its head."""

    async def body() -> None:
        line = Line()
        await line.exchange().end_events(b"data: [DONE]\n\n")

        assert ["http.response.start", "http.response.body", "http.response.body"] == [
            message["type"] for message in line.sent
        ]
        assert b"data: [DONE]\n\n" == line.sent[-1]["body"]

    run(body)


def error_in(message: Message) -> Any:
    """The error object in a message's body, an event or not."""
    return json.loads(message["body"].removeprefix(b"data: "))["error"]


def test_an_error_before_the_answer_is_the_answer() -> None:
    """With its own status, and its code in the log."""

    async def body() -> None:
        line = Line()
        exchange = line.exchange()
        await exchange.send_error(RequestError("no", param="n"))

        assert (400, False) == (exchange.status, exchange.broken_off)
        assert {
            "message": "no",
            "type": "invalid_request_error",
            "param": "n",
            "code": None,
        } == error_in(line.sent[-1])
        assert {"error": "invalid_request_error"} == exchange.log

    run(body)


def test_an_error_within_a_stream_is_its_last_event() -> None:
    """The status has gone out; the event says what would have been the answer."""

    async def body() -> None:
        line = Line()
        exchange = line.exchange()
        await exchange.send_events(b"a")
        await exchange.send_error(EngineError("boom"))

        assert (200, True) == (exchange.status, exchange.broken_off)
        assert ("boom", "engine_error") == (
            error_in(line.sent[-1])["message"],
            error_in(line.sent[-1])["code"],
        )
        assert not line.sent[-1].get("more_body", False)
        assert {"error": "engine_error"} == exchange.log

    run(body)


def test_an_error_after_the_answer_changes_nothing() -> None:
    """What is complete stays as it went out."""

    async def body() -> None:
        line = Line()
        exchange = line.exchange()
        await exchange.send_json(200, Yes(1))
        await exchange.send_error(EngineError("boom"))

        assert 2 == len(line.sent)
        assert (200, False, {}) == (exchange.status, exchange.broken_off, exchange.log)

    run(body)
