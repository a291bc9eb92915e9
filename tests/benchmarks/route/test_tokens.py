"""Tokens of the fake model."""

from pathlib import Path

import msgspec
import pytest

from benchmarks.route.cache import BLOCK_CHARACTERS
from benchmarks.route.plans import zipf
from benchmarks.route.tokens import BLOCK_TOKENS, CHARACTERS, token_ids, write_tokenizer


def test_a_token_is_four_digits() -> None:
    """What is left over is no token yet; other text is unknown."""
    assert token_ids("00ffabcd12") == [0x00FF, 0xABCD]
    assert token_ids("") == []
    assert token_ids("hello wo") == [65_536, 65_536]
    assert BLOCK_TOKENS * CHARACTERS == BLOCK_CHARACTERS


def test_the_tokenizer_says_the_same(tmp_path: Path) -> None:
    """Contents of a prompt one after the other, as the chat template has them."""
    tokenizers = pytest.importorskip("tokenizers")
    write_tokenizer(tmp_path)
    made = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    (prompt,) = zipf(1, 1)
    assert made.encode(prompt.text).ids == token_ids(prompt.text)
    config = msgspec.json.decode((tmp_path / "tokenizer_config.json").read_bytes())
    assert "message['content']" in config["chat_template"]
