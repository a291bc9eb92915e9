"""Tokens of the fake model: four hexadecimal digits each, as a tokenizer directory says it too.

So a worker's block of 64 characters is 16 tokens, and a gateway that tokenizes, one that asks a
worker to, and the workers' KV events all mean the same by a token.
"""

from pathlib import Path

import msgspec
import numpy as np

__all__ = ["BLOCK_TOKENS", "CHARACTERS", "token_ids", "write_tokenizer"]

CHARACTERS = 4
BLOCK_TOKENS = 16
_DIGITS = 16**CHARACTERS


def token_ids(text: str) -> list[int]:
    """Ids of a text's whole tokens; what is not of hexadecimal digits is unknown to the model."""
    whole = text[: len(text) // CHARACTERS * CHARACTERS]
    try:
        ids: list[int] = np.frombuffer(bytes.fromhex(whole), dtype=">u2").tolist()
    except ValueError:
        return [_DIGITS] * (len(whole) // CHARACTERS)
    return ids


def write_tokenizer(directory: Path) -> None:
    """Write tokenizer.json, and a chat template of nothing but the contents."""
    vocabulary = {f"{number:04x}": number for number in range(_DIGITS)} | {"<unk>": _DIGITS}
    made: dict[str, object] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "FixedLength", "length": CHARACTERS},
        "post_processor": None,
        "decoder": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": False,
            "use_regex": False,
        },
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tokenizer.json").write_bytes(msgspec.json.encode(made))
    template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": template}
    (directory / "tokenizer_config.json").write_bytes(msgspec.json.encode(config))
