"""One request's moments, exactly: a clock that stands still, and no connection at all."""

import json
from collections.abc import Callable
from typing import cast

import pytest

from stemcache.clock import ManualClock
from stemcache.replay.connection import Connection
from stemcache.replay.events import READERS
from stemcache.replay.flight import Flight
from stemcache.replay.outcome import Outcome, Usage
from stemcache.replay.target import Api
from tests.replay.made import planned
from tests.replay.scripted import sse, token, usage


class Line:
    """What a flight needs of a connection: it can be failed."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.flight: Flight | None = None
        self.failures: list[str] = []

    def fail(self, kind: str, detail: str) -> None:
        """As a connection does: once, and then it has no sink."""
        flight, self.flight = self.flight, None
        if flight is not None:
            self.failures.append(kind)
            flight.failed(kind, detail, self.clock.now(), stale=False)


class Stage:
    """A flight that was due at 100 s, in a run that began at 90 s."""

    def __init__(self, api: Api = "openai-completions", *, held: bool = False) -> None:
        self.clock = ManualClock(100.0)
        self.line = Line(self.clock)
        self.ended: list[Flight] = []
        self.stale: list[Flight] = []
        self.last: list[Flight] = []
        self.flight = Flight(
            planned(7, tenant="t", session="s"),
            due_s=100.0,
            origin_s=90.0,
            held=held,
            reader=READERS[api],
            on_end=self.ended.append,
            on_stale=self.stale.append,
            on_last=self.last.append,
            redact=lambda text: text.replace("sekret", "***"),
        )
        self.flight.parts = [b"request"]

    def send(self) -> None:
        """Now."""
        self.line.flight = self.flight
        self.flight.sent(cast(Connection, self.line), self.clock.now())

    def after(self, seconds: float) -> float:
        """Turn the clock."""
        self.clock.advance(seconds)
        return self.clock.now()

    def head(self, status: int = 200, kind: bytes = b"text/event-stream; charset=utf-8") -> None:
        """Now."""
        self.flight.head(status, kind, self.clock.now())

    @property
    def outcome(self) -> Outcome:
        """It has ended, once."""
        assert len(self.ended) == 1
        assert self.flight.outcome is not None
        return self.flight.outcome


def test_every_moment_counts_from_the_runs_start() -> None:
    """Due, sent, head, tokens, end; gaps lie between events that carry text."""
    stage = Stage(held=True)
    stage.after(0.25)
    stage.send()
    stage.after(0.25)
    stage.head()
    stage.flight.body(sse(token("")), stage.after(0.5))
    stage.flight.body(sse(token("a")), stage.after(0.5))
    stage.flight.body(sse(token("b")), stage.after(0.125))
    stage.flight.body(sse(token("c"), token("d", "stop")), stage.after(0.25))
    stage.flight.body(sse(usage(10, 4, 5), "[DONE]"), stage.after(0.5))
    stage.flight.done(stage.after(0.125))
    found = stage.outcome
    assert (found.number, found.tenant, found.session, found.held) == (7, "t", "s", True)
    assert (found.due_s, found.sent_s, found.first_byte_s) == (10.0, 10.25, 10.5)
    assert (found.first_token_s, found.last_token_s, found.end_s) == (11.5, 11.875, 12.375)
    assert list(found.gaps_s) == [0.125, 0.25, 0.0]
    assert (found.ttft_s, found.e2e_s, found.lag_s) == (1.5, 2.375, 0.25)
    assert found.usage == Usage(10, 4, None, 5)
    assert found.tpot_s == pytest.approx(0.375 / 4)
    assert (found.status, found.error, found.detail) == (200, None, None)


@pytest.mark.parametrize("how", ["done", "dropped", "settled", "cancelled", "garbage"])
def test_an_answer_ends_with_its_last_event(how: str) -> None:
    """Whatever becomes of the response and its connection after that."""
    stage = Stage()
    stage.send()
    stage.head()
    stage.flight.body(sse(token("a", "stop"), "[DONE]"), stage.after(1.0))
    assert (stage.last, stage.ended) == ([stage.flight], [])
    now_s = stage.after(5.0)
    match how:
        case "done":
            stage.flight.done(now_s)
        case "dropped":
            stage.line.fail("dropped", "d")
        case "settled":
            stage.flight.settle(now_s)
            assert stage.line.failures == ["not_ended"]
        case "cancelled":
            stage.flight.cancel("unfinished", "d", now_s)
        case _:
            stage.flight.body(b"data: {\n\n" + sse(token("b"), {"error": "e"}), now_s)
            stage.flight.done(now_s)
    assert (stage.outcome.error, stage.outcome.e2e_s, stage.outcome.last_token_s) == (
        None,
        1.0,
        11.0,
    )


def test_usage_may_come_after_the_last_event() -> None:
    """Who waits for it is told, and the answer's end stays where it was."""
    stage = Stage()
    stage.send()
    stage.head()
    stage.flight.body(sse(token("a", "stop"), "[DONE]"), stage.after(1.0))
    stage.flight.body(sse(usage(3, 1, 1)), stage.after(0.125))
    assert stage.last == [stage.flight] * 2
    stage.flight.settle(stage.after(0.125))
    assert (stage.outcome.usage, stage.outcome.e2e_s) == (Usage(3, 1, None, 1), 1.0)


def test_an_event_counts_when_its_last_byte_has_come() -> None:
    """Not when its first one has."""
    stage = Stage()
    stage.send()
    stage.head()
    raw = sse(token("a", "stop"))
    stage.flight.body(raw[:-1], stage.after(1.0))
    stage.flight.body(raw[-1:], stage.after(1.0))
    stage.flight.done(stage.after(1.0))
    assert (stage.outcome.ttft_s, stage.outcome.e2e_s) == (2.0, 3.0)


def test_an_answer_without_text_has_no_first_token() -> None:
    """It is whole all the same; the reason to finish is no token."""
    stage = Stage()
    stage.send()
    stage.head()
    stage.flight.body(sse(token(""), token("", "length")), stage.after(2.0))
    stage.flight.body(sse("[DONE]"), stage.after(1.0))
    stage.flight.done(stage.after(1.0))
    assert (stage.outcome.error, stage.outcome.held_text) == (None, False)
    assert (stage.outcome.ttft_s, stage.outcome.last_token_s) == (None, None)
    assert list(stage.outcome.gaps_s) == []


def test_a_failed_flight_has_no_first_token_that_it_did_not_see() -> None:
    """Whether it would have had one or not."""
    stage = Stage()
    stage.send()
    stage.head()
    stage.flight.body(sse(token("", "length")), stage.after(2.0))
    stage.line.fail("dropped", "d")
    assert (stage.outcome.error, stage.outcome.first_token_s) == ("dropped", None)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"data: {\n\n", "bad_event"),
        (sse({"error": {"message": "sekret problem"}}), "stream_error"),
        (b"data: " + b"x" * (5 * 2**20), "event_too_large"),
    ],
)
def test_a_bad_stream_fails_its_connection(body: bytes, kind: str) -> None:
    """What follows on it cannot be trusted; and no secret is repeated."""
    stage = Stage()
    stage.send()
    stage.head()
    stage.flight.body(body, stage.after(1.0))
    assert stage.line.failures == [kind]
    assert stage.outcome.error == kind
    assert "sekret" not in (stage.outcome.detail or "")


@pytest.mark.parametrize(
    ("raw", "kind"),
    [(b"data: {", "bad_event"), (b'data: {"error": "e"}', "stream_error"), (b"", "truncated")],
)
def test_the_last_event_is_judged_after_the_connection_has_gone(raw: bytes, kind: str) -> None:
    """It may serve another request by then, and is left alone."""
    stage = Stage()
    stage.send()
    stage.head()
    if raw:
        stage.flight.body(raw, stage.after(1.0))
    stage.flight.done(stage.after(1.0))
    assert stage.line.failures == []
    assert (stage.outcome.error, stage.outcome.end_s) == (kind, 11.0 + (1.0 if raw else 0.0))


def test_a_stale_connection_gives_a_second_chance_and_no_third() -> None:
    """The request is still there to be sent again."""
    stage = Stage()
    stage.send()
    stage.flight.failed("no_answer", "d", stage.after(1.0), stale=True)
    assert (stage.stale, stage.ended) == ([stage.flight], [])
    assert stage.flight.parts == [b"request"]
    stage.after(0.5)
    stage.send()
    stage.flight.failed("no_answer", "d", stage.after(1.0), stale=True)
    assert (stage.outcome.error, stage.outcome.retried, stage.outcome.sent_s) == (
        "no_answer",
        True,
        11.5,
    )


def test_the_request_is_forgotten_once_an_answer_begins() -> None:
    """It may be megabytes, and will not be sent again."""
    stage = Stage()
    stage.send()
    stage.head()
    assert stage.flight.parts == []


def test_a_cancelled_flight_ends_once_wherever_it_is() -> None:
    """Before it was sent, while it is answered, after its end."""
    early = Stage()
    early.flight.cancel("unfinished", "d", early.after(1.0))
    assert (early.outcome.error, early.outcome.sent_s, early.outcome.end_s) == (
        "unfinished",
        None,
        11.0,
    )
    late = Stage()
    late.send()
    late.flight.cancel("timeout", "d", late.after(1.0))
    assert late.line.failures == ["timeout"]
    late.flight.cancel("unfinished", "d", late.after(1.0))
    assert late.outcome.error == "timeout"


@pytest.mark.parametrize(
    ("status", "kind", "body", "error", "detail"),
    [
        (500, b"text/plain", b"a\n  b", "http_500", "a b"),
        (200, b"application/json", b'{"x": 1}', "not_a_stream",
         'the answer is application/json, not text/event-stream: {"x": 1}'),
        (200, b"", b"", "not_a_stream", "the answer is no content type, not text/event-stream: "),
        (302, b"", b"", "http_302",
         "the target redirects, which is not followed: name the new URL"),
        (204, b"", b"", "http_204", "no message"),
    ],
)  # fmt: skip
def test_other_answers_are_told_by_status(
    status: int, kind: bytes, body: bytes, error: str, detail: str
) -> None:
    """With their message in one line."""
    stage = Stage()
    stage.send()
    stage.head(status, kind)
    stage.flight.body(body, stage.after(1.0))
    stage.flight.done(stage.after(1.0))
    assert (stage.outcome.error, stage.outcome.detail) == (error, detail)
    assert (stage.outcome.status, stage.outcome.first_byte_s) == (status, 10.0)


def test_a_prompt_that_is_repeated_is_not_shown() -> None:
    """In the body of an error, or within a stream."""
    for status, kind in ((400, b"application/json"), (200, b"text/event-stream")):
        stage = Stage()
        stage.flight.parts = [b"POST", b'{"prompt":[11,22,33,44,55]}']
        stage.send()
        stage.head(status, kind)
        error = {"error": {"message": "cannot read [11, 22, 33, 44, 55]"}}
        raw = json.dumps(error).encode() if status == 400 else sse(error)
        stage.flight.body(raw, stage.after(1.0))
        if status == 400:
            stage.flight.done(stage.after(1.0))
        assert stage.outcome.detail == "cannot read […]"


def test_a_long_message_is_cut_and_an_endless_one_ends_the_connection() -> None:
    """64 KiB are enough for any."""
    stage = Stage()
    stage.send()
    stage.head(500, b"text/html")
    for _ in range(100):
        stage.flight.body(b"x" * 1024, stage.after(0.0))
    assert stage.line.failures == ["http_500"]
    assert stage.outcome.detail == "x" * 120 + "…"


@pytest.mark.parametrize(
    "told",
    [
        [usage(10, 11, 2)],
        [usage(10, -1, 2)],
        [usage(10, None, 2), {"usage": {"prompt_tokens_details": {"cached_tokens": 11}}}],
        [usage(10, 4, 2), {"usage": "x"}],
    ],
)
def test_impossible_usage_is_unknown_and_the_answer_stands(told: list[object]) -> None:
    """Nothing of the prompt is believed then; it is counted."""
    stage = Stage()
    stage.send()
    stage.head()
    stage.flight.body(sse(token("a", "stop"), *told, "[DONE]"), stage.after(1.0))
    stage.flight.done(stage.after(1.0))
    assert (stage.outcome.error, stage.outcome.ttft_s) == (None, 1.0)
    assert (stage.outcome.usage, stage.outcome.odd_usage) == (Usage(output_tokens=2), True)


ORDERS: list[Callable[[Stage], None]] = [
    lambda stage: stage.flight.body(sse(usage(3, 1, 1), token("a", "stop")), stage.after(1.0)),
    lambda stage: stage.flight.body(sse(token("a", "stop"), usage(3, 1, 1)), stage.after(1.0)),
    lambda stage: stage.flight.body(
        b": c\n\n" + sse(usage(3, None, 1), usage(3, 1, 1), token("a", "stop")), stage.after(1.0)
    ),
]


@pytest.mark.parametrize("order", ORDERS)
def test_usage_may_come_at_any_time(order: Callable[[Stage], None]) -> None:
    """What is said later completes what was said before."""
    stage = Stage()
    stage.send()
    stage.head()
    order(stage)
    stage.flight.done(stage.after(1.0))
    assert (stage.outcome.error, stage.outcome.usage) == (None, Usage(3, 1, None, 1))
