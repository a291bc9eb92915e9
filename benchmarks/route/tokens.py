"""Tokens of the fake model: four hexadecimal digits each, as a tokenizer directory says it too.

As with any chat model, a special token begins each message; it takes four characters as well. So a
worker's block of 64 characters is 16 tokens, and a gateway that tokenizes, one that asks a worker
to, and the workers' KV events all mean the same by a token.
"""

from pathlib import Path

import msgspec
import numpy as np

__all__ = ["BEGIN", "BLOCK_TOKENS", "CHARACTERS", "token_ids", "write_tokenizer"]

BEGIN = "<im>"
"""Of a message."""

CHARACTERS = 4
BLOCK_TOKENS = 16
_DIGITS = 16**CHARACTERS
_UNKNOWN, _BEGIN = _DIGITS, _DIGITS + 1


def token_ids(text: str) -> list[int]:
    """Ids of a text's whole tokens; what is not of hexadecimal digits is unknown to the model."""
    first, *messages = text.split(BEGIN)
    ids = _plain_ids(first)
    for message in messages:
        ids.append(_BEGIN)
        ids += _plain_ids(message)
    return ids


def _plain_ids(text: str) -> list[int]:
    whole = text[: len(text) // CHARACTERS * CHARACTERS]
    try:
        ids: list[int] = np.frombuffer(bytes.fromhex(whole), dtype=">u2").tolist()
    except ValueError:
        return [_UNKNOWN] * (len(whole) // CHARACTERS)
    return ids


def write_tokenizer(directory: Path) -> None:
    """Write tokenizer.json, and a chat template of nothing but the messages."""
    vocabulary = {f"{number:04x}": number for number in range(_DIGITS)} | {"<unk>": _UNKNOWN}
    begin = {"id": _BEGIN, "content": BEGIN, "special": True, "normalized": False}
    begin |= {"single_word": False, "lstrip": False, "rstrip": False}
    made: dict[str, object] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [begin],
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
    message = BEGIN + "{{ message['content'] }}"
    template = "{% for message in messages %}" + message + "{% endfor %}"
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": template}
    (directory / "tokenizer_config.json").write_bytes(msgspec.json.encode(config))
