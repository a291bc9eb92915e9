"""What chat and completions share: ranges, the whole of each refusal, and what is carried over."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from stemcache.errors import RequestError, UnsupportedError
from stemcache.wire.chat import decode_chat
from stemcache.wire.completions import decode_completion
from stemcache.wire.generation import Generation

Decode = Callable[..., Generation]


def chat(**fields: object) -> Generation:
    """A conversation with these fields."""
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], **fields}
    return decode_chat(json.dumps(body).encode()).generation


def completion(**fields: object) -> Generation:
    """A completion with these fields."""
    body = {"model": "m", "prompt": "x", **fields}
    return decode_completion(json.dumps(body).encode()).generation


both = pytest.mark.parametrize("decode", [chat, completion])


@both
@pytest.mark.parametrize(
    ("fields", "message", "param"),
    [
        ({"n": 0}, "n is 0; use 1 to 128", "n"),
        ({"n": -1}, "n is -1; use 1 to 128", "n"),
        ({"n": 129}, "n is 129; use 1 to 128", "n"),
        ({"max_tokens": 0}, "max_tokens is 0; use 1 or more", "max_tokens"),
        ({"max_tokens": -7}, "max_tokens is -7; use 1 or more", "max_tokens"),
        (
            {"max_tokens": 2**31},
            "max_tokens is 2147483648; use a smaller number",
            "max_tokens",
        ),
        ({"top_k": 2**31}, "top_k is 2147483648; use a smaller number", "top_k"),
        ({"priority": 2**31}, "priority is 2147483648; use a number of 32 bits", "priority"),
        (
            {"priority": -(2**31) - 1},
            "priority is -2147483649; use a number of 32 bits",
            "priority",
        ),
        (
            {"cache_salt": ""},
            "cache_salt is an empty string; use a secret of the tenant's or leave it out",
            "cache_salt",
        ),
        (
            {"stream_options": {}},
            "stream_options is given without stream; set stream to true or leave it out",
            "stream_options",
        ),
        (
            {"stream": True, "stream_options": {"include_obfuscation": True}},
            (
                "stream_options.include_obfuscation is true, which this server does not support; "
                "leave it out or send false"
            ),
            "stream_options.include_obfuscation",
        ),
        (
            {"stream": True, "stream_options": {"usage": True}},
            (
                "stream_options in the request body cannot be read: object contains unknown "
                "field `usage`; send a value of that type"
            ),
            "stream_options",
        ),
        (
            {"stop_token_ids": [5, 2**31]},
            "stop_token_ids holds a number that is no token id; use ids of the vocabulary",
            "stop_token_ids",
        ),
        ({"stop": ["a"] * 17}, "stop holds 17 strings; use at most 16", "stop"),
        ({"stop": ["a", ""]}, "stop holds a string of 0 characters; use 1 to 1024", "stop"),
        (
            {"stop": "x" * 1025},
            "stop holds a string of 1025 characters; use 1 to 1024",
            "stop",
        ),
        (
            {"seed": "five"},
            (
                "seed in the request body cannot be read: expected `int | null`, got `str`; send "
                "a value of that type"
            ),
            "seed",
        ),
        ({"model": None}, "model is missing from the request body; add it", "model"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(
    decode: Decode, fields: dict[str, Any], message: str, param: str
) -> None:
    """With the value, and what would be one."""
    with pytest.raises(RequestError) as caught:
        decode(**fields)

    assert (message, param) == (str(caught.value), caught.value.param)


@both
@pytest.mark.parametrize(
    "fields",
    [
        {"n": 1},
        {"n": 128},
        {"max_tokens": 1},
        {"max_tokens": 2**31 - 1},
        {"top_k": 2**31 - 1},
        {"priority": 2**31 - 1},
        {"priority": -(2**31)},
        {"stop": ["x" * 1024] * 16},
        {"stop": "x"},
        {"stop": []},
        {"stop_token_ids": [0, 2**31 - 1]},
        {"stream": True, "stream_options": {}},
        {"stream": True, "stream_options": {"include_obfuscation": False}},
        {"cache_salt": "s"},
    ],
)
def test_the_ends_of_each_range_are_in_it(decode: Decode, fields: dict[str, Any]) -> None:
    """What a message says may be used can be."""
    decode(**fields)


@both
@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("frequency_penalty", 0.1, " or send 0"),
        ("include_stop_str_in_output", True, " or send false"),
        ("length_penalty", 0, " or send 1"),
        ("logit_bias", {"5": 1}, " or send {}"),
        ("min_p", 0.5, " or send 0"),
        ("min_tokens", 1, " or send 0"),
        ("presence_penalty", -1, " or send 0"),
        ("repetition_penalty", 1.5, " or send 1"),
        ("skip_special_tokens", False, " or send true"),
        ("use_beam_search", True, " or send false"),
    ],
)
def test_parameters_that_are_not_implemented_are_refused_by_name(
    decode: Decode, name: str, value: object, hint: str
) -> None:
    """With the value that asks for nothing, which is accepted."""
    with pytest.raises(UnsupportedError) as caught:
        decode(**{name: value})
    decode(**{name: json.loads(hint.removeprefix(" or send "))})
    shown = json.dumps(value, separators=(",", ":"))

    assert (
        f"{name} is {shown} in the request body, which this server does not support; leave it out"
        f"{hint}"
    ) == str(caught.value)
    assert name == caught.value.param


@both
def test_usage_in_streams_is_given_where_asked(decode: Decode) -> None:
    """And not otherwise."""
    asked = decode(stream=True, stream_options={"include_usage": True})
    not_asked = decode(stream=True, stream_options={"include_usage": False})

    assert (True, False) == (asked.include_usage, not_asked.include_usage)
    assert not decode(stream=True).include_usage


@both
@pytest.mark.parametrize(
    ("stop", "stops"), [("ab", ("ab",)), (["a", "b"], ("a", "b")), (None, ()), ([], ())]
)
def test_one_stop_string_is_a_list_of_one(
    decode: Decode, stop: object, stops: tuple[str, ...]
) -> None:
    """None at all is none."""
    assert stops == decode(stop=stop).stop


@both
@pytest.mark.parametrize(("top_k", "kept"), [(-1, 0), (0, 0), (1, 1), (-2, -2)])
def test_a_top_k_of_minus_one_is_all(decode: Decode, top_k: int, kept: int) -> None:
    """Other negative numbers stay, for the engine to refuse by their own value."""
    assert kept == decode(top_k=top_k).top_k


@pytest.mark.parametrize(
    ("fields", "message", "param"),
    [
        (
            {"max_tokens": 5, "max_completion_tokens": 6},
            "max_tokens is 5 and max_completion_tokens is 6; send one of them",
            "max_completion_tokens",
        ),
        (
            {"top_logprobs": 0},
            "top_logprobs is 0 without logprobs; set logprobs to true",
            "top_logprobs",
        ),
        (
            {"logprobs": False, "top_logprobs": 2},
            "top_logprobs is 2 without logprobs; set logprobs to true",
            "top_logprobs",
        ),
        *(
            (
                {"chat_template_kwargs": {name: 1}},
                f"chat_template_kwargs sets {name}, which the server sets; leave it out",
                "chat_template_kwargs",
            )
            for name in ("add_generation_prompt", "documents", "messages", "tools")
        ),
    ],
)
def test_what_contradicts_itself_in_a_chat_is_refused(
    fields: dict[str, Any], message: str, param: str
) -> None:
    """Nothing that was sent is set aside."""
    with pytest.raises(RequestError) as caught:
        chat(**fields)

    assert (message, param) == (str(caught.value), caught.value.param)


@pytest.mark.parametrize(
    ("fields", "max_tokens"),
    [
        ({}, None),
        ({"max_tokens": 5}, 5),
        ({"max_completion_tokens": 6}, 6),
        ({"max_tokens": 7, "max_completion_tokens": 7}, 7),
    ],
)
def test_both_names_of_the_limit_mean_it(fields: dict[str, Any], max_tokens: int | None) -> None:
    """The old and the one that replaced it."""
    assert max_tokens == chat(**fields).max_tokens


@pytest.mark.parametrize(
    ("fields", "logprobs"),
    [
        ({}, None),
        ({"logprobs": False}, None),
        ({"logprobs": True}, 0),
        ({"logprobs": True, "top_logprobs": 0}, 0),
        ({"logprobs": True, "top_logprobs": 5}, 5),
    ],
)
def test_log_probabilities_of_a_chat_take_two_fields(
    fields: dict[str, Any], logprobs: int | None
) -> None:
    """Whether, and how many alternatives."""
    assert logprobs == chat(**fields).logprobs


@pytest.mark.parametrize(
    ("fields", "message", "param"),
    [
        ({"logprobs": 21}, "logprobs is 21; use 0 to 20", "logprobs"),
        (
            {"logprobs": False},
            "logprobs is false; send the number of alternatives, 0 to 20",
            "logprobs",
        ),
        (
            {"best_of": 3, "n": 2},
            ("best_of is 3 with n 2, which this server does not support; leave it out"),
            "best_of",
        ),
        (
            {"prompt": 5},
            "prompt is 5; send a string, a list of token ids, or a list of either",
            "prompt",
        ),
        (
            {"prompt": ["a", []]},
            "prompt[1] is []; send a string or a list of token ids",
            "prompt[1]",
        ),
        (
            {"prompt": [[1], [2, 2**31]]},
            "prompt[1][1] is 2147483648, which is no token id; send ids only",
            "prompt[1]",
        ),
        (
            {"prompt": ["a"] * 2049},
            "prompt holds 2049 prompts; send at most 2048 at once",
            "prompt",
        ),
        ({"prompt": None}, "prompt is missing from the request body; add it", "prompt"),
    ],
)
def test_what_a_completion_cannot_be_is_refused(
    fields: dict[str, Any], message: str, param: str
) -> None:
    """With the place, where there are several."""
    with pytest.raises(RequestError) as caught:
        completion(**fields)

    assert (message, param) == (str(caught.value), caught.value.param)


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("value", [0, 2**31])
def test_a_limit_out_of_range_is_refused_by_the_name_it_came_under(field: str, value: int) -> None:
    """And a good one keeps its name for later refusals."""
    with pytest.raises(RequestError, match=f"^{field} is {value}") as caught:
        chat(**{field: value})
    assert caught.value.param == field
    assert chat(**{field: 5}).max_tokens_field == field
