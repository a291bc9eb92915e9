"""The bodies of `/tokenize` and `/detokenize`: what is read, and the whole of each refusal."""

import json
from typing import Any

import pytest

from stemcache.errors import RequestError
from stemcache.wire.tokens import (
    DetokenizeRequest,
    TokenizeRequest,
    decode_detokenize,
    decode_tokenize,
)

HELLO = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "f"}}


def test_a_bare_prompt_is_enough() -> None:
    """The rest has vLLM's defaults."""
    assert TokenizeRequest(
        model=None,
        prompt="x",
        messages=[],
        tools=[],
        template_values={},
        add_special_tokens=True,
        add_generation_prompt=True,
        return_token_strs=False,
    ) == decode_tokenize(b'{"prompt": "x"}')


def test_every_field_of_a_conversation_is_carried_over() -> None:
    """As chat would have it."""
    body = {
        "model": "m",
        "messages": HELLO,
        "tools": [TOOL],
        "chat_template_kwargs": {"a": 1},
        "add_special_tokens": True,
        "add_generation_prompt": False,
        "return_token_strs": True,
        "continue_final_message": False,
    }

    assert TokenizeRequest(
        model="m",
        prompt=None,
        messages=HELLO,
        tools=[TOOL],
        template_values={"a": 1},
        add_special_tokens=True,
        add_generation_prompt=False,
        return_token_strs=True,
    ) == decode_tokenize(json.dumps(body).encode())


def test_an_empty_prompt_is_a_prompt() -> None:
    """It is given, and has no tokens but special ones."""
    assert "" == decode_tokenize(b'{"prompt": ""}').prompt


EITHER = "the request body must hold either prompt or messages; send one of them"


@pytest.mark.parametrize(
    ("fields", "message", "param"),
    [
        ({}, EITHER, "prompt"),
        ({"prompt": None, "messages": None}, EITHER, "prompt"),
        ({"prompt": "x", "messages": HELLO}, EITHER, "prompt"),
        (
            {"messages": []},
            "messages is []; send a list with at least one message",
            "messages",
        ),
        (
            {"prompt": 5},
            (
                "prompt in the request body cannot be read: expected `str | null`, got `int`; "
                "send a value of that type"
            ),
            "prompt",
        ),
        (
            {"prompt": "x", "promt": 1},
            "unknown field \"promt\" in the request body; did you mean 'prompt'?",
            "promt",
        ),
        (
            {"messages": HELLO, "continue_final_message": True},
            (
                "continue_final_message is true in the request body, which this server does not "
                "support; leave it out or send false"
            ),
            "continue_final_message",
        ),
        (
            {"messages": HELLO, "chat_template_kwargs": {"tools": []}},
            "chat_template_kwargs sets tools, which the server sets; leave it out",
            "chat_template_kwargs",
        ),
    ],
)
def test_what_cannot_be_tokenized_is_refused(
    fields: dict[str, Any], message: str, param: str
) -> None:
    """Nothing that was sent is set aside."""
    with pytest.raises(RequestError) as caught:
        decode_tokenize(json.dumps(fields).encode())

    assert (message, param) == (str(caught.value), caught.value.param)


def test_ids_are_detokenized_for_a_model() -> None:
    """The one that is named, or the only one."""
    assert DetokenizeRequest("m", [0, 5]) == decode_detokenize(b'{"model": "m", "tokens": [0, 5]}')
    assert DetokenizeRequest(None, []) == decode_detokenize(b'{"tokens": []}')


@pytest.mark.parametrize(
    ("fields", "message", "param"),
    [
        ({}, "tokens is missing from the request body; add it", "tokens"),
        ({"tokens": None}, "tokens is missing from the request body; add it", "tokens"),
        ({"tokens": "abc"}, 'tokens is "abc"; send a list of token ids', "tokens"),
        ({"tokens": {"a": 1}}, 'tokens is {"a":1}; send a list of token ids', "tokens"),
        (
            {"tokens": [1, "a"]},
            'tokens[1] is "a", which is no token id; send ids only',
            "tokens",
        ),
        (
            {"tokens": [True]},
            "tokens[0] is true, which is no token id; send ids only",
            "tokens",
        ),
        (
            {"tokens": [1], "prompt": "x"},
            'unknown field "prompt" in the request body; remove it',
            "prompt",
        ),
    ],
)
def test_what_is_no_list_of_ids_is_refused(
    fields: dict[str, Any], message: str, param: str
) -> None:
    """A text is not what can be turned into text."""
    with pytest.raises(RequestError) as caught:
        decode_detokenize(json.dumps(fields).encode())

    assert (message, param) == (str(caught.value), caught.value.param)
