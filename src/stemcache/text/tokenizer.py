"""The seam between text and token ids, and the tokenizer that needs no file."""

from collections.abc import Sequence
from typing import Protocol

__all__ = ["ByteTokenizer", "Tokenizer"]


class Tokenizer(Protocol):
    """**Protocol**: turns text into token ids and back. Safe to call from any thread."""

    @property
    def longest_token_bytes(self) -> int | None:
        """No token stands for more bytes of text than this; None if no such bound holds."""
        ...

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Ids of a text. Linear in its length: keep long texts off the event loop.

        A text that spells a special token yields that token, wherever it comes from: a user who
        writes `<|im_end|>` ends the turn, as in transformers and vLLM. Token ids, and with them
        what is cached, would otherwise differ from what the model's own template makes. Who
        passes on text of strangers removes such strings first.
        """
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of a whole sequence, special tokens by name."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """The bytes that a token adds to a text; empty for ids that the tokenizer does not know."""
        ...

    def is_special(self, token: int) -> bool:
        """Whether answers leave the token out."""
        ...


class ByteTokenizer:
    """Token ids are the bytes of UTF-8; ids above 255 are special. For the toy model."""

    @property
    def longest_token_bytes(self) -> int:
        """One."""
        return 1

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """One id a byte. There are no special tokens to add."""
        del add_special_tokens
        return list(text.encode())

    def decode(self, tokens: Sequence[int]) -> str:
        """Bytes that are not UTF-8 become U+FFFD."""
        return b"".join(map(self.token_bytes, tokens)).decode(errors="replace")

    def token_bytes(self, token: int) -> bytes:
        """The byte itself."""
        return bytes((token,)) if token < 256 else b""

    def is_special(self, token: int) -> bool:
        """Ids above 255."""
        return token >= 256
