from datetime import UTC, datetime
from pathlib import Path

import pytest
import transformers

from stemcache.text.chat_template import JinjaTemplate, load_template
from stemcache.text.detokenizer import Detokenizer
from stemcache.text.file_tokenizer import FileTokenizer

pytestmark = pytest.mark.real

TEXTS = [
    "Hello, world!",
    "  x = {'a': 1}\n\n\n",
    "日本語 😀 e\u0301",
    "<|im_start|>user",
    "a\u0000b",
]
TALKS = [
    [{"role": "user", "content": "Hi <|im_end|> there"}],
    [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "content": "Me."},
        {"role": "user", "content": "Why? <b>&</b>"},
    ],
]


@pytest.mark.parametrize("talk", TALKS)
def test_conversations_become_the_tokens_that_transformers_makes(
    smollm2_dir: Path, talk: list[dict[str, str]]
) -> None:
    """Text and ids are equal, special tokens in user text included."""
    oracle = transformers.AutoTokenizer.from_pretrained(str(smollm2_dir), local_files_only=True)
    template = load_template(smollm2_dir, now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
    assert isinstance(template, JinjaTemplate)
    assert not template.takes_tools
    text = template.render(talk)
    assert text == oracle.apply_chat_template(talk, tokenize=False, add_generation_prompt=True)
    expected = oracle(text, add_special_tokens=False)["input_ids"]
    assert FileTokenizer(smollm2_dir).encode(text, add_special_tokens=False) == expected


@pytest.mark.parametrize("text", TEXTS)
def test_texts_come_back_token_by_token(smollm2_dir: Path, text: str) -> None:
    """Encoding and streaming out again leaves the text as it was, but for special tokens."""
    tokenizer = FileTokenizer(smollm2_dir)
    tokens = tokenizer.encode(text, add_special_tokens=True)
    detokenizer = Detokenizer(tokenizer)
    shown = "".join(detokenizer.feed(token) for token in tokens) + detokenizer.finish()
    assert shown == text.replace("<|im_start|>", "")
    assert tokenizer.decode(tokens) == text
