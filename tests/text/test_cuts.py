from pathlib import Path
from random import Random

import pytest
from tokenizers import AddedToken

from stemcache.text.cuts import Cutter
from stemcache.text.file_tokenizer import FileTokenizer
from tests.text.small_models import model_directory


def cutter(directory: Path, *added: AddedToken, sample: str = "", turns: int = 1) -> Cutter:
    """A cutter for a small tokenizer with these tokens added."""
    return Cutter(FileTokenizer(model_directory(directory, added=added)), sample, turns)


def cut(one: Cutter, chunks: list[str]) -> list[bytes]:
    """All parts, the rest behind the last cut included."""
    parts: list[bytes] = []
    rest = one.cut(chunks, parts.append)
    return [*parts, rest]


def test_plain_added_tokens_are_cut_before(tmp_path: Path) -> None:
    """Special or not: what counts is how they are looked for."""
    assert cutter(tmp_path).tokens == {"<|im_start|>", "<|im_end|>", "<|end|>", "<tool_call>"}


@pytest.mark.parametrize(
    "token",
    [
        AddedToken("<|x|>", lstrip=True),
        AddedToken("<|x|>", single_word=True),
        AddedToken("<|x|>", normalized=True),
        AddedToken("word", normalized=False),
        AddedToken("_x", normalized=False),
        AddedToken(" x", normalized=False),
        AddedToken("<>< ><", normalized=False),
    ],
)
def test_tokens_that_cling_to_what_is_before_them_are_not(
    tmp_path: Path, token: AddedToken
) -> None:
    """They take space, ask for a word's boundary, or may begin inside of themselves."""
    assert token.content not in cutter(tmp_path, token).tokens


def test_a_token_that_another_reaches_into_is_not_cut_before(tmp_path: Path) -> None:
    """Whether it is one depends on what is before the cut."""
    tokens = cutter(tmp_path, AddedToken("!<|im_s", normalized=False)).tokens
    assert "<|im_start|>" not in tokens
    assert "<|end|>" in tokens


def test_a_longer_token_with_the_same_beginning_does_no_harm(tmp_path: Path) -> None:
    """Whichever of the two it is, it begins at the cut."""
    longer = AddedToken("<|im_start|>user", normalized=False)
    one = cutter(tmp_path, longer)
    tokenizer = FileTokenizer(tmp_path)
    assert "<|im_start|>" in one.tokens
    text = "a" * 300 + "<|im_start|>user b"
    parts = cut(one, [text])
    assert [len(part) for part in parts] == [300, 18]
    ids = [tokenizer.encode(part.decode(), add_special_tokens=False) for part in parts]
    assert ids[0] + ids[1] == tokenizer.encode(text, add_special_tokens=False)


def test_a_sample_says_which_token_marks_the_turns(tmp_path: Path) -> None:
    """The most frequent; the first where several are; all where none is in every turn."""
    sample = "<|im_start|>a<|im_end|>" * 3
    assert cutter(tmp_path / "1", sample=sample, turns=3).tokens == {"<|im_start|>"}
    assert len(cutter(tmp_path / "2", sample=sample, turns=4).tokens) == 4


def test_cuts_keep_a_distance(tmp_path: Path) -> None:
    """A text of nothing but tokens is cut every 256 bytes or so, not at each."""
    parts = cut(cutter(tmp_path), ["<|end|>" * 1000])
    assert {len(part) for part in parts[:-1]} == {259}
    assert b"".join(parts) == b"<|end|>" * 1000


def test_a_short_text_is_one_part(tmp_path: Path) -> None:
    """There is nothing to gain before 256 bytes."""
    one = cutter(tmp_path)
    assert cut(one, ["<|im_start|>user\nhi<|im_end|>"]) == [b"<|im_start|>user\nhi<|im_end|>"]
    assert cut(one, []) == [b""]


def test_a_text_of_half_characters_is_refused(tmp_path: Path) -> None:
    """Lone surrogates are no UTF-8."""
    with pytest.raises(UnicodeEncodeError):
        cut(cutter(tmp_path), ["a\ud800"])


def whole(text: bytes, tokens: list[bytes]) -> list[bytes]:
    """The cuts of a text that is there at once, found the slow way."""
    parts = []
    start = 0
    for at in range(len(text)):
        if at - start >= 256 and any(text.startswith(token, at) for token in tokens):
            parts.append(text[start:at])
            start = at
    return [*parts, text[start:]]


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_chunks_make_no_difference(tmp_path: Path, seed: int, single: bool) -> None:  # noqa: FBT001
    """Tokens that lie across chunks are found, at every place, in every size of chunk."""
    sample = "<|im_start|>" if single else ""
    one = cutter(tmp_path, sample=sample)
    tokens = sorted(token.encode() for token in one.tokens)
    rng = Random(seed)
    words = ["<|im_start|>", "<|im_end|>", "<|im_", "start|>", "<", "é", "hello ", "\n", "x" * 200]
    text = "".join(rng.choice(words) for _ in range(300))
    chunks = []
    at = 0
    longest = rng.choice((1, 5, 40, 900))
    while at < len(text):
        step = rng.randint(1, longest)
        chunks.append(text[at : at + step])
        at += step
    assert cut(one, chunks) == whole(text.encode(), tokens)


def test_equal_beginnings_are_cut_alike(tmp_path: Path) -> None:
    """A text that goes on has the cuts that it had."""
    one = cutter(tmp_path)
    turn = "<|im_start|>user\n" + "w " * 100 + "<|im_end|>\n"
    parts = cut(one, [turn * 20])
    longer = cut(one, [turn * 20 + "<|im_start|>assistant\n" + turn * 3])
    assert longer[: len(parts) - 1] == parts[:-1]
