import json
from typing import Any

import pytest

from stemcache.errors import RequestError, UnsupportedError
from stemcache.wire.completions import CompletionRequest, decode_completion


def decode(**fields: object) -> CompletionRequest:
    """A body with these fields."""
    return decode_completion(json.dumps({"model": "m", "prompt": "p", **fields}).encode())


@pytest.mark.parametrize(
    ("prompt", "prompts"),
    [
        ("text", ["text"]),
        ("", [""]),
        (["a", "b"], ["a", "b"]),
        ([1, 2], [[1, 2]]),
        ([[1], [2, 3]], [[1], [2, 3]]),
        (["a", [1]], ["a", [1]]),
    ],
)
def test_a_prompt_is_text_or_tokens_or_several(prompt: object, prompts: list[object]) -> None:
    """All four shapes of OpenAI's are one list of prompts."""
    assert decode(prompt=prompt).prompts == prompts


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ([], "prompt is []; send a string, a list of token ids, or a list of either"),
        (5, "prompt is 5; send a string"),
        ([1, "a"], 'prompt[1] is "a", which is no token id; send ids only'),
        ([1, True], "prompt[1] is true, which is no token id; send ids only"),
        ([1, -1], "prompt[1] is -1, which is no token id; send ids only"),
        ([[]], "prompt[0] is []; send a string or a list of token ids"),
        ([None], "prompt[0] is null; send a string or a list of token ids"),
        (["a"] * 2049, "prompt holds 2049 prompts; send at most 2048 at once"),
    ],
)
def test_other_prompts_are_refused(prompt: object, message: str) -> None:
    """The message says which prompt and which id."""
    with pytest.raises(RequestError) as caught:
        decode(prompt=prompt)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"logprobs": 21}, "logprobs is 21; use 0 to 20"),
        ({"logprobs": -1}, "logprobs is -1; use 0 to 20"),
        ({"logprobs": True}, "logprobs is true; send the number of alternatives, 0 to 20"),
        ({"promt": "x"}, "unknown field \"promt\" in the request body; did you mean 'prompt'?"),
    ],
)
def test_absurd_parameters_are_refused(fields: dict[str, Any], message: str) -> None:
    """A value outside its range is refused with the value and the range."""
    with pytest.raises(RequestError) as caught:
        decode(**fields)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "fields", [{"echo": True}, {"suffix": "x"}, {"best_of": 2}, {"best_of": 1, "n": 2}]
)
def test_what_is_not_implemented_is_unsupported(fields: dict[str, Any]) -> None:
    """Each documented field that is not implemented is refused by its name."""
    with pytest.raises(UnsupportedError, match="does not support"):
        decode(**fields)


def test_fields_that_ask_for_nothing_are_accepted() -> None:
    """OpenAI's defaults, spelled out, are no error."""
    asked = decode(echo=False, suffix="", best_of=1, logit_bias={}, user="u", logprobs=0)
    assert asked.generation.logprobs == 0
