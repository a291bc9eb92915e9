from hypothesis import given
from hypothesis import strategies as st

from stemcache.text.tokenizer import ByteTokenizer


@given(st.text())
def test_bytes_come_back_as_the_text_they_were(text: str) -> None:
    """Encoding and decoding leave any text as it was."""
    tokenizer = ByteTokenizer()
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=True)) == text


def test_ids_above_a_byte_are_special() -> None:
    """They mark the end of an answer and have no text."""
    tokenizer = ByteTokenizer()
    assert tokenizer.is_special(256)
    assert not tokenizer.is_special(255)
    assert tokenizer.token_bytes(256) == b""
    assert tokenizer.longest_token_bytes == 1
