"""The tokenizer of a model directory: `tokenizer.json`, read by Hugging Face's `tokenizers`.

Answers are detokenized from the bytes of each token, which two families of vocabularies spell out:

- byte-level BPE (GPT-2, Llama 3, Qwen, SmolLM): each character of a token stands for one byte;
- SentencePiece with byte fallback (Llama 2, Mistral): `▁` is a space, `<0x0A>` a byte.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stemcache.errors import ModelError

if TYPE_CHECKING:
    from tokenizers import Tokenizer as HuggingFaceTokenizer

__all__ = ["AddedToken", "FileTokenizer"]

_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is taken out of a text before anything else is done with it."""

    text: str
    left: bool
    """Takes white space before it along."""
    word: bool
    """Only where it stands as a word of its own."""
    normalized: bool
    """Looked for in the normalized text between the others."""


class FileTokenizer:
    """Reads `tokenizer.json` of a directory. Raises ModelError where it cannot be used."""

    def __init__(self, directory: Path) -> None:
        path = directory / "tokenizer.json"
        if not path.is_file():
            raise ModelError(f"no tokenizer.json in {directory}; give a directory that has one")
        try:
            text = path.read_text(encoding="utf-8")
            self._inner = _load(text)
        except Exception as error:  # tokenizers raises plain Exception
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"cannot read {path}: {error}; fetch the model again") from error
        kinds = _decoder_kinds(json.loads(text).get("decoder"))
        byte_level = "ByteLevel" in kinds
        if not byte_level and not kinds & {"ByteFallback", "Metaspace"}:
            raise ModelError(
                f"{path} decodes by {', '.join(sorted(kinds)) or 'nothing'}, which is not "
                "supported; use a model with byte-level or SentencePiece tokens"
            )
        added = self._inner.get_added_tokens_decoder()
        self._special = frozenset(token for token, name in added.items() if name.special)
        vocabulary = self._inner.get_vocab(with_added_tokens=True)
        self._bytes = [b""] * (max(vocabulary.values(), default=-1) + 1)
        spell = _byte_level_spelling() if byte_level else _sentencepiece_spelling
        for name, token in vocabulary.items():
            self._bytes[token] = name.encode() if token in added else spell(name)
        # Tokens that swallow space around them, or one <unk> for many characters, break the bound.
        bounded = byte_level and not any(name.lstrip or name.rstrip for name in added.values())
        self._longest = max(map(len, self._bytes), default=0) if bounded else None

    @property
    def longest_token_bytes(self) -> int | None:
        """None where a token may stand for more text than its own."""
        return self._longest

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Ids of a text; `add_special_tokens` as the file's post-processor has it."""
        return self.encode_many([text], add_special_tokens=add_special_tokens)[0]

    def encode_many(self, texts: Sequence[str], *, add_special_tokens: bool) -> list[list[int]]:
        """Ids of each text on its own; together they take less than one by one."""
        # `encode` keeps the interpreter's lock throughout, a batch does not: streams go on.
        found = self._inner.encode_batch_fast(list(texts), add_special_tokens=add_special_tokens)
        return [one.ids for one in found]

    def added_tokens(self) -> list[AddedToken]:
        """All of them, special or not, in the order of their ids."""
        added = self._inner.get_added_tokens_decoder()
        return [
            AddedToken(one.content, one.lstrip, one.single_word, one.normalized)
            for _, one in sorted(added.items())
        ]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of a whole sequence, special tokens by name."""
        return self._inner.decode(list(tokens), skip_special_tokens=False)

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token adds to a text; empty for ids beyond the file's."""
        return self._bytes[token] if token < len(self._bytes) else b""

    def is_special(self, token: int) -> bool:
        """Whether the file marks it so."""
        return token in self._special


def _load(text: str) -> "HuggingFaceTokenizer":
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415  # comes with the extra `engine`
    except ModuleNotFoundError:
        raise ModelError(
            "tokenizer.json needs the package tokenizers, which is not installed; "
            "run: pip install 'stemcache[engine]'"
        ) from None
    inner = Tokenizer.from_str(text)
    inner.no_truncation()
    inner.no_padding()
    return inner


def _decoder_kinds(decoder: object) -> set[str]:
    if not isinstance(decoder, dict):
        return set()
    kinds = {str(decoder.get("type"))}
    for inner in decoder.get("decoders", ()):
        kinds |= _decoder_kinds(inner)
    return kinds


def _byte_level_spelling() -> Callable[[str], bytes]:
    # Printable characters stand for their own byte, the other bytes for 256, 257, ... in order.
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    rest = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable}
    byte_of |= {chr(256 + i): byte for i, byte in enumerate(rest)}

    def spell(name: str) -> bytes:
        try:
            return bytes([byte_of[char] for char in name])
        except KeyError:
            return name.encode()

    return spell


def _sentencepiece_spelling(name: str) -> bytes:
    fallback = _FALLBACK.fullmatch(name)
    if fallback is not None:
        return bytes((int(fallback[1], 16),))
    return name.replace("\u2581", " ").encode()
