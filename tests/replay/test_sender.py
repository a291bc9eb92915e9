import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stemcache.clock import MonotonicClock
from stemcache.replay.credentials import Credentials
from stemcache.replay.outcome import UNFINISHED, Outcome, Usage
from stemcache.replay.sender import Sender
from stemcache.replay.target import Api, parse_target
from tests.replay.made import planned
from tests.replay.scripted import (
    Answer,
    Scripted,
    anthropic_stream,
    json_answer,
    scripted,
    sse,
    stream,
    token,
    usage,
    whole,
)
from tests.replay.test_connection import pool_at

Act = Callable[[Sender, Scripted], Awaitable[Any]]

KEYS = Credentials((("authorization", "Bearer sekret"),), ("sekret",))


def acted(
    answer: Answer,
    act: Act,
    *,
    api: Api = "openai-completions",
    timeout_s: float = 20.0,
    close_after: bool = False,
) -> Any:
    """What `act` returns when it has a sender and a server that answers so."""

    async def main() -> Any:
        async with scripted(answer, close_after=close_after) as server:
            clock = MonotonicClock()
            pool = pool_at(server.port)
            sender = Sender(
                pool,
                parse_target(server.url, api),
                KEYS,
                clock=clock,
                timeout_s=timeout_s,
                origin_s=clock.now(),
            )
            try:
                return await act(sender, server)
            finally:
                pool.close()
                await asyncio.sleep(0.01)

    return asyncio.run(main())


def sent(answer: Answer, **others: Any) -> Outcome:
    """The outcome of one request."""

    async def one(sender: Sender, _: Scripted) -> Outcome:
        return await sender.launch(planned(3), [b"{}"], due_s=MonotonicClock().now())

    found = acted(answer, one, **others)
    assert isinstance(found, Outcome)
    return found


@pytest.mark.parametrize("size", [1, 13, 100_000])
def test_a_stream_becomes_moments_and_counts(size: int) -> None:
    """However it is cut."""
    raw = b"".join(stream())
    found = sent([raw[at : at + size] for at in range(0, len(raw), size)])
    assert (found.number, found.status, found.error) == (3, 200, None)
    assert found.usage == Usage(10, 4, None, 2)
    assert len(found.gaps_s) == 1
    moments = [
        found.due_s,
        found.sent_s,
        found.first_byte_s,
        found.first_token_s,
        found.last_token_s,
        found.end_s,
    ]
    assert None not in moments
    assert moments == sorted(moment for moment in moments if moment is not None)


def test_an_anthropic_stream_too() -> None:
    """Its usage comes in two parts."""
    found = sent(anthropic_stream(), api="anthropic-messages")
    assert (found.error, found.usage) == (None, Usage(10, 6, 0, 2))
    assert len(found.gaps_s) == 1


def test_a_head_and_a_role_are_no_token() -> None:
    """The first token is the first text; both are noted."""
    role = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}

    async def later(sender: Sender, server: Scripted) -> Outcome:
        go = asyncio.Event()
        server.answer = stream(sse(role), end=False)
        future = sender.launch(planned(0), [b"{}"], due_s=MonotonicClock().now())
        asyncio.get_running_loop().call_later(0.05, go.set)
        await go.wait()
        sender.give_up()
        return await future

    found = acted(b"", later)
    assert found.first_byte_s is not None
    assert found.first_token_s is None


def test_an_answer_without_any_text_has_no_first_token() -> None:
    """It is answered, and its time to first token is unknown."""
    found = sent(stream(sse(token("", "length")), sse(usage(10, 0, 1), "[DONE]")))
    assert (found.error, found.ttft_s) == (None, None)
    assert len(found.gaps_s) == 0


def test_the_last_event_may_lack_its_empty_line() -> None:
    """If the answer is otherwise complete."""
    found = sent(stream(sse(token()), b'data: {"choices":[{"text":"","finish_reason":"stop"}]}'))
    assert found.error is None


BIG = b'data: {"choices": [{"text": "' + b"x" * 5_000_000 + b'"}]}\n\n'


@pytest.mark.parametrize(
    ("answer", "kind", "detail"),
    [
        (json_answer({"error": {"message": "no such model"}}, "404 Not Found"), "http_404",
         "no such model"),
        (whole("500 Internal Server Error", b"it broke"), "http_500", "it broke"),
        (whole("503 Service Unavailable", b""), "http_503", "no message"),
        (whole("502 Bad Gateway", b"x" * 500_000), "http_502", "x" * 120),
        (whole("307 Temporary Redirect", b"", "location: http://elsewhere/"), "http_307",
         "the target redirects, which is not followed: name the new URL"),
        (json_answer({"choices": []}), "not_a_stream",
         'the answer is application/json, not text/event-stream: {"choices": []}'),
        (whole("200 OK", b"hi"), "not_a_stream",
         "the answer is no content type, not text/event-stream: hi"),
        (whole("401 Unauthorized", b"Bearer sekret is bad"), "http_401", "Bearer *** is bad"),
        (stream(sse(token())), "truncated", "the stream ended before the answer was finished"),
        (stream(), None, None),
        (stream(sse(token(), {"error": {"message": "out of memory"}})), "stream_error",
         "out of memory"),
        (stream(b"data: {nonsense\n\n"), "bad_event", "an event of the stream is not a chunk"),
        (stream(BIG), "event_too_large", "an event of the stream is larger than 4194304 bytes"),
        (b"garbage\r\n\r\n", "not_http", "what the target sent is no HTTP/1.1 answer"),
    ],
)  # fmt: skip
def test_failures_have_a_kind_and_a_message(
    answer: Answer, kind: str | None, detail: str | None
) -> None:
    """Never the key, never endless."""
    found = sent(answer)
    assert found.error == kind
    assert (found.detail or "").startswith(detail or "")
    assert len(found.detail or "") <= 300


def test_a_connection_lost_in_the_middle_is_a_failure() -> None:
    """With what is known of it until then."""
    found = sent(stream(sse(token()), end=False), close_after=True)
    assert found.error == "dropped"
    assert found.first_token_s is not None
    assert found.e2e_s is None


def test_an_answer_that_does_not_end_is_given_up() -> None:
    """After the timeout, counted from sending."""
    found = sent(stream(sse(token()), end=False), timeout_s=0.05)
    assert (found.error, found.detail) == ("timeout", "not answered in full within 0.05 s")
    assert found.end_s >= 0.05


def test_a_response_that_goes_on_after_its_last_event_is_left() -> None:
    """The answer has ended; its connection is closed, and the next request has another."""

    async def act(sender: Sender, server: Scripted) -> tuple[list[Outcome], int]:
        due = MonotonicClock().now()
        found = [await sender.launch(planned(n), [b"{}"], due_s=due) for n in range(2)]
        return found, server.connections

    outcomes, connections = acted(stream(end=False), act, timeout_s=5.0)
    assert [each.error for each in outcomes] == [None, None]
    assert all(each.end_s < 4 for each in outcomes)
    assert connections == 2


def test_usage_is_waited_for_a_moment_after_the_last_event() -> None:
    """Some servers send it there."""
    late = [b": x\n\n"] * 50
    found = sent(stream(sse(token("a", "stop"), "[DONE]"), *late, sse(usage(3, 1, 1)), end=False))
    assert (found.error, found.usage) == (None, Usage(3, 1, None, 1))


def test_a_stale_connection_is_replaced_once() -> None:
    """The request is sent again, on a new connection; the wait counts."""

    async def act(sender: Sender, server: Scripted) -> list[Outcome]:
        due = MonotonicClock().now()
        first = await sender.launch(planned(0), [b"{}"], due_s=due)
        server.answer = lambda asked: b"" if asked.connection == 1 else stream()
        server.close_after = True
        second = await sender.launch(planned(1), [b"{}"], due_s=due)
        return [first, second]

    first, second = acted(stream(), act)
    assert (first.error, first.retried) == (None, False)
    assert (second.error, second.retried) == (None, True)


def test_a_target_that_always_closes_is_not_asked_for_ever() -> None:
    """Twice at most."""

    async def act(sender: Sender, server: Scripted) -> tuple[Outcome, int]:
        await sender.launch(planned(0), [b"{}"], due_s=0.0)
        server.answer, server.close_after = b"", True
        found = await sender.launch(planned(1), [b"{}"], due_s=0.0)
        return found, len(server.asked)

    found, asked = acted(stream(), act)
    assert (found.error, found.retried, asked) == ("no_answer", True, 3)


def test_connections_are_kept_and_used_again() -> None:
    """A request after another needs none of its own; two at once do."""

    async def act(sender: Sender, server: Scripted) -> tuple[int, int]:
        for number in range(5):
            await sender.launch(planned(number), [b"{}"], due_s=0.0)
        alone = server.connections
        await asyncio.gather(*(sender.launch(planned(n), [b"{}"], due_s=0.0) for n in range(3)))
        return alone, server.connections

    assert acted(stream(), act) == (1, 3)


def test_what_is_sent_is_what_was_given() -> None:
    """To the endpoint, with the user's headers."""

    async def act(sender: Sender, server: Scripted) -> Scripted:
        await sender.launch(planned(0), [b'{"a":', b"1}"], due_s=0.0)
        return server

    (asked,) = acted(stream(), act).asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/v1/completions", b'{"a":1}')
    assert asked.headers["authorization"] == "Bearer sekret"
    assert asked.headers["content-length"] == "7"


def test_giving_up_ends_whatever_is_under_way() -> None:
    """Connecting or answering; the count of those in flight is none."""

    async def act(sender: Sender, _: Scripted) -> tuple[set[str | None], int, int, int]:
        flights = [sender.launch(planned(n), [b"{}"], due_s=0.0) for n in range(4)]
        await asyncio.sleep(0.02)
        flights += [sender.launch(planned(n), [b"{}"], due_s=0.0) for n in range(4, 6)]
        before = sender.in_flight
        sender.give_up()
        kinds = {(await flight).error for flight in flights}
        return kinds, before, sender.in_flight, len(sender.outcomes)

    assert acted(stream(sse(token()), end=False), act) == ({UNFINISHED}, 6, 0, 6)


def test_the_tally_follows() -> None:
    """For who watches."""

    async def act(sender: Sender, server: Scripted) -> Sender:
        await sender.launch(planned(0), [b"{}"], due_s=0.0)
        server.answer = whole("500 X", b"")
        await sender.launch(planned(1), [b"{}"], due_s=0.0)
        return sender

    tally = acted(stream(), act).tally
    assert (tally.sent, tally.ok, tally.failed, tally.in_flight) == (2, 1, 1, 0)
    assert (tally.prompt_tokens, tally.cached_tokens, tally.output_tokens) == (10, 4, 2)


def test_a_target_that_is_gone_fails_each_request() -> None:
    """At once, by its kind."""

    async def main() -> Outcome:
        clock = MonotonicClock()
        async with scripted(b"") as server:
            port = server.port
        target = parse_target(f"http://127.0.0.1:{port}", None)
        sender = Sender(pool_at(port), target, KEYS, clock=clock, timeout_s=5, origin_s=clock.now())
        return await sender.launch(planned(0), [b"{}"], due_s=0.0)

    found = asyncio.run(main())
    assert (found.error, found.sent_s) == ("refused", None)
