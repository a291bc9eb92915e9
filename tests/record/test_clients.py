"""The official clients through the proxy."""

import json
import time
from typing import Any

import openai
import pytest
from anthropic import Anthropic
from openai import OpenAI

from tests.record.fake_provider import (
    CHAT_USAGE,
    MESSAGES_USAGE,
    RESPONSES_USAGE,
    FakeProvider,
)
from tests.record.live_proxy import NearProxy

KEY = "sk-ant-secret-0123456789-abcdefghij"
HI: list[Any] = [
    {
        "role": "user",
        "content": "Grüße, 世界 \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    }
]


def chat(live: NearProxy) -> OpenAI:
    """OpenAI's client."""
    return OpenAI(base_url=f"{live.url}/v1", api_key=KEY, max_retries=0)


def messages(live: NearProxy) -> Anthropic:
    """Anthropic's client."""
    return Anthropic(base_url=live.url, api_key=KEY, max_retries=0)


def test_a_chat_call_is_recorded_as_it_was_sent(live: NearProxy, fake: FakeProvider) -> None:
    """The body to the byte, host, times, status, id and usage; the content of the answer is not."""
    before = time.time()
    answer = chat(live).chat.completions.create(model="plain", messages=HI)

    (record,) = live.records()
    assert answer.choices[0].message.content == "Hello you"
    assert record["request"].encode() == fake.received[0].body
    assert json.loads(record["request"])["messages"] == HI
    assert record["url"] == f"{fake.url}/v1/chat/completions"
    assert before - 1 < record["time"] <= record["answered"] <= record["ended"] < time.time() + 1
    assert (record["stemcache"], record["method"], record["status"]) == (1, "POST", 200)
    assert (record["failed"], record["truncated"]) == (None, False)
    assert record["response"] == {
        "id": "chatcmpl-1",
        "model": "plain",
        "usage": CHAT_USAGE,
        "diagnostics": None,
        "service_tier": "default",
        "content": None,
    }
    assert record["response_headers"] == {
        "content-type": "application/json",
        "x-request-id": "req-1",
    }


def test_a_streamed_chat_call_has_its_usage(live: NearProxy, fake: FakeProvider) -> None:
    """Usage comes from the last chunk."""
    stream = chat(live).chat.completions.create(
        model="plain", messages=HI, stream=True, stream_options={"include_usage": True}
    )
    text = "".join(c.choices[0].delta.content or "" for c in stream if c.choices)

    (record,) = live.records()
    assert text == "Hello you"
    assert record["request"].encode() == fake.received[0].body
    assert record["response"]["usage"] == CHAT_USAGE
    assert record["response"]["id"] == "chatcmpl-1"


@pytest.mark.parametrize("stream", [False, True])
def test_a_responses_call_has_its_usage(live: NearProxy, *, stream: bool) -> None:
    """Plain, or in the event that completes the stream."""
    client = chat(live)
    if stream:
        kinds = [e.type for e in client.responses.create(model="plain", input="Hi", stream=True)]
        assert kinds[-1] == "response.completed"
    else:
        assert client.responses.create(model="plain", input="Hi").output_text == "Hello you"

    (record,) = live.records()
    assert record["response"]["usage"] == RESPONSES_USAGE
    assert record["response"]["id"] == "resp_1"


def test_a_messages_call_has_usage_and_diagnostics(live: NearProxy, fake: FakeProvider) -> None:
    """Anthropic's client, plain."""
    answer = messages(live).messages.create(model="plain", max_tokens=9, messages=HI)

    (record,) = live.records()
    assert answer.usage.cache_read_input_tokens == 1600
    assert record["request"].encode() == fake.received[0].body
    assert record["response"]["usage"] == MESSAGES_USAGE
    assert record["response"]["diagnostics"] == {"cache_miss_reason": {"type": "tools_changed"}}
    assert record["response"]["service_tier"] == "standard"
    assert record["headers"]["anthropic-version"] == fake.received[0].headers["anthropic-version"]


def test_a_streamed_messages_call_has_the_final_usage(live: NearProxy) -> None:
    """The prompt from the first event, the output from the last."""
    with messages(live).messages.stream(model="plain", max_tokens=9, messages=HI) as stream:
        assert "".join(stream.text_stream) == "Hello you"

    (record,) = live.records()
    assert record["response"]["usage"] == {**MESSAGES_USAGE, "output_tokens": 5}
    assert record["response"]["id"] == "msg_1"


def test_an_error_of_the_provider_comes_through(live: NearProxy) -> None:
    """Status and kind of error are recorded."""
    with pytest.raises(openai.InternalServerError, match="boom"):
        chat(live).chat.completions.create(model="error", messages=HI)

    (record,) = live.records()
    assert (record["status"], record["response"]["error"]) == (500, "server_error")
    assert record["response"]["usage"] is None
