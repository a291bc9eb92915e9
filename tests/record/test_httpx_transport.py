"""The official clients with a transport that records."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest
from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI

from stemcache.errors import UsageError
from stemcache.record import httpx_transport
from stemcache.record.exchange import Exchange
from stemcache.record.httpx2_transport import RecordingAsyncTransport, RecordingTransport
from stemcache.record.record import Keep
from stemcache.record.recorder import Recorder
from tests.record.fake_provider import CHAT_USAGE, MESSAGES_USAGE, FakeProvider
from tests.record.live_proxy import read_records

KEY = "sk-secret-0123456789-abcdefghij"
HI: list[Any] = [{"role": "user", "content": "Grüße"}]


def chat(fake: FakeProvider, transport: RecordingTransport, **options: Any) -> OpenAI:
    """OpenAI's client."""
    return OpenAI(
        base_url=f"{fake.url}/v1",
        api_key=KEY,
        http_client=httpx2.Client(transport=transport),
        **{"max_retries": 0, **options},
    )


def test_openais_client_is_recorded(fake: FakeProvider, tmp_path: Path) -> None:
    """Plain and streamed: bytes as sent, usage, and no credential."""
    output = tmp_path / "calls.jsonl"
    transport = RecordingTransport(output=output)
    with chat(fake, transport) as client:
        client.chat.completions.create(model="plain", messages=HI)
        stream = client.chat.completions.create(
            model="plain", messages=HI, stream=True, stream_options={"include_usage": True}
        )
        assert "".join(c.choices[0].delta.content or "" for c in stream if c.choices) == "Hello you"
    transport.recorder.close()

    records = read_records(output)
    assert [r["request"].encode() for r in records] == [r.body for r in fake.received]
    assert [r["response"]["usage"] for r in records] == [CHAT_USAGE, CHAT_USAGE]
    assert [(r["status"], r["failed"]) for r in records] == [(200, None), (200, None)]
    assert all(r["time"] <= r["answered"] <= r["ended"] for r in records)
    assert len(records[0]["scope"]) == 16
    assert KEY not in output.read_text()


def test_anthropics_async_client_is_recorded(fake: FakeProvider, tmp_path: Path) -> None:
    """Plain and streamed."""
    output = tmp_path / "calls.jsonl"
    transport = RecordingAsyncTransport(output=output, keep=Keep(answers=True))

    async def main() -> None:
        http_client = httpx2.AsyncClient(transport=transport)
        async with AsyncAnthropic(
            base_url=fake.url, api_key=KEY, http_client=http_client
        ) as client:
            await client.messages.create(model="plain", max_tokens=9, messages=HI)
            async with client.messages.stream(model="plain", max_tokens=9, messages=HI) as stream:
                await stream.get_final_message()

    asyncio.run(main())
    transport.recorder.close()

    records = read_records(output)
    assert [r["request"].encode() for r in records] == [r.body for r in fake.received]
    assert records[0]["response"]["usage"] == MESSAGES_USAGE
    assert records[1]["response"]["usage"] == {**MESSAGES_USAGE, "output_tokens": 5}
    assert [r["response"]["content"] for r in records] == [
        [{"type": "text", "text": "Hello you"}]
    ] * 2


def test_sync_and_async_share_a_recorder(fake: FakeProvider, tmp_path: Path) -> None:
    """Any number of transports may write through one."""
    told: list[str] = []
    recorder = Recorder(tmp_path / "calls.jsonl", tell=told.append)
    http_client = httpx2.AsyncClient(transport=RecordingAsyncTransport(output=recorder))

    async def main() -> None:
        async with AsyncOpenAI(
            base_url=f"{fake.url}/v1", api_key=KEY, http_client=http_client
        ) as client:
            await client.chat.completions.create(model="plain", messages=HI)

    asyncio.run(main())
    sync = httpx2.Client(transport=RecordingTransport(output=recorder))
    with Anthropic(base_url=fake.url, api_key=KEY, http_client=sync) as client:
        client.messages.create(model="plain", max_tokens=9, messages=HI)
    recorder.close()

    assert recorder.tally.recorded == 2
    assert len({r["scope"] for r in read_records(tmp_path / "calls.jsonl")}) == 1
    assert told == []


def test_every_attempt_is_a_call(fake: FakeProvider, tmp_path: Path) -> None:
    """A client that tries again makes two records."""
    transport = RecordingTransport(output=tmp_path / "calls.jsonl")
    with (
        chat(fake, transport, max_retries=1) as client,
        pytest.raises(openai.InternalServerError),
    ):
        client.chat.completions.create(model="error", messages=HI)
    transport.recorder.close()

    records = read_records(tmp_path / "calls.jsonl")
    assert [r["status"] for r in records] == [500, 500]
    assert records[1]["headers"]["x-stainless-retry-count"] == "1"


def test_a_stream_that_is_left_is_recorded_so(fake: FakeProvider, tmp_path: Path) -> None:
    """With what was read until then."""
    transport = RecordingTransport(output=tmp_path / "calls.jsonl")
    with chat(fake, transport) as client:
        stream = client.chat.completions.create(model="stepwise", messages=HI, stream=True)
        fake.step()
        assert next(stream).choices[0].delta.content == "Hello"
        stream.close()
    transport.recorder.close()

    (record,) = read_records(tmp_path / "calls.jsonl")
    assert (record["failed"], record["status"]) == ("client_left", 200)
    assert record["response"]["id"] == "chatcmpl-1"


@pytest.mark.parametrize(("model", "failed"), [("drop", "dropped"), ("closed", "dropped")])
def test_what_breaks_is_recorded_and_raised(
    fake: FakeProvider, tmp_path: Path, model: str, failed: str
) -> None:
    """The caller gets the inner transport's error."""
    transport = RecordingTransport(output=tmp_path / "calls.jsonl")
    body = {"model": model, "messages": [], "stream": True}
    with httpx2.Client(transport=transport) as client, pytest.raises(httpx2.RemoteProtocolError):
        client.post(f"{fake.url}/v1/chat/completions", json=body)
    transport.recorder.close()

    (record,) = read_records(tmp_path / "calls.jsonl")
    assert (record["failed"], json.loads(record["request"])) == (failed, body)


def test_bodies_that_are_made_as_they_are_sent_are_recorded(
    fake: FakeProvider, tmp_path: Path
) -> None:
    """Sync and async generators."""
    body = b'{"model": "plain", "messages": []}'

    def parts() -> Iterator[bytes]:
        yield body[:9]
        yield body[9:]

    async def async_parts() -> AsyncIterator[bytes]:
        yield body[:9]
        yield body[9:]

    recorder = Recorder(tmp_path / "calls.jsonl", tell=print)
    with httpx2.Client(transport=RecordingTransport(output=recorder)) as client:
        client.post(f"{fake.url}/v1/messages", content=parts())

    async def main() -> None:
        transport = RecordingAsyncTransport(output=recorder)
        async with httpx2.AsyncClient(transport=transport) as client:
            await client.post(f"{fake.url}/v1/messages", content=async_parts())

    asyncio.run(main())
    recorder.close()
    assert [r["request"].encode() for r in read_records(tmp_path / "calls.jsonl")] == [body, body]


def test_httpx_before_its_second_version_is_recorded(fake: FakeProvider, tmp_path: Path) -> None:
    """Its objects are not those of httpx2: it has transports of its own."""
    body = {"model": "plain", "messages": [], "stream": True}
    recorder = Recorder(tmp_path / "calls.jsonl", tell=print)
    with httpx.Client(transport=httpx_transport.RecordingTransport(output=recorder)) as client:
        assert client.post(f"{fake.url}/v1/messages", json=body).content == fake.sent[0]

    async def main() -> None:
        transport = httpx_transport.RecordingAsyncTransport(output=recorder)
        async with httpx.AsyncClient(transport=transport) as client:
            answer = await client.post(f"{fake.url}/v1/messages", json=body)
            assert answer.content == fake.sent[1]

    asyncio.run(main())
    recorder.close()
    records = read_records(tmp_path / "calls.jsonl")
    assert [r["request"].encode() for r in records] == [r.body for r in fake.received]
    assert [r["response"]["id"] for r in records] == ["msg_1", "msg_1"]


class Broken(Recorder):
    """A recorder that cannot take anything."""

    def submit(self, exchange: Exchange) -> None:  # noqa: ARG002  # it fails before
        """Fail as a mistake of ours would."""
        raise RuntimeError

    def capture(self) -> Any:
        """Fail as a mistake of ours would."""
        raise RuntimeError


def test_a_recorder_that_fails_fails_no_call(fake: FakeProvider, tmp_path: Path) -> None:
    """The answer comes through, and the loss is counted."""
    told: list[str] = []
    recorder = Broken(tmp_path / "calls.jsonl", tell=told.append)
    with chat(fake, RecordingTransport(output=recorder)) as client:
        answer = client.chat.completions.create(model="plain", messages=HI)
    recorder.close()

    assert answer.choices[0].message.content == "Hello you"
    assert recorder.tally.lost == 1


def test_a_full_disk_is_logged_and_fails_no_call(
    fake: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """In a program, what is to be told is a warning in its log."""
    transport = RecordingTransport(output="/dev/full")
    with caplog.at_level(logging.WARNING), chat(fake, transport) as client:
        client.chat.completions.create(model="plain", messages=HI)
        transport.recorder.close()

    (message,) = caplog.messages
    assert message == (
        "1 call was not recorded so far: the file cannot be written: No space left on device; "
        "calls go on"
    )


def test_a_file_that_cannot_be_made_is_told_at_once(tmp_path: Path) -> None:
    """Before any call, where it can still be put right."""
    with pytest.raises(UsageError, match=r"cannot record into .*/no/such: No such file"):
        RecordingTransport(output=tmp_path / "no" / "such")
