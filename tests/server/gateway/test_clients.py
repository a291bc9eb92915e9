"""The official clients, through the gateway."""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from stemcache.gateway.settings import ApiKey, GatewaySettings, Limits
from tests.server.gateway.fakes import Call, chat, event, json_answer, stream_head
from tests.server.gateway.near import Near, near_gateway

ASK: Any = [{"role": "user", "content": "hello"}]


def serve(call: Call) -> None:
    """Both APIs, as a replica does."""
    if call.target.startswith("/v1/messages"):
        messages(call)
    else:
        chat(call)


def messages(call: Call) -> None:
    """Anthropic's."""
    usage = {"input_tokens": 2, "cache_read_input_tokens": 8, "output_tokens": 1}
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    if not call.json.get("stream"):
        call.transport.write(json_answer(whole))
        return
    start = {**whole, "content": [], "stop_reason": None}
    block = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": "hi"}
    call.transport.write(
        stream_head()
        + b"".join(
            named(data)
            for data in (
                {"type": "message_start", "message": start},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                    "usage": {"output_tokens": 1},
                },
                {"type": "message_stop"},
            )
        )
        + event(b"")
    )


def named(data: Any) -> bytes:
    """An event with its type, as a chunk."""
    body = f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(body), body)


@pytest.fixture
def near() -> Iterator[Near]:
    """A gateway before a replica of both APIs."""
    with near_gateway(serve) as found:
        yield found


def openai_client(near: Near) -> openai.OpenAI:
    """That tries once."""
    return openai.OpenAI(base_url=f"{near.url}/v1", api_key="key", max_retries=0)


def anthropic_client(near: Near) -> anthropic.Anthropic:
    """That tries once."""
    return anthropic.Anthropic(base_url=near.url, api_key="key", max_retries=0)


def test_openai_s_client_reads_answers_and_streams(near: Near) -> None:
    """With usage where it asks for it, and without where it does not."""
    with openai_client(near) as client:
        got = client.chat.completions.create(model="m", messages=ASK)
        assert got.choices[0].message.content == "hi"
        assert got.usage is not None
        assert got.usage.prompt_tokens == 10
        stream = client.chat.completions.create(
            model="m",
            messages=ASK,
            stream=True,
        )
        chunks = list(stream)
        assert [chunk.choices[0].delta.content for chunk in chunks] == ["a", "b", "c"]
        assert all(chunk.usage is None for chunk in chunks)
        stream = client.chat.completions.create(
            model="m",
            messages=ASK,
            stream=True,
            stream_options={"include_usage": True},
        )
        last = list(stream)[-1].usage
        assert last is not None
        assert last.prompt_tokens == 10


def test_anthropic_s_client_reads_answers_and_streams(near: Near) -> None:
    """Usage stands in both."""
    with anthropic_client(near) as client:
        got = client.messages.create(model="m", max_tokens=9, messages=ASK)
        assert got.usage.cache_read_input_tokens == 8
        with client.messages.stream(model="m", max_tokens=9, messages=ASK) as stream:
            assert "".join(stream.text_stream) == "hi"
            assert stream.get_final_message().usage.cache_read_input_tokens == 8


def test_a_client_that_ends_its_stream_ends_the_replica_s_work(near: Near) -> None:
    """As soon as it closes it."""
    near.fakes[0].script = lambda call: call.transport.write(
        stream_head() + event({"choices": [{"delta": {"content": "a"}}]})
    )
    with openai_client(near) as client:
        stream = client.chat.completions.create(
            model="m",
            messages=ASK,
            stream=True,
        )
        assert next(iter(stream)).choices[0].delta.content == "a"
        stream.close()
        assert near.fakes[0].calls[0].left.wait(10)


def test_clients_raise_when_a_stream_breaks_off(near: Near) -> None:
    """Both, and say why."""

    def dying(call: Call) -> None:
        data = named({"type": "ping"}) if "messages" in call.target else event({"choices": []})
        call.transport.write(stream_head() + data)
        call.close()

    near.fakes[0].script = dying
    with openai_client(near) as client:
        stream = client.chat.completions.create(
            model="m",
            messages=ASK,
            stream=True,
        )
        with pytest.raises(openai.APIError, match="the replica that answered was lost"):
            list(stream)
    with (
        anthropic_client(near) as client_a,
        pytest.raises(anthropic.APIStatusError, match="the replica that answered was lost"),
        client_a.messages.stream(model="m", max_tokens=9, messages=ASK) as events,
    ):
        list(events)


def test_clients_know_what_they_are_refused_for() -> None:
    """By the class of what they raise."""
    settings = GatewaySettings(
        api_keys=(ApiKey(key="key", tenant="a"),), limits=Limits(body_bytes=1000)
    )
    with near_gateway(serve, settings=settings) as near:
        long: Any = [{"role": "user", "content": "x" * 2000}]
        with openai_client(near) as client:
            with pytest.raises(openai.APIStatusError, match="larger than 1000 bytes") as caught:
                client.chat.completions.create(model="m", messages=long)
            assert caught.value.status_code == 413
            with pytest.raises(openai.AuthenticationError):
                client.with_options(api_key="other").models.with_raw_response.list()
            with pytest.raises(openai.AuthenticationError):
                client.with_options(api_key="other").chat.completions.create(
                    model="m",
                    messages=ASK,
                )
        with anthropic_client(near) as client_a:
            with pytest.raises(anthropic.APIStatusError) as refused:
                client_a.messages.create(model="m", max_tokens=1, messages=long)
            assert refused.value.status_code == 413
            near.do(lambda: near.gateway.router.drain("r0", on=True))
            with pytest.raises(anthropic.InternalServerError) as busy:
                client_a.messages.create(model="m", max_tokens=1, messages=ASK)
            assert busy.value.status_code == 503
            assert busy.value.response.headers["retry-after"] == "1"
