"""A step that fails: over real HTTP, behind the real worker."""

import asyncio
import json
from collections.abc import Iterator

import httpx
import pytest

from stemcache.server.worker import EngineSettings
from tests.server.fragile import (
    BREAKS_AT,
    NOT_NUMBERS,
    OUT_OF_MEMORY,
    RAISED,
    RAISES,
    TURNS_TO_NAN,
    FragileServer,
    cached,
    error_of,
    stem,
)


@pytest.fixture(scope="module")
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FragileServer]:
    """One request runs at a time, so that each step is one request's alone."""
    gate = tmp_path_factory.mktemp("fragile") / "gate"
    server = FragileServer(EngineSettings(kv_memory_bytes=2**17, max_running=1), gate)
    server.start()
    yield server
    assert server.stop() == 0


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("magic", "message"), [(RAISES, RAISED), (TURNS_TO_NAN, NOT_NUMBERS)])
def test_a_failed_prompt_is_a_500_and_the_others_go_on(
    fragile: FragileServer, magic: int, message: str, stream: object
) -> None:
    """Also where a stream was asked for, which had not begun; those who wait are answered."""
    before = fragile.metrics()
    mark = f"others {magic} {stream}"
    answers = fragile.complete(
        {"prompt": [*stem(mark), magic], "stream": stream},
        *({"prompt": [*stem(mark), 70 + number]} for number in range(3)),
    )
    after = fragile.metrics()
    error = error_of(answers[0])

    assert [500, 200, 200, 200] == [answer.status_code for answer in answers]
    assert "application/json" == answers[0].headers["content-type"]
    assert {"message": message, "type": "server_error", "param": None, "code": "engine_error"} == (
        error
    )
    assert 1 == after["failed_steps_total"] - before["failed_steps_total"]
    assert 1 == after["requests_total{failed}"] - before.get("requests_total{failed}", 0)
    assert 3 == after["requests_total{answered}"] - before.get("requests_total{answered}", 0)


@pytest.mark.parametrize("magic", [RAISES, TURNS_TO_NAN])
def test_nothing_of_a_failed_step_is_cached(fragile: FragileServer, magic: int) -> None:
    """Its pages are free again; who comes with the same beginning computes all of it."""
    before = fragile.metrics()
    (failed,) = fragile.complete({"prompt": [*stem(f"nothing {magic}"), magic]})
    after = fragile.metrics()

    assert 500 == failed.status_code
    for state in ("free", "idle", "owned", "pinned"):
        assert before[f"pages{{{state}}}"] == after[f"pages{{{state}}}"]

    first, second = (
        fragile.complete({"prompt": [*stem(f"nothing {magic}"), 70]})[0] for _ in range(2)
    )

    assert (0, 64) == (cached(first), cached(second))


def test_what_was_cached_before_a_failure_stays(fragile: FragileServer) -> None:
    """A failure behind a shared beginning costs nobody that beginning."""
    (first,) = fragile.complete({"prompt": [*stem("stays"), 70]})
    (failed,) = fragile.complete({"prompt": [*stem("stays"), RAISES]})
    (second,) = fragile.complete({"prompt": [*stem("stays"), 71]})

    assert 500 == failed.status_code
    assert (0, 64) == (cached(first), cached(second))


def half_way(mark: str) -> list[int]:
    """A prompt whose sixth token of answer hurts."""
    return [*stem(mark), *[46] * (BREAKS_AT - 64 - 5)]


def test_an_answer_that_fails_half_way_is_a_500(fragile: FragileServer) -> None:
    """No part of it is passed off as the answer."""

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(timeout=60) as client:
            asking = fragile.ask(client, prompt=half_way("whole"), max_tokens=50)
            answer, _ = await asyncio.gather(asking, fragile.open_gate())
            return answer

    answer = fragile.run(ask())

    assert 500 == answer.status_code
    assert OUT_OF_MEMORY == error_of(answer)["message"]


def test_a_stream_that_fails_half_way_ends_with_the_error(fragile: FragileServer) -> None:
    """What came before it went out; `[DONE]` does not follow; the log says what it took."""
    before = fragile.metrics()
    body = {"model": "toy", "prompt": half_way("stream"), "max_tokens": 50, "ignore_eos": True}

    async def ask() -> tuple[httpx.Response, str]:
        text = ""
        async with (
            httpx.AsyncClient(timeout=60) as client,
            client.stream(
                "POST", f"{fragile.url}/v1/completions", json={**body, "stream": True}
            ) as answer,
        ):
            async for part in answer.aiter_text():
                if not text:
                    await fragile.open_gate()
                text += part
        return answer, text

    answer, text = fragile.run(ask())
    *chunks, last = text.removesuffix("\n\n").split("\n\n")
    choices = [json.loads(chunk.removeprefix("data: "))["choices"][0] for chunk in chunks]
    after = fragile.metrics()
    (line,) = [one for one in fragile.log if one.get("id") == answer.headers["x-request-id"]]

    assert 200 == answer.status_code
    assert {None} == {choice["finish_reason"] for choice in choices}
    assert OUT_OF_MEMORY == json.loads(last.removeprefix("data: "))["error"]["message"]
    assert (200, "engine_error", 6) == (line["status"], line["error"], line["completion_tokens"])
    assert 1 == after["requests_total{failed}"] - before.get("requests_total{failed}", 0)
