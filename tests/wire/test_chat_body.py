import json
from typing import Any

import pytest

from stemcache.errors import RequestError, UnsupportedError
from stemcache.wire.chat import ChatRequest, decode_chat

BASE: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def decode(**fields: object) -> ChatRequest:
    """A body with these fields."""
    return decode_chat(json.dumps({**BASE, **fields}).encode())


def test_a_bare_body_has_openais_defaults() -> None:
    """Model and messages are enough; the rest has OpenAI's defaults."""
    asked = decode()
    assert asked.messages == [{"role": "user", "content": "hi"}]
    generation = asked.generation
    assert (generation.n, generation.stream, generation.temperature) == (1, False, 1.0)
    assert (generation.max_tokens, generation.logprobs, generation.stop) == (None, None, ())


def test_every_field_reaches_the_request() -> None:
    """What is implemented is carried over."""
    generation = decode(
        n=3,
        stream=True,
        stream_options={"include_usage": True},
        temperature=0,
        top_p=0.5,
        top_k=7,
        seed=-4,
        stop=["a", "b"],
        stop_token_ids=[5],
        max_completion_tokens=9,
        logprobs=True,
        top_logprobs=2,
        cache_salt="s",
        priority=-2,
        ignore_eos=True,
    ).generation
    assert generation.n == 3
    assert generation.include_usage
    assert (generation.temperature, generation.top_p, generation.top_k) == (0.0, 0.5, 7)
    assert (generation.seed, generation.stop, generation.max_tokens) == (-4, ("a", "b"), 9)
    assert generation.stop_token_ids == {5}
    assert (generation.logprobs, generation.cache_salt, generation.priority) == (2, "s", -2)
    assert generation.ignore_eos


def test_fields_that_ask_for_nothing_are_accepted() -> None:
    """What clients send by habit, with the values that change nothing, is no error."""
    decode(
        user="u",
        metadata={"a": "b"},
        store=False,
        service_tier="auto",
        parallel_tool_calls=False,
        frequency_penalty=0,
        presence_penalty=0.0,
        logit_bias={},
        response_format={"type": "text"},
        modalities=["text"],
        reasoning_effort=None,
        prompt_cache_key="k",
        prompt_cache_options={"mode": "explicit", "ttl": "30m"},
        safety_identifier="s",
        tool_choice="auto",
        min_p=0,
        stop=None,
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": {"type": "json_object"}},
        {"frequency_penalty": 1},
        {"presence_penalty": -0.5},
        {"logit_bias": {"5": 1}},
        {"min_p": 0.1},
        {"repetition_penalty": 1.1},
        {"reasoning_effort": "high"},
        {"verbosity": "low"},
        {"modalities": ["text", "audio"]},
        {"audio": {"voice": "alloy", "format": "wav"}},
        {"prediction": {"type": "content", "content": "x"}},
        {"web_search_options": {}},
        {"functions": [{"name": "f"}]},
        {"function_call": "auto"},
        {"service_tier": "flex"},
        {"store": True},
        {"prompt_cache_retention": "24h"},
        {"moderation": {"model": "m"}},
        {"tool_choice": "required"},
        {"tool_choice": {"type": "function", "function": {"name": "f"}}},
    ],
)
def test_what_is_not_implemented_is_unsupported(fields: dict[str, Any]) -> None:
    """Each documented field that is not implemented is refused by its name."""
    with pytest.raises(UnsupportedError, match="does not support") as caught:
        decode(**fields)
    assert caught.value.param == next(iter(fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"n": 0}, "n is 0; use 1 to 128"),
        ({"n": 129}, "n is 129; use 1 to 128"),
        ({"max_tokens": 0}, "max_tokens is 0; use 1 or more"),
        ({"max_tokens": 10**30}, "max_tokens is 1000000000000000000000000000000; use a smaller"),
        (
            {"max_tokens": 1, "max_completion_tokens": 2},
            "max_tokens is 1 and max_completion_tokens is 2; send one of them",
        ),
        ({"top_k": 2**40}, "top_k is 1099511627776; use a smaller number"),
        ({"priority": 2**31}, "priority is 2147483648; use a number of 32 bits"),
        ({"cache_salt": ""}, "cache_salt is an empty string; use a secret"),
        ({"stop": ["x"] * 17}, "stop holds 17 strings; use at most 16"),
        ({"stop": ""}, "stop holds a string of 0 characters; use 1 to 1024"),
        ({"stop": "x" * 1025}, "stop holds a string of 1025 characters"),
        ({"stop_token_ids": [-1]}, "stop_token_ids holds a number that is no token id"),
        ({"top_logprobs": 3}, "top_logprobs is 3 without logprobs; set logprobs to true"),
        (
            {"stream_options": {"include_usage": True}},
            "stream_options is given without stream; set stream to true or leave it out",
        ),
        (
            {"stream": True, "stream_options": {"include_obfuscation": True}},
            "stream_options.include_obfuscation is true, which this server does not support",
        ),
        (
            {"stream": True, "stream_options": {"include_usages": True}},
            "stream_options in the request body cannot be read",
        ),
        (
            {"chat_template_kwargs": {"messages": []}},
            "chat_template_kwargs sets messages, which the server sets; leave it out",
        ),
        ({"model": None}, "model is missing from the request body; add it"),
        ({"messages": None}, "messages is missing from the request body; add it"),
        ({"temperature": "hot"}, "temperature in the request body cannot be read"),
        ({"temperature": True}, "temperature in the request body cannot be read"),
    ],
)
def test_absurd_parameters_are_refused(fields: dict[str, Any], message: str) -> None:
    """A value outside its range is refused with the value and the range."""
    with pytest.raises(RequestError) as caught:
        decode(**fields)
    assert message in str(caught.value)


def test_a_top_k_of_minus_one_keeps_all() -> None:
    """-1 means no limit, as vLLM's clients send it."""
    assert decode(top_k=-1).generation.top_k == 0


def test_values_for_the_template_are_passed_on() -> None:
    """`chat_template_kwargs` reaches the template."""
    asked = decode(chat_template_kwargs={"enable_thinking": False})
    assert asked.template_values == {"enable_thinking": False}
