"""OpenAI's client, watched: nothing of it changes, and all that it sends is seen."""

import asyncio
import gc
import json
import logging
import os
import threading
import time
import traceback
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest
from openai import AsyncOpenAI, AzureOpenAI, OpenAI

from stemcache.errors import UsageError
from stemcache.integrations.client_marks import marks_placed, with_marks
from stemcache.integrations.live_tell import CacheWarning, warned
from stemcache.integrations.openai_client import watch
from stemcache.lint.finding import Finding
from tests.integrations.asked import KEY, chat
from tests.integrations.fake_models import FakeModels
from tests.integrations.marks import marks_of

EACH = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


@pytest.fixture
def client(models: FakeModels) -> Iterator[OpenAI]:
    """A client of this test's own."""
    with OpenAI(base_url=f"{models.url}/v1", api_key=KEY, max_retries=0) as made:
        yield made
        watch(made).unwatch()


def ask(client: OpenAI, number: int, *, stream: bool = False, **how: Any) -> str:
    """One question; the answer."""
    if not stream:
        return (
            client.chat.completions.create(**chat(number, **how)).choices[0].message.content or ""
        )
    options: Any = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = client.chat.completions.create(**chat(number, **how), **options)
    return "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)


@EACH
def test_calls_are_added_up(client: OpenAI, models: FakeModels, *, stream: bool) -> None:
    """Calls, tokens, hit rate and money, as the provider reported them."""
    watched = watch(client)
    for number in range(4):
        assert ask(client, number, stream=stream) == models.answer

    found = watched.summary()
    assert (found.calls, found.failed, found.missed, found.unjudged) == (4, 0, 0, 0)
    assert found.prompt_tokens == sum(len(one) // 4 for one in models.texts)
    assert found.cached_tokens is not None
    assert found.hit_rate == found.cached_tokens / found.prompt_tokens
    assert 0.7 < found.hit_rate <= (found.attainable_hit_rate or 0)
    assert found.cost_usd
    assert found.findings == ()
    assert "4 calls" in str(found)


@EACH
def test_a_clock_is_warned_of_once(
    client: OpenAI, caplog: pytest.LogCaptureFixture, *, stream: bool
) -> None:
    """By the second call that has one, with rule, place, cost and cure, and no text of it."""
    watch(client)
    for number in range(5):
        ask(client, number, clock=True, stream=stream)

    found = watch(client).summary()
    (said,) = [one for one in caplog.records if one.name == "stemcache.live"]
    text = said.getMessage()
    assert said.levelno == logging.WARNING
    assert text.startswith("STM101 clock-in-prefix: ")
    assert "(call 2, /messages/0/content:" in text
    assert "tokens, $" in text
    assert "Move the ISO time" in text
    assert "09:01" not in text
    assert [one.code for one in found.findings] == ["STM101"]
    assert found.findings[0].count == 4
    assert (found.attainable_hit_rate or 0) > 0.7 > (found.hit_rate or 0)
    assert found.lost_usd


def test_what_is_sent_is_the_same(client: OpenAI, models: FakeModels) -> None:
    """To the byte, watched or not."""
    ask(client, 1)
    watch(client)
    ask(client, 1)
    watch(client).unwatch()
    ask(client, 1)
    assert len(set(models.raw)) == 1
    assert len(models.raw) == 3


def test_calls_are_recorded_as_record_does(
    client: OpenAI, models: FakeModels, tmp_path: Path
) -> None:
    """A line each, readable by lint, without a credential."""
    output = tmp_path / "calls.jsonl"
    watched = watch(client, output=output)
    for number in range(3):
        ask(client, number)
    watched.unwatch()

    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["request"].encode() for line in lines] == models.raw
    assert all(line["stemcache"] == 1 and line["response"]["usage"] for line in lines)
    assert KEY not in output.read_text()


def test_the_async_client_is_watched(models: FakeModels) -> None:
    """Many calls at once, and a stream."""

    async def main() -> int:
        async with AsyncOpenAI(base_url=f"{models.url}/v1", api_key=KEY) as client:
            watched = watch(client)
            await asyncio.gather(
                *(client.chat.completions.create(**chat(number)) for number in range(8))
            )
            stream = await client.chat.completions.create(**chat(9), stream=True)
            async for _ in stream:
                pass
            found = watched.summary()
            watched.unwatch()
            return found.calls

    assert asyncio.run(main()) == 9


def test_copies_and_azure_are_watched(models: FakeModels) -> None:
    """What `with_options` gives sends by the same HTTP client; Azure's class is one of OpenAI's."""
    with AzureOpenAI(
        azure_endpoint=models.url, api_key=KEY, api_version="2026-10-01", max_retries=0
    ) as client:
        watched = watch(client)
        ask(client, 1)
        ask(client.with_options(timeout=30), 2)
        assert watch(client.with_options(timeout=30)) is watched
        assert watched.summary().calls == 2
        watched.unwatch()


def test_a_client_on_the_older_httpx_is_watched(models: FakeModels) -> None:
    """The one that programs bring themselves, proxies and all."""
    mounts: Any = {"http://127.0.0.1": httpx.HTTPTransport(), "http://elsewhere": None}
    with OpenAI(
        base_url=f"{models.url}/v1",
        api_key=KEY,
        http_client=httpx.Client(mounts=mounts),  # type: ignore[arg-type]
    ) as client:
        watched = watch(client)
        ask(client, 1)
        assert watched.summary().calls == 1
        watched.unwatch()
        ask(client, 2)
        assert watched.summary().calls == 1
        assert mounts["http://127.0.0.1"] in client._client._mounts.values()


def test_refusals_and_retries_are_calls(client: OpenAI) -> None:
    """Each attempt is one; those without an answer are failed ones, and cost nothing."""
    watched = watch(client)
    with pytest.raises(openai.BadRequestError):
        ask(client, 1, model="gpt-5.5-refused")
    assert ask(client.with_options(max_retries=2), 2, model="gpt-5.5-busy")
    found = watched.summary()
    assert (found.calls, found.failed) == (3, 2)


def test_a_stream_that_is_left_is_seen(client: OpenAI) -> None:
    """It was answered, so its prompt may be in the cache: it counts, and nothing breaks."""
    watched = watch(client)
    with client.chat.completions.create(**chat(1, model="gpt-5.5-endless"), stream=True) as stream:
        next(iter(stream))
    found = watched.summary()
    assert (found.calls, found.failed) == (1, 0)
    assert found.prompt_tokens > 1_000


def test_a_stream_that_breaks_is_raised_and_seen(client: OpenAI) -> None:
    """The caller gets the client's own error."""
    watched = watch(client)
    with pytest.raises(openai.APIConnectionError):
        ask(client, 1, model="gpt-5.5-broken", stream=True)
    assert watched.summary().calls == 1


def test_a_provider_that_is_not_there_is_raised(models: FakeModels) -> None:
    """As without us."""
    del models
    with OpenAI(base_url="http://127.0.0.1:9/v1", api_key=KEY, max_retries=0) as client:
        watched = watch(client)
        with pytest.raises(openai.APIConnectionError):
            ask(client, 1)
        assert watched.summary().failed == 1
        watched.unwatch()


def test_threads_may_share_a_client(client: OpenAI) -> None:
    """No call is lost between them, and a cause is told once for all."""
    told: list[Finding] = []
    watched = watch(client, tell=told.append)

    def run(first: int) -> None:
        for number in range(first, first + 5):
            ask(client, number, clock=True)

    threads = [threading.Thread(target=run, args=(5 * number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert watched.summary(wait_s=30).calls == 30
    assert [one.code for one in told] == ["STM101"]


def test_watching_again_gives_what_watches(client: OpenAI) -> None:
    """Settings may then not be given anew: they would be ignored."""
    watched = watch(client)
    assert watch(client) is watched
    with pytest.raises(UsageError, match="watched already, and watch was given settings; give"):
        watch(client, tell=warned)


def test_clients_may_share_one_log(client: OpenAI, models: FakeModels) -> None:
    """`into` puts the calls of both into one summary."""
    first = watch(client)
    with OpenAI(base_url=f"{models.url}/v1", api_key=KEY) as other:
        assert watch(other, into=first) is first
        ask(client, 1)
        ask(other, 2)
        found = watch(other).summary()
        assert (found.calls, found.report.total.cold) == (2, 1)
        with (
            OpenAI(base_url=models.url, api_key=KEY) as third,
            pytest.raises(UsageError, match="settings beside into="),
        ):
            watch(third, into=first, tell=warned)


def test_another_wrapper_around_ours_stays(client: OpenAI) -> None:
    """Where other instrumentation came after us, we cannot be taken out, and only pass on."""
    watched = watch(client)
    ours: Any = client._client._transport

    class Other(httpx2.BaseTransport):
        def __init__(self, inner: Any) -> None:
            self.wrapped = inner

        def handle_request(self, request: Any) -> Any:
            return self.wrapped.handle_request(request)

    other = Other(ours)
    client._client._transport = other
    ask(client, 1)
    watched.unwatch()
    ask(client, 2)
    assert client._client._transport is other
    assert watched.summary().calls == 1
    client._client._transport = ours.inner


def test_a_with_ends_the_watching(client: OpenAI) -> None:
    """The summary is there afterwards; the client is as it was."""
    before = client._client._transport
    with watch(client) as watched:
        ask(client, 1)
        assert client._client._transport is not before
    assert client._client._transport is before
    ask(client, 2)
    assert watched.summary().calls == 1


def test_a_client_that_is_forgotten_takes_its_thread_along(models: FakeModels) -> None:
    """A program that makes a client a request does not gather threads."""
    client = OpenAI(base_url=f"{models.url}/v1", api_key=KEY)
    watched = watch(client)
    ask(client, 1)
    assert watched.summary().calls == 1
    http = weakref.ref(client._client)
    client.close()
    del client
    gc.collect()
    assert http() is None
    deadline = time.monotonic() + 10
    while not watched.recorder.closed and time.monotonic() < deadline:
        time.sleep(0.01)
    assert watched.recorder.closed
    assert watched.summary().calls == 1


def test_a_fork_begins_with_nothing(client: OpenAI, models: FakeModels) -> None:
    """The child counts its own calls, and the parent's stay the parent's."""
    watched = watch(client)
    ask(client, 1)
    assert watched.summary().calls == 1
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, from 3.12 on
        child = os.fork()
    if not child:
        try:
            with OpenAI(base_url=f"{models.url}/v1", api_key=KEY) as own:
                watch(own, into=watched)
                ask(own, 2)
                ask(own, 3)
            os.write(write, b"%d" % watched.summary().calls)
        except BaseException:
            os.write(write, traceback.format_exc().encode()[-4096:])
            raise
        finally:
            os._exit(0)
    os.close(write)
    assert os.read(read, 4096).decode() == "2"
    os.close(read)
    os.waitpid(child, 0)
    assert watched.summary().calls == 1


def test_a_warning_made_an_error_breaks_no_call(
    client: OpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    """`warned` under a filter that raises: the call goes on, and the finding is logged."""
    watched = watch(client, tell=warned)  # pytest turns warnings into errors
    for number in range(3):
        assert ask(client, number, clock=True)
    assert watched.summary().calls == 3
    (said,) = [one.getMessage() for one in caplog.records if one.name == "stemcache.live"]
    assert said.startswith("STM101")
    assert said.endswith(f"[{CacheWarning.__name__}]")


@pytest.mark.parametrize("value", [None, "client", object()])
def test_what_is_no_client_is_said_to_be_none(value: Any) -> None:
    """With its class, and what to give."""
    with pytest.raises(UsageError, match=r"is no client of openai; give an OpenAI"):
        watch(value)


def test_a_file_that_cannot_be_written_is_an_error_at_once(client: OpenAI, tmp_path: Path) -> None:
    """And the client is as it was."""
    before = client._client._transport
    with pytest.raises(UsageError, match="cannot record into"):
        watch(client, output=tmp_path / "no" / "calls.jsonl")
    assert client._client._transport is before


def test_marks_are_placed_where_they_are_asked_for(models: FakeModels) -> None:
    """In what is sent; bodies that have marks, and models without, are as they were."""
    with OpenAI(base_url=f"{models.url}/v1", api_key=KEY) as client:
        watched = watch(client, marks=True)
        assert watch(client, marks=True) is watched
        ask(client, 1, model="gpt-5.6")
        ask(client, 2, model="gpt-5.6", stream=True)
        ask(client, 3, model="gpt-5.5")
        own: Any = chat(4, model="gpt-5.6")
        own["messages"][1]["content"] = [
            {"type": "text", "text": "Hi", "prompt_cache_breakpoint": {"mode": "explicit"}}
        ]
        client.chat.completions.create(**own)
        found = watched.summary()
        watched.unwatch()
        ask(client, 5, model="gpt-5.6")
    assert [marks_of(body) for body in models.bodies] == [
        ["/messages/0/content/0"],
        ["/messages/0/content/0"],
        [],
        ["/messages/1/content/0"],
        [],
    ]
    assert found.calls == 4


def test_marks_within_are_those_of_clients_that_are_watched(
    client: OpenAI, models: FakeModels
) -> None:
    """Also with many threads, each in a context of its own."""
    watch(client)
    with marks_placed():
        ask(client, 1, model="gpt-5.6")
        thread = threading.Thread(target=ask, args=(client, 2), kwargs={"model": "gpt-5.6"})
        thread.start()
        thread.join()
    ask(client, 3, model="gpt-5.6")
    assert [len(marks_of(body)) for body in models.bodies] == [1, 0, 0]
    with pytest.raises(UsageError, match="watched already"):
        watch(client, marks=True)


def test_an_event_loop_does_not_wait_for_marks(
    models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long system prompt takes a while to look through: the loop goes on meanwhile."""
    placing, seen = threading.Event(), threading.Event()

    def slowly(request: Any, whole: type[Any]) -> Any:
        placing.set()
        assert seen.wait(10.0)
        return with_marks(request, whole)

    monkeypatch.setattr("stemcache.integrations.client_transport.with_marks", slowly)

    async def other() -> None:
        assert await asyncio.to_thread(placing.wait, 10.0)
        seen.set()

    async def main() -> None:
        async with AsyncOpenAI(base_url=f"{models.url}/v1", api_key=KEY) as client:
            with watch(client, marks=True):
                asked = client.chat.completions.create(**chat(1, model="gpt-5.6"))
                await asyncio.gather(asked, other())

    asyncio.run(main())
    assert [marks_of(body) for body in models.bodies] == [["/messages/0/content/0"]]


@pytest.mark.parametrize(
    "path", ["/responses/input_tokens", "/responses/compact", "/threads/runs", "/conversations"]
)
def test_what_asks_for_no_answer_is_sent_as_it_is(
    client: OpenAI, models: FakeModels, path: str
) -> None:
    """It leaves nothing in a cache, and these know no options of one."""
    watch(client)
    said = chat(1, model="gpt-5.6")["messages"]
    name = "messages" if path == "/threads/runs" else "input"
    with marks_placed():
        client.post(path, body={"model": "gpt-5.6", name: said}, cast_to=object)
    assert models.bodies == [{"model": "gpt-5.6", name: said}]


def test_what_cannot_be_marked_is_sent_as_it_is(client: OpenAI, models: FakeModels) -> None:
    """Odd bodies: the server says what it thinks of them, and we nothing."""
    watch(client)
    with marks_placed():
        for body in ({}, {"messages": 3}, {"model": "gpt-5.6", "messages": [7]}):
            client.post("/chat/completions", body=body, cast_to=object)
    assert models.bodies == [{}, {"messages": 3}, {"model": "gpt-5.6", "messages": [7]}]
