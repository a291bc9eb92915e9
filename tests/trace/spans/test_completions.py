import pytest

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Prompt
from stemcache.wire.api import Api
from tests.trace.spans.rows import rows


def read(prompt: object) -> Prompt:
    """A completion of this prompt."""
    return prompt_of({"prompt": prompt, "max_tokens": 5}, Api.COMPLETIONS)


def test_a_text_is_one_span() -> None:
    """All else is a parameter."""
    prompt = read("Once")
    assert rows(prompt) == [("m0.", "/prompt", "", "user text", "Once")]
    assert prompt.parameters == {"/max_tokens": 5}


def test_token_ids_are_one_span() -> None:
    """With blanks between them."""
    assert rows(read([1, 22, 333])) == [("m0.", "/prompt", "", "user tokens", "1 22 333")]


def test_several_prompts_are_a_span_each() -> None:
    """Texts, token ids, and what is neither."""
    assert rows(read(["a", [1, 2], 2.5, True])) == [
        ("m0", "/prompt/0", "", "user text", "a"),
        ("m0", "/prompt/1", "", "user tokens", "1 2"),
        ("m0", "/prompt/2", "", "user other", "2.5"),
        ("m0.", "/prompt/3", "", "user other", "true"),
    ]


@pytest.mark.parametrize("prompt", [None, [], {}, 7])
def test_a_body_without_a_prompt_is_refused(prompt: object) -> None:
    """The reason does not say what it holds."""
    with pytest.raises(BadBodyError) as caught:
        read(prompt)
    assert caught.value.reason == "prompt is neither a text nor a list that holds one"


def test_endless_numbers_are_refused() -> None:
    """They cannot be written out."""
    with pytest.raises(BadBodyError) as caught:
        read([10**5_000])
    assert caught.value.reason == "prompt has token ids that are out of all bounds"
