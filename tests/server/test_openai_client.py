import asyncio
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.server.live_server import LiveServer

GO_ON: Any = {"extra_body": {"ignore_eos": True}}
HELLO: Any = [{"role": "user", "content": "Hello"}]


def test_a_chat_answer_has_text_usage_and_a_reason(client: OpenAI) -> None:
    """The official client reads a whole answer with all that OpenAI puts into one."""
    answer = client.chat.completions.create(model="toy", messages=HELLO, max_tokens=7, **GO_ON)
    (choice,) = answer.choices
    assert choice.message.role == "assistant"
    assert choice.message.content
    assert choice.finish_reason == "length"
    assert answer.id.startswith("chatcmpl-")
    assert answer.system_fingerprint == "fp_1"
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == len("user: Hello\nassistant: ")
    assert answer.usage.completion_tokens == 7
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 7
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens is not None


def test_a_stream_says_what_the_whole_answer_says(client: OpenAI) -> None:
    """The same seed streamed gives the same text, the same reason and the same usage."""
    ask: Any = {"model": "toy", "messages": HELLO, "max_tokens": 50, "seed": 5, **GO_ON}
    whole = client.chat.completions.create(**ask)
    with client.chat.completions.create(
        **ask, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == whole.choices[0].finish_reason
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 50
    assert all(c.usage is None for c in chunks[:-1])
    assert len({c.id for c in chunks}) == 1


def test_without_being_asked_a_stream_has_no_usage(toy: LiveServer) -> None:
    """`usage` is absent from every event, and the stream ends with [DONE]."""
    body = {"model": "toy", "messages": HELLO, "max_tokens": 3, "stream": True}
    text = httpx.post(f"{toy.url}/v1/chat/completions", json=body).text
    assert "usage" not in text
    assert text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize("stream", [False, True])
def test_completions_of_text(client: OpenAI, stream: Any) -> None:
    """Sixteen tokens are the default, as OpenAI has it."""
    answer: Any = client.completions.create(model="toy", prompt="Once", stream=stream, **GO_ON)
    chunks = list(answer) if stream else [answer]
    assert "".join(chunk.choices[0].text for chunk in chunks)
    assert chunks[-1].choices[0].finish_reason == "length"
    assert chunks[0].id.startswith("cmpl-")
    if not stream:
        assert answer.usage.completion_tokens == 16


def test_a_prompt_of_tokens_is_the_prompt_of_their_text(client: OpenAI) -> None:
    """Ids and text of one prompt give one answer, several prompts in the order they were sent."""
    ids = list(b"Once upon")
    ask: Any = {"model": "toy", "temperature": 0, "max_tokens": 5}
    (text,) = client.completions.create(prompt="Once upon", **ask).choices
    (tokens,) = client.completions.create(prompt=ids, **ask).choices
    several = client.completions.create(prompt=[list(b"Other"), ids], **ask).choices
    mixed = client.completions.create(prompt=["Other", "Once upon"], **ask).choices
    assert text.text == tokens.text == several[1].text == mixed[1].text
    assert several[0].text == mixed[0].text != text.text


@pytest.mark.parametrize("stream", [False, True])
def test_n_choices_differ_and_the_prompt_counts_once(client: OpenAI, stream: Any) -> None:
    """Each choice has a seed of its own; asked for again, they are the same."""
    ask: Any = {"model": "toy", "messages": HELLO, "n": 3, "seed": 9, "max_tokens": 12, **GO_ON}
    first = client.chat.completions.create(**ask)
    texts = [choice.message.content for choice in first.choices]
    assert [choice.index for choice in first.choices] == [0, 1, 2]
    assert len(set(texts)) == 3
    assert first.usage is not None
    assert first.usage.prompt_tokens == len("user: Hello\nassistant: ")
    assert first.usage.completion_tokens == 36
    if stream:
        parts: dict[int, str] = {}
        for chunk in client.chat.completions.create(stream=True, **ask):
            for choice in chunk.choices:
                parts[choice.index] = parts.get(choice.index, "") + (choice.delta.content or "")
        assert [parts[i] for i in range(3)] == texts
    else:
        again = client.chat.completions.create(**ask)
        assert [choice.message.content for choice in again.choices] == texts


def test_chat_logprobs_have_openais_shape(client: OpenAI) -> None:
    """One entry a token with its bytes, the most probable alternatives first."""
    answer = client.chat.completions.create(
        model="toy", messages=HELLO, max_tokens=6, logprobs=True, top_logprobs=3, **GO_ON
    )
    logprobs = answer.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.content is not None
    assert len(logprobs.content) == 6
    whole = b"".join(bytes(one.bytes or []) for one in logprobs.content)
    assert whole.decode(errors="replace") == answer.choices[0].message.content
    for one in logprobs.content:
        assert one.logprob < 0
        top = [other.logprob for other in one.top_logprobs]
        assert len(top) == 3
        assert top == sorted(top, reverse=True)


def test_completion_logprobs_have_openais_shape(client: OpenAI) -> None:
    """Four lists of equal length, streamed or not."""
    ask: Any = {
        "model": "toy",
        "prompt": "Hello",
        "max_tokens": 6,
        "logprobs": 2,
        **GO_ON,
        "temperature": 0,
    }
    logprobs = client.completions.create(**ask).choices[0].logprobs
    assert logprobs is not None
    lists = (
        logprobs.tokens,
        logprobs.token_logprobs,
        logprobs.top_logprobs,
        logprobs.text_offset,
    )
    assert [len(one or []) for one in lists] == [6] * 4
    streamed: list[int] = []
    for chunk in client.completions.create(stream=True, **ask):
        for choice in chunk.choices:
            streamed += (choice.logprobs and choice.logprobs.text_offset) or []
    assert streamed == logprobs.text_offset


def test_a_stop_string_ends_the_answer_before_it(client: OpenAI) -> None:
    """Nothing of it is shown, the reason is stop, and the engine stops too."""
    ask: Any = {"model": "toy", "prompt": "Hello", "temperature": 0, "max_tokens": 40, **GO_ON}
    text = client.completions.create(**ask).choices[0].text
    stop = text[10:13]
    cut = client.completions.create(stop=["never there", stop], **ask)
    assert cut.choices[0].text == text[: text.index(stop)]
    assert cut.choices[0].finish_reason == "stop"
    assert cut.usage is not None
    assert cut.usage.completion_tokens < 40
    streamed = "".join(
        c.choices[0].text for c in client.completions.create(stop=stop, stream=True, **ask)
    )
    assert streamed == cut.choices[0].text


def test_the_models_own_end_is_a_stop(client: OpenAI) -> None:
    """The toy model ends an answer by a token of its own; chat answers have no other limit."""
    answer = client.chat.completions.create(model="toy", messages=HELLO, temperature=0)
    assert answer.choices[0].finish_reason == "stop"


def test_a_shared_beginning_is_reported_as_cached(client: OpenAI) -> None:
    """The second question behind one system prompt finds all its whole blocks."""
    system = "You are a test of caches. " * 20
    cached = []
    for question in ("What?", "Why?"):
        messages: Any = [
            {"role": "system", "content": system},
            {"role": "user", "content": question},
        ]
        answer = client.chat.completions.create(model="toy", messages=messages, max_tokens=1)
        assert answer.usage is not None
        assert answer.usage.prompt_tokens_details is not None
        cached.append(answer.usage.prompt_tokens_details.cached_tokens)
    shared = len(f"system: {system}\nuser: W")
    assert cached == [0, shared // 16 * 16]


def test_a_salt_keeps_tenants_apart(client: OpenAI) -> None:
    """A prompt cached for one salt is not found with another, or without one."""
    ask: Any = {"model": "toy", "prompt": "A secret of one tenant. " * 10, "max_tokens": 1}

    def cached(**body: object) -> int:
        usage = client.completions.create(extra_body=body, **ask).usage
        assert usage is not None
        assert usage.prompt_tokens_details is not None
        return usage.prompt_tokens_details.cached_tokens or 0

    assert cached(cache_salt="one") == 0
    assert cached(cache_salt="one") > 0
    assert cached(cache_salt="two") == 0
    assert cached() == 0


def test_any_text_is_a_prompt(client: OpenAI) -> None:
    """Any characters go in, and what comes out is text that JSON can carry."""
    for text in ("😀 👩‍👩‍👧", "日本語", "\u0000\u2028\ufeff", "<|im_end|>{{ 7 }}"):
        answer = client.chat.completions.create(
            model="toy", messages=[{"role": "user", "content": text}], max_tokens=4
        )
        assert answer.usage is not None
        assert answer.usage.prompt_tokens == len(f"user: {text}\nassistant: ".encode())


def test_models_are_listed(client: OpenAI) -> None:
    """The served model, alone and in the list."""
    assert [model.id for model in client.models.list()] == ["toy"]
    assert client.models.retrieve("toy").owned_by == "stemcache"
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("org/other")
    assert caught.value.code == "model_not_found"


def test_many_asynchronous_requests_at_once(toy: LiveServer) -> None:
    """Streams and whole answers side by side each get their own answer."""

    async def ask(client: AsyncOpenAI, number: int) -> tuple[str, str]:
        body: Any = {
            "model": "toy",
            "prompt": f"Question {number}",
            "temperature": 0,
            "max_tokens": 20,
        }
        whole = await client.completions.create(**body)
        stream = await client.completions.create(stream=True, **body)
        return whole.choices[0].text, "".join([c.choices[0].text async for c in stream])

    async def run() -> list[tuple[str, str]]:
        async with AsyncOpenAI(base_url=f"{toy.url}/v1", api_key="none", max_retries=0) as client:
            return await asyncio.gather(*(ask(client, number) for number in range(40)))

    answers = asyncio.run(run())
    assert all(whole == streamed for whole, streamed in answers)
    assert len({whole for whole, _ in answers}) == 40
