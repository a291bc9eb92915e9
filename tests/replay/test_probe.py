import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stemcache.clock import MonotonicClock
from stemcache.errors import UsageError
from stemcache.replay.credentials import Credentials
from stemcache.replay.fetch import Fetcher, FetchError
from stemcache.replay.pool import Pool, resolve
from stemcache.replay.probe import (
    NoCountersError,
    check_answer,
    find_model,
    reset_cache,
    scrape,
)
from stemcache.replay.scrape import Counters
from stemcache.replay.target import parse_target
from tests.replay.made import outcome
from tests.replay.scripted import Answer, Asked, Scripted, json_answer, scripted, whole
from tests.replay.test_connection import pool_at

KEYS = Credentials((("authorization", "Bearer sekret"),), ("sekret",))


def done(
    answer: Answer, act: Callable[[Fetcher], Awaitable[Any]], *, timeout_s: float = 20.0
) -> tuple[Any, Scripted]:
    """What `act` returns with a server that answers so, and the server."""

    async def main() -> tuple[Any, Scripted]:
        async with scripted(answer) as server:
            target = parse_target(f"{server.url}/llm/v1", None)
            fetcher = Fetcher(pool_at(server.port), target, KEYS, timeout_s)
            return await act(fetcher), server

    return asyncio.run(main())


def refused(answer: Answer, act: Callable[[Fetcher], Awaitable[Any]], **others: Any) -> str:
    """The message of the UsageError."""
    with pytest.raises(UsageError) as caught:
        done(answer, act, **others)
    return str(caught.value)


def models(*names: str) -> bytes:
    """A list of them."""
    return json_answer({"object": "list", "data": [{"id": name, "x": 1} for name in names]})


def test_the_one_model_of_a_target_is_taken() -> None:
    """From the list beside the endpoint, with the key."""
    model, server = done(models("m/1"), lambda fetcher: find_model(fetcher, None))
    assert model == "m/1"
    assert server.asked[0].path == "/llm/v1/models"
    assert server.asked[0].headers["authorization"] == "Bearer sekret"


def test_a_named_model_is_not_looked_up() -> None:
    """Some gateways have no list; that something answers is enough."""
    assert done(whole("404 Not Found", b""), lambda f: find_model(f, "x"))[0] == "x"


def test_a_choice_of_models_is_the_users() -> None:
    """At most five are named."""
    message = refused(models(*"abcdefg"), lambda fetcher: find_model(fetcher, None))
    assert message == "the target serves 7 models; choose with --model: a, b, c, d, e, …"


@pytest.mark.parametrize(
    "answer", [models(), whole("404 Not Found", b"x"), whole("200 OK", b"<html>"), json_answer([1])]
)
def test_without_a_list_a_model_must_be_named(answer: bytes) -> None:
    """The message says where it was looked for."""
    message = refused(answer, lambda fetcher: find_model(fetcher, None))
    assert "/llm/v1/models answers" in message
    assert message.endswith("lists no model; name one with --model, or check --target")


def test_a_refused_key_is_told_without_it() -> None:
    """Before any prompt is sent."""
    answer = json_answer({"error": {"message": "sekret is wrong"}}, "401 Unauthorized")
    message = refused(answer, lambda fetcher: find_model(fetcher, None))
    assert "refuses the key (401: *** is wrong); set --api-key" in message


def test_a_target_that_is_not_there_is_told_in_one_line() -> None:
    """With what to do."""

    async def main() -> None:
        async with scripted(b"") as server:
            port = server.port
        target = parse_target(f"http://127.0.0.1:{port}", None)
        await find_model(Fetcher(pool_at(port), target, KEYS, 5.0), "m")

    with pytest.raises(UsageError) as caught:
        asyncio.run(main())
    assert str(caught.value).startswith("nothing answers at http://127.0.0.1:")
    assert str(caught.value).endswith("start the server, or check --target")
    assert "refused: " in str(caught.value)


def test_a_target_that_speaks_no_tls_is_not_said_to_be_absent() -> None:
    """It took the connection; what to write instead is told."""

    async def main() -> None:
        async with scripted(b"") as server:
            target = parse_target(f"https://127.0.0.1:{server.port}", None)
            pool = Pool(await resolve(target), MonotonicClock(), timeout_s=0.1)
            await find_model(Fetcher(pool, target, KEYS, 5.0), "m")

    with pytest.raises(UsageError, match="cannot be spoken to over TLS: a TCP connection was made"):
        asyncio.run(main())


def test_a_target_that_is_silent_or_talks_nonsense_is_told() -> None:
    """By the kind of failure."""
    look = lambda fetcher: find_model(fetcher, None)  # noqa: E731  # shorter than a function
    silent = refused(b"", look, timeout_s=0.05)
    assert "takes connections and did not answer in time (no answer within 0.05 s)" in silent
    message = refused(b"nonsense\r\n\r\n", look)
    assert message.startswith("no answer that is HTTP comes from http://127.0.0.1:")
    assert "(not_http: " in message


@pytest.mark.parametrize(
    ("status", "check"),
    [
        (401, "--api-key"),
        (404, "--model and --api"),
        (400, "--token-range, --encoding and --extra-body"),
        (422, "--token-range, --encoding and --extra-body"),
        (500, "--target and --api"),
        (None, "--target and --api"),
    ],
)
def test_a_first_request_that_fails_says_what_to_check(status: int | None, check: str) -> None:
    """With the target's own words."""
    target = parse_target("http://h:1", None)
    failed = outcome(status=status, error="kind", detail="words")
    with pytest.raises(UsageError) as caught:
        check_answer(target, failed)
    assert str(caught.value) == (
        "a first request to http://h:1/v1/completions failed with kind: words; "
        f"check {check}, or skip this with --no-probe"
    )
    check_answer(target, outcome())


def test_a_cache_is_reset_in_the_targets_way() -> None:
    """First the path of stemcache and vLLM, then SGLang's."""
    path, server = done(json_answer({"success": True, "dropped_blocks": 3}), reset_cache)
    assert path == "/llm/reset_prefix_cache"
    assert server.asked[0].method == "POST"

    def like_sglang(asked: Asked) -> bytes:
        found = asked.path == "/llm/flush_cache"
        return whole("200 OK", b"Cache flushed.") if found else whole("404 Not Found", b"")

    assert done(like_sglang, reset_cache)[0] == "/llm/flush_cache"


def test_a_cache_that_was_not_emptied_is_told() -> None:
    """It is in use, or there is no way to."""
    busy = refused(json_answer({"success": False}), reset_cache)
    assert "could not empty its cache (POST /reset_prefix_cache): it is in use" in busy
    none = refused(whole("404 Not Found", b""), reset_cache)
    assert "has no way to empty its cache (/reset_prefix_cache 404, /flush_cache 404)" in none
    assert "VLLM_SERVER_DEV_MODE=1" in none


def test_counters_are_read_if_there_are_any() -> None:
    """A target without them is measured all the same."""
    page = b"stemcache_prompt_tokens_total 5\nstemcache_cached_tokens_total 2\n"
    look = lambda fetcher: scrape(fetcher, "/metrics")  # noqa: E731  # shorter than a function
    assert done(whole("200 OK", page), look)[0] == Counters("stemcache", 5, 2)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (whole("404 Not Found", b""), "answered 404"),
        (whole("200 OK", b"x 1"), "has no counters of cached tokens that are known"),
        (b"nonsense\r\n\r\n", r"could not be read \(not_http: "),
        (b"", "did not answer within 0.05 s"),
    ],
)
def test_counters_that_are_unknown_have_a_reason(answer: bytes, why: str) -> None:
    """A page that never comes is not a page without counters."""
    with pytest.raises(NoCountersError, match=why):
        done(answer, lambda fetcher: scrape(fetcher, "/metrics"), timeout_s=0.05)


def test_a_list_that_never_comes_does_not_matter_where_the_model_is_named() -> None:
    """As one that is refused does not."""
    assert done(b"", lambda f: find_model(f, "x"), timeout_s=0.05)[0] == "x"


def test_an_answer_without_end_is_bounded() -> None:
    """A page of metrics may be large, but not that large."""
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    with pytest.raises(FetchError, match="the answer is larger than") as caught:
        done([head, *([b"x" * 2**20] * 40)], lambda fetcher: fetcher.fetch("GET", "/x"))
    assert caught.value.kind == "too_large"
