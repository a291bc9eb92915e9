"""Which tokens end an answer, gathered from all the files that say so."""

import json
from pathlib import Path
from typing import Any

from transformers import GenerationConfig, PretrainedConfig

__all__ = ["read_generation", "stop_tokens"]

_TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>")
"""What chat templates put behind a turn, where no configuration says that it ends one."""


def read_generation(directory: Path) -> GenerationConfig | None:
    """Return the generation configuration in `directory`; None where there is none."""
    if not (directory / "generation_config.json").exists():
        return None
    return GenerationConfig.from_pretrained(str(directory), local_files_only=True)


def stop_tokens(
    config: PretrainedConfig, generation: GenerationConfig | None, directory: Path
) -> frozenset[int]:
    """Join the end tokens of both configurations and of the tokenizer's files, if it has any."""
    stops = _ids(config.eos_token_id)
    if generation is not None:
        stops |= _ids(generation.eos_token_id)
    settings = _json(directory / "tokenizer_config.json")
    added = {
        entry["content"]: int(entry["id"])
        for entry in _json(directory / "tokenizer.json").get("added_tokens", [])
    }
    end = settings.get("eos_token")
    names = {end["content"] if isinstance(end, dict) else end}
    template = _template(directory, settings)
    names |= {text for text in _TURN_ENDS if text in template}
    return frozenset(stops | {added[text] for text in names if text in added})


def _ids(value: int | list[int] | None) -> set[int]:
    if value is None:
        return set()
    return {value} if isinstance(value, int) else set(value)


def _template(directory: Path, settings: dict[str, Any]) -> str:
    file = directory / "chat_template.jinja"
    if file.exists():
        return file.read_text(encoding="utf-8")
    return json.dumps(settings.get("chat_template", ""), ensure_ascii=False)


def _json(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded
