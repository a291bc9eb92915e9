import json
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from stemcache.errors import ModelError
from stemcache.text.detokenizer import Detokenizer
from stemcache.text.file_tokenizer import FileTokenizer

SAMPLES = [
    "the quick brown fox",
    "über Käse",
    "日本語のテキスト",
    "😀 👩‍👩‍👧 fin",
    "x = {'a': 1}\n\n\tpass",
]


def byte_level(directory: Path) -> FileTokenizer:
    """A small byte-level BPE, as GPT-2's family has it, trained here."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=350, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    inner.train_from_iterator(SAMPLES * 3, trainer)
    inner.add_special_tokens([AddedToken("<|end|>", special=True)])
    inner.add_tokens([AddedToken("<tool>", special=False)])
    inner.save(str(directory / "tokenizer.json"))
    return FileTokenizer(directory)


def sentencepiece(directory: Path) -> FileTokenizer:
    """A small vocabulary with byte fallback, as Llama 2's family has it."""
    pieces = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "▁a", "▁ab"]
    inner = Tokenizer(
        models.BPE(
            vocab={piece: i for i, piece in enumerate(pieces)},
            merges=[("▁", "a"), ("▁a", "b")],
            unk_token="<unk>",
            byte_fallback=True,
            fuse_unk=True,
        )
    )
    inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    inner.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    inner.save(str(directory / "tokenizer.json"))
    return FileTokenizer(directory)


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> FileTokenizer:
    """The byte-level one."""
    return byte_level(tmp_path_factory.mktemp("gpt"))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> FileTokenizer:
    """The one with byte fallback."""
    return sentencepiece(tmp_path_factory.mktemp("llama"))


def by_token(tokenizer: FileTokenizer, tokens: list[int]) -> str:
    """What a stream shows of these tokens."""
    detokenizer = Detokenizer(tokenizer)
    return "".join(detokenizer.feed(token) for token in tokens) + detokenizer.finish()


@pytest.mark.parametrize("text", SAMPLES)
def test_token_by_token_is_the_text(gpt: FileTokenizer, llama: FileTokenizer, text: str) -> None:
    """The bytes of the tokens, joined, are the text that was encoded, in both families."""
    for tokenizer in (gpt, llama):
        assert by_token(tokenizer, tokenizer.encode(text, add_special_tokens=False)) == text


@given(st.text(max_size=60))
def test_any_text_comes_back(gpt: FileTokenizer, text: str) -> None:
    """Whatever the text, its tokens spell it."""
    plain = text.replace("<|end|>", "")
    assert by_token(gpt, gpt.encode(plain, add_special_tokens=False)) == plain


@given(st.lists(st.integers(0, 300), max_size=30))
def test_any_tokens_read_as_tokenizers_reads_them(gpt: FileTokenizer, tokens: list[int]) -> None:
    """Bytes that are no characters become U+FFFD just where the whole decoding has them."""
    known = [token for token in tokens if gpt.token_bytes(token)]
    assert by_token(gpt, known) == gpt.decode(known)


def test_a_long_text_leaves_other_threads_running(gpt: FileTokenizer) -> None:
    """The interpreter's lock is free while a text is tokenized."""
    turns = 0
    text = SAMPLES[0] * 40_000
    worker = threading.Thread(target=gpt.encode, args=(text,), kwargs={"add_special_tokens": False})
    worker.start()
    while worker.is_alive():
        worker.join(0.001)
        turns += 1
    assert turns >= 10


def test_special_tokens_are_read_and_not_shown(gpt: FileTokenizer) -> None:
    """A text that spells one yields it; answers leave it out; decoding names it."""
    tokens = gpt.encode("a<|end|>b", add_special_tokens=False)
    assert len(tokens) == 3
    assert gpt.is_special(tokens[1])
    assert gpt.token_bytes(tokens[1]) == b"<|end|>"
    assert by_token(gpt, tokens) == "ab"
    assert "<|end|>" in gpt.decode(tokens)


def test_added_tokens_that_are_not_special_are_shown(gpt: FileTokenizer) -> None:
    """Only special ones are left out."""
    assert by_token(gpt, gpt.encode("a<tool>b", add_special_tokens=False)) == "a<tool>b"


def test_ids_beyond_the_file_add_nothing(gpt: FileTokenizer) -> None:
    """A model's vocabulary may be padded beyond its tokenizer's."""
    assert gpt.token_bytes(10**6) == b""
    assert not gpt.is_special(10**6)


def test_the_longest_token_bounds_a_text(gpt: FileTokenizer, llama: FileTokenizer) -> None:
    """Byte-level vocabularies bound how few tokens a text can be; others do not."""
    longest = gpt.longest_token_bytes
    assert longest is not None
    for text in SAMPLES:
        tokens = gpt.encode(text, add_special_tokens=False)
        assert len(text.encode()) <= longest * len(tokens)
    assert llama.longest_token_bytes is None


def test_a_directory_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    """The message says what is missing and where."""
    with pytest.raises(ModelError, match=r"no tokenizer.json in .*; give a directory that has one"):
        FileTokenizer(tmp_path)


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    """The message says which file."""
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(
        ModelError, match=r"cannot read .*tokenizer.json: .*; fetch the model again"
    ):
        FileTokenizer(tmp_path)


def test_an_unknown_family_is_refused(tmp_path: Path) -> None:
    """A vocabulary whose bytes cannot be known is not guessed at."""
    inner = Tokenizer(models.WordPiece(vocab={"[UNK]": 0}, unk_token="[UNK]"))
    inner.decoder = decoders.WordPiece()
    inner.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ModelError, match="decodes by WordPiece, which is not supported; use a"):
        FileTokenizer(tmp_path)


def test_without_the_package_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base install has no tokenizers."""
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    (tmp_path / "tokenizer.json").write_text(json.dumps({"version": "1.0"}))
    with pytest.raises(ModelError, match=r"run: pip install 'stemcache\[engine\]'"):
        FileTokenizer(tmp_path)
