"""Tokens of a growing answer to text, as far as whole characters have arrived.

```
token bytes    F0 9F  │ 98  │ 80 20
text out       ""     │ ""  │ "😀 "
```

Joined, the pieces are what decoding all bytes at once gives: a character split over tokens appears
when its last byte does, and U+FFFD only where the bytes can never become a character. A token
costs its own bytes, however long the answer is.
"""

import codecs

from stemcache.text.tokenizer import Tokenizer

__all__ = ["Detokenizer"]


class Detokenizer:
    """One answer's text so far. Special tokens add nothing."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, token: int) -> str:
        """The text that this token completes; often all of it, at times none."""
        if self._tokenizer.is_special(token):
            return ""
        return self._decoder.decode(self._tokenizer.token_bytes(token))

    def finish(self) -> str:
        """What is left at the end: U+FFFD if the answer stops inside a character, else nothing."""
        return self._decoder.decode(b"", final=True)
