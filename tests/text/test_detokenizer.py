from hypothesis import given
from hypothesis import strategies as st

from stemcache.text.detokenizer import Detokenizer
from stemcache.text.tokenizer import ByteTokenizer


@given(st.lists(st.integers(0, 256), max_size=60))
def test_pieces_join_to_the_whole(tokens: list[int]) -> None:
    """Whatever the bytes, the pieces are what decoding all at once gives."""
    detokenizer = Detokenizer(ByteTokenizer())
    pieces = [detokenizer.feed(token) for token in tokens]
    whole = bytes(token for token in tokens if token < 256).decode(errors="replace")
    assert "".join(pieces) + detokenizer.finish() == whole


@given(st.text(max_size=40))
def test_valid_text_never_shows_half_a_character(text: str) -> None:
    """Of valid text, every piece is characters of it, and nothing is left at the end."""
    detokenizer = Detokenizer(ByteTokenizer())
    shown = ""
    for token in text.encode():
        shown += detokenizer.feed(token)
        assert text.startswith(shown)
    assert shown == text
    assert detokenizer.finish() == ""


def test_an_answer_cut_inside_a_character_says_so() -> None:
    """What is left of a character at the end is U+FFFD."""
    detokenizer = Detokenizer(ByteTokenizer())
    assert [detokenizer.feed(token) for token in "😀".encode()[:3]] == ["", "", ""]
    assert detokenizer.finish() == "\ufffd"
