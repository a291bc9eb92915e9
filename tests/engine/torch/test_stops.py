"""Which tokens end an answer."""

import json
from pathlib import Path

import pytest
import transformers

from stemcache.engine.torch.stops import read_generation, stop_tokens


@pytest.mark.parametrize(
    ("settings", "template", "expected"),
    [
        ({}, "", {2, 3}),
        ({"eos_token": "<end>"}, "", {2, 3, 8}),
        ({"eos_token": {"content": "<end>"}}, "", {2, 3, 8}),
        ({"eos_token": "<unknown>"}, "x <|im_end|> y", {2, 3, 9}),
        ({"chat_template": "x <|im_end|> y"}, "", {2, 3, 9}),
    ],
)
def test_all_files_are_asked(
    tmp_path: Path, settings: dict[str, object], template: str, expected: set[int]
) -> None:
    """Configurations give ids, tokenizer and template names; only known tokens count."""
    added = [{"id": 8, "content": "<end>"}, {"id": 9, "content": "<|im_end|>"}]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"added_tokens": added}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [2, 3]}))
    if template:
        (tmp_path / "chat_template.jinja").write_text(template)
    config = transformers.LlamaConfig(eos_token_id=2)
    assert stop_tokens(config, read_generation(tmp_path), tmp_path) == expected


def test_no_files_mean_no_more_stops(tmp_path: Path) -> None:
    """Without a tokenizer the configuration alone counts."""
    config = transformers.LlamaConfig(eos_token_id=2)
    assert stop_tokens(config, read_generation(tmp_path), tmp_path) == {2}
