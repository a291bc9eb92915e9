"""What holds for every request: id, key, draining, errors, one log line, one outcome."""

import asyncio

import pytest

from stemcache.server import endpoints
from stemcache.server.app import _outcome
from tests.server.stage import Answered, Stage, play

PATHS = (
    "/v1/chat/completions, /v1/completions, /v1/models, /v1/models/{model:path}, /tokenize, "
    "/detokenize, /health, /metrics, /reset_prefix_cache"
)
CHAT = {"model": "toy", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}


def test_a_path_that_is_nowhere_lists_those_that_are() -> None:
    """Whoever mistypes a path sees all of them."""

    async def body(stage: Stage) -> None:
        answered = await stage.ask("GET", "/v2/models")

        assert 404 == answered.status
        assert {
            "message": f"nothing is at /v2/models; use one of {PATHS}",
            "type": "invalid_request_error",
            "param": None,
            "code": "unknown_url",
        } == answered.error()

    play(body)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/completions", "POST"),
        ("DELETE", "/v1/chat/completions", "POST"),
        ("POST", "/health", "GET, HEAD"),
        ("PUT", "/metrics", "GET, HEAD"),
        ("POST", "/v1/models/toy", "GET, HEAD"),
    ],
)
def test_a_wrong_method_says_which_is_right(method: str, path: str, allowed: str) -> None:
    """In the message and in the header, always in one order."""

    async def body(stage: Stage) -> None:
        answered = await stage.ask(method, path)
        error = answered.error()

        assert 405 == answered.status
        assert allowed == answered.headers["allow"]
        assert f"{method} is not possible on {path}; use {allowed}" == error["message"]
        assert ("invalid_request_error", "method_not_allowed") == (error["type"], error["code"])

    play(body)


@pytest.mark.parametrize(
    ("path", "given", "prefix"),
    [
        ("/v1/chat/completions", CHAT, "chatcmpl-"),
        ("/v1/completions", {"model": "toy", "prompt": "a", "max_tokens": 1}, "cmpl-"),
        ("/tokenize", {"prompt": "a"}, "req-"),
        ("/nowhere", None, "req-"),
    ],
)
def test_each_answer_and_each_log_line_has_the_requests_id(
    path: str, given: object, prefix: str
) -> None:
    """One id, in the header, in the log, and in answers that have one."""

    async def body(stage: Stage) -> None:
        answered = await stage.ask("POST", path, given)
        request_id = answered.headers["x-request-id"]
        (line,) = stage.lines()

        assert request_id.startswith(prefix)
        assert request_id == line["id"]
        assert request_id == answered.json().get("id", request_id)

    play(body)


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer right!", "basic right", "Basic right"])
def test_without_the_key_nothing_is_answered(given: str) -> None:
    """The refusal says how to send one, and counts as an invalid request."""

    async def body(stage: Stage) -> None:
        headers = {"authorization": given} if given else {}
        answered = await stage.ask("POST", "/v1/completions", {}, headers=headers)
        error = answered.error()

        assert 401 == answered.status
        assert "Bearer" == answered.headers["www-authenticate"]
        assert (
            "the API key is missing or wrong; send the server's as 'Authorization: Bearer KEY'"
        ) == error["message"]
        assert ("authentication_error", "invalid_api_key") == (error["type"], error["code"])
        assert 1 == stage.metrics()["requests_total{invalid}"]
        assert "right" not in str(stage.log)

    play(body, api_key="right")


def test_with_the_key_everything_is_answered_and_health_without() -> None:
    """Whoever restarts the server need not know the key."""

    async def body(stage: Stage) -> None:
        headers = {"authorization": "Bearer right"}
        with_key = [
            (await stage.ask("GET", path, headers=headers)).status
            for path in ("/health", "/metrics", "/v1/models")
        ]
        without = [
            (await stage.ask("GET", path)).status for path in ("/health", "/metrics", "/nowhere")
        ]

        assert [200, 200, 200] == with_key
        assert [200, 401, 401] == without

    play(body, api_key="right")


def test_while_draining_what_is_new_is_refused() -> None:
    """Health and metrics go on; the rest is told to go elsewhere."""

    async def body(stage: Stage) -> None:
        stage.service.draining = True
        refused = await stage.complete()
        health = await stage.ask("GET", "/health")
        metrics = await stage.ask("GET", "/metrics")
        error = refused.error()

        assert (503, 503, 200) == (refused.status, health.status, metrics.status)
        assert {"status": "draining"} == health.json()
        assert (
            "the server is shutting down; send the request to another, or again later"
        ) == error["message"]
        assert ("service_unavailable_error", "shutting_down") == (error["type"], error["code"])
        assert ("5", "close") == (refused.headers["retry-after"], refused.headers["connection"])
        assert 1 == stage.metrics()["requests_total{busy}"]

    play(body)


def test_a_mistake_of_ours_is_a_500_that_the_log_explains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stranger gets an id; the log has the exception under it."""

    def broken(raw: bytes) -> None:
        raise LookupError(raw.decode()[:2])

    monkeypatch.setattr(endpoints, "decode_completion", broken)

    async def body(stage: Stage) -> None:
        answered = await stage.complete()
        error = answered.error()
        (failed,) = stage.lines("request failed")
        (line,) = stage.lines()

        assert 500 == answered.status
        assert ("the server failed on this request; its log says why under X-Request-Id") == error[
            "message"
        ]
        assert ("server_error", "internal_error") == (error["type"], error["code"])
        assert answered.headers["x-request-id"] == failed["id"]
        assert ("error", True) == (failed["log_level"], failed["exc_info"])
        assert (500, "internal_error") == (line["status"], line["error"])
        assert 1 == stage.metrics()["requests_total{failed}"]

    play(body)


def test_refusals_leave_no_traceback() -> None:
    """What the user can put right is one line, with the error's code and not its message."""

    async def body(stage: Stage) -> None:
        await stage.complete(prompt=[1] * 5000)
        (line,) = stage.log

        assert ("request", "info") == (line["event"], line["log_level"])
        assert (400, "context_length_exceeded") == (line["status"], line["error"])

    play(body)


def test_what_is_asked_every_few_seconds_is_logged_at_debug_level() -> None:
    """Health and metrics do not drown the rest."""

    async def body(stage: Stage) -> None:
        for path in ("/health", "/metrics", "/v1/models"):
            await stage.ask("GET", path)

        assert [
            ("/health", "debug"),
            ("/metrics", "debug"),
            ("/v1/models", "info"),
        ] == [(line["path"], line["log_level"]) for line in stage.log]

    play(body)


def test_a_log_line_says_how_long_it_took() -> None:
    """From arrival to the end of the answer, by the server's clock."""

    async def body(stage: Stage) -> None:
        stage.clock.advance(5.0)
        reset = stage.service.client.reset

        async def slow() -> int:
            stage.clock.advance(0.25)
            return await reset()

        stage.service.client.reset = slow  # type: ignore[method-assign]  # the clock goes on in it
        await stage.ask("POST", "/reset_prefix_cache")
        (line,) = stage.log

        assert {
            "event": "request",
            "log_level": "info",
            "id": line["id"],
            "method": "POST",
            "path": "/reset_prefix_cache",
            "status": 200,
            "duration_s": 0.25,
            "dropped_blocks": 0,
        } == line

    play(body)


def test_only_requests_for_completions_are_counted() -> None:
    """Other paths, and other methods on the same path, are no requests to the model."""

    async def body(stage: Stage) -> None:
        await stage.ask("GET", "/v1/models")
        await stage.ask("POST", "/tokenize", {"prompt": "a"})
        await stage.ask("GET", "/v1/completions")

        assert not [name for name in stage.metrics() if name.startswith("requests_total{")]

        await stage.complete()

        assert 1 == stage.metrics()["requests_total{answered}"]

    play(body)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_is_no_error(stream: object) -> None:
    """Its status is 499, its request is cancelled, and nothing is sent to nobody."""

    async def body(stage: Stage) -> None:
        leave, answered = asyncio.Event(), Answered()
        given = {"model": "toy", "prompt": "a", "max_tokens": 3000, "ignore_eos": True}
        asking = asyncio.create_task(
            stage.ask(
                "POST",
                "/v1/completions",
                {**given, "stream": stream},
                leave=leave,
                answered=answered,
            )
        )
        while not stage.service.client.stats.completion_tokens:
            await asyncio.wait({asking}, timeout=0)
        leave.set()
        await asking
        await stage.settle()
        (line,) = stage.lines()

        assert (499, "info") == (line["status"], line["log_level"])
        assert 1 == stage.metrics()["requests_total{client_left}"]
        assert 1 == stage.service.client.stats.cancelled
        assert not answered.messages or not answered.complete
        assert line["completion_tokens"] < 3000

    play(body)


def test_the_last_answer_settles_the_server() -> None:
    """Who waits for the server to be idle is woken by the last of its requests, not before."""

    async def body(stage: Stage) -> None:
        leave = asyncio.Event()
        given = {"model": "toy", "prompt": "a", "max_tokens": 3000, "ignore_eos": True}
        asking = asyncio.create_task(stage.ask("POST", "/v1/completions", given, leave=leave))
        while not stage.service.in_flight:
            await asyncio.wait({asking}, timeout=0)
        stage.service.settled.clear()
        await stage.ask("GET", "/health")

        assert (1, False) == (stage.service.in_flight, stage.service.settled.is_set())

        leave.set()
        await asking

        assert (0, True) == (stage.service.in_flight, stage.service.settled.is_set())

    play(body)


def test_a_server_that_is_cancelled_does_not_swallow_it() -> None:
    """Only a client's leaving ends quietly; whoever else cancels the task sees it cancelled."""

    async def body(stage: Stage) -> None:
        given = {"model": "toy", "prompt": "a", "max_tokens": 3000, "ignore_eos": True}
        asking = asyncio.create_task(stage.ask("POST", "/v1/completions", given))
        while not stage.service.client.stats.completion_tokens:
            await asyncio.wait({asking}, timeout=0)
        asking.cancel()
        await asyncio.wait({asking})
        (line,) = stage.lines()

        assert asking.cancelled()
        assert 0 == line["status"]
        assert 1 == stage.metrics()["requests_total{failed}"]

    play(body)


@pytest.mark.parametrize(
    ("status", "broken_off", "outcome"),
    [
        (200, False, "answered"),
        (200, True, "failed"),
        (0, False, "failed"),
        (400, False, "invalid"),
        (401, False, "invalid"),
        (404, False, "invalid"),
        (413, False, "invalid"),
        (499, False, "client_left"),
        (499, True, "client_left"),
        (500, False, "failed"),
        (503, False, "busy"),
    ],
)
def test_each_request_has_one_outcome(status: int, outcome: str, *, broken_off: bool) -> None:
    """By its status, but for streams that broke off after a good one."""
    assert outcome == _outcome(status, broken_off=broken_off)


def test_long_names_and_paths_are_not_said_back_whole() -> None:
    """What a message quotes is cut."""

    async def body(stage: Stage) -> None:
        for answered in (
            await stage.complete(model="m" * 100_000),
            await stage.ask("GET", "/" + "p" * 100_000),
            await stage.ask("POST", "/v1/models/" + "p" * 100_000),
            await stage.ask(
                "POST", "/tokenize", {"messages": [{"role": "r" * 100_000, "content": ""}]}
            ),
        ):
            assert 400 <= answered.status < 500
            assert len(answered.body) < 500

    play(body)


def test_the_schemes_name_is_written_in_any_case() -> None:
    """As HTTP has it; the key is not."""

    async def body(stage: Stage) -> None:
        async def status(given: str) -> int:
            return (await stage.ask("GET", "/v1/models", headers={"authorization": given})).status

        assert 200 == await status("bearer Key")
        assert 200 == await status("BEARER Key")
        assert 401 == await status("Bearer key")
        assert 401 == await status("Basic Key")

    play(body, api_key="Key")


def test_a_stop_token_outside_the_vocabulary_is_refused() -> None:
    """It could never come, so it must be a mistake."""

    async def body(stage: Stage) -> None:
        answered = await stage.complete(stop_token_ids=[257])

        assert 400 == answered.status
        assert (
            "stop_token_ids holds 257, and the vocabulary ends at 256; "
            "send ids of the served model's tokenizer"
        ) == answered.error()["message"]

    play(body)
