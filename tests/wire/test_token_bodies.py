import json

import pytest

from stemcache.errors import RequestError
from stemcache.wire.tokens import decode_detokenize, decode_tokenize


def encode(**fields: object) -> bytes:
    """A body with these fields."""
    return json.dumps(fields).encode()


def test_plain_text_gets_special_tokens_and_conversations_do_not() -> None:
    """The default of add_special_tokens depends on who writes them."""
    assert decode_tokenize(encode(prompt="x")).add_special_tokens
    messages = [{"role": "user", "content": "x"}]
    assert not decode_tokenize(encode(messages=messages)).add_special_tokens
    assert not decode_tokenize(encode(prompt="x", add_special_tokens=False)).add_special_tokens


@pytest.mark.parametrize("fields", [{}, {"prompt": "x", "messages": []}])
def test_either_prompt_or_messages(fields: dict[str, object]) -> None:
    """One of them, not both and not none."""
    with pytest.raises(RequestError, match="must hold either prompt or messages; send one"):
        decode_tokenize(encode(**fields))


def test_tokens_to_detokenize() -> None:
    """Ids pass; an empty list is an empty text."""
    assert decode_detokenize(encode(tokens=[1, 2])).tokens == [1, 2]
    assert decode_detokenize(encode(tokens=[])).tokens == []
    with pytest.raises(RequestError, match=r"tokens\[0\] is \"a\", which is no token id"):
        decode_detokenize(encode(tokens=["a"]))
    with pytest.raises(RequestError, match="tokens is missing from the request body; add it"):
        decode_detokenize(encode())
