"""Tokens of the fake model."""

from pathlib import Path

import msgspec
import pytest
from jinja2 import Template

from benchmarks.route.cache import BLOCK_CHARACTERS
from benchmarks.route.plans import zipf
from benchmarks.route.tokens import BEGIN, BLOCK_TOKENS, CHARACTERS, token_ids, write_tokenizer


def test_a_token_is_four_digits() -> None:
    """What is left over is no token yet; other text is unknown."""
    assert token_ids("00ffabcd12") == [0x00FF, 0xABCD]
    assert token_ids("") == []
    assert token_ids("hello wo") == [65_536, 65_536]
    assert BLOCK_TOKENS * CHARACTERS == BLOCK_CHARACTERS


def test_a_message_begins_with_a_token_of_its_own() -> None:
    """As wide as the others, so that blocks of characters stay blocks of tokens."""
    assert len(BEGIN) == CHARACTERS
    assert token_ids(f"{BEGIN}00ff{BEGIN}{BEGIN}abcd") == [65_537, 0x00FF, 65_537, 65_537, 0xABCD]
    assert token_ids("0001" + BEGIN) == [1, 65_537]


def test_the_tokenizer_says_the_same(tmp_path: Path) -> None:
    """Messages of a prompt one after the other, as the chat template has them."""
    tokenizers = pytest.importorskip("tokenizers")
    write_tokenizer(tmp_path)
    made = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    (prompt,) = zipf(1, 1)
    assert made.encode(prompt.text).ids == token_ids(prompt.text)
    config = msgspec.json.decode((tmp_path / "tokenizer_config.json").read_bytes())
    messages = [{"content": content} for content in prompt.contents]
    assert Template(config["chat_template"]).render(messages=messages) == prompt.text
