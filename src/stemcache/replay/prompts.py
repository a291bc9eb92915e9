"""Block ids made into prompts: equal prefixes in the trace are equal prefixes on the wire. Pure.

```
    block_ids     17            18            90 (partial)        after the last block
                  │             │             │                   │
    seed     salt·scope·17  salt·scope·18  salt·scope·90      salt·number of the request
                  │             │             │                   │
    prompt    t t t t t …   t t t t t …     t t t               t t
```
The tokens of a block are the first so many of an endless sequence that its seed determines. Ids are
chained, so two prompts agree as long as their ids do. Beyond that they agree by chance alone: two
different sequences begin with the same token once in as many times as there are tokens to draw
from. A salt is in every seed, so it changes every block and no relation between blocks.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from stemcache.errors import UsageError
from stemcache.replay.selection import Planned
from stemcache.replay.words import WORDS

__all__ = ["PromptMaker", "TextPrompts", "TokenPrompts", "TokenRange"]

_PIECE_TOKENS = 4096
"""A longer block is made in parts, so that whoever makes a prompt can do other things between."""


class PromptMaker(Protocol):
    """**Protocol**: a prompt as the JSON value that stands for it in a body."""

    @property
    def opening(self) -> bytes:
        """What the value begins with."""
        ...

    @property
    def closing(self) -> bytes:
        """What it ends with."""
        ...

    def pieces(self, planned: Planned) -> Iterator[bytes]:
        """What lies between `opening` and `closing`; a piece takes well under a millisecond."""
        ...

    def probe(self) -> bytes:
        """The shortest prompt that shows whether the target takes such prompts at all."""
        ...


@dataclass(frozen=True, slots=True)
class TokenRange:
    """Token ids to draw from, both ends included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high < 2**31:
            raise UsageError(
                f"--token-range is {self.low}-{self.high}; give two ids, the smaller one first, "
                "such as 1000-30000"
            )

    @property
    def count(self) -> int:
        """How many ids there are."""
        return self.high - self.low + 1


def _numbers(seed: bytes, count: int) -> npt.NDArray[np.uint32]:
    """The beginning of the endless sequence that a seed determines, the same on every machine."""
    # Four bytes each: the bias of a remainder is then below one in 100,000.
    return np.frombuffer(hashlib.shake_128(seed).digest(4 * count), "<u4")


def _seed(salt: str, kind: str, *parts: object) -> bytes:
    """Fields with their lengths, so that no two lists of fields are written alike."""
    fields = [field.encode(errors="surrogatepass") for field in (salt, kind, *map(str, parts))]
    return b"".join(b"%d:%b" % (len(field), field) for field in fields)


def _runs(planned: Planned, salt: str) -> Iterator[tuple[bytes, int]]:
    """Seed and length in tokens of each block, and of what comes after the last."""
    request = planned.request
    left = request.covered_tokens
    for block_id in request.block_ids.tolist():
        if left <= 0:
            break
        yield _seed(salt, "block", request.scope, block_id), min(left, request.block_tokens)
        left -= request.block_tokens
    rest = request.prompt_tokens - request.covered_tokens
    if rest > 0:
        yield _seed(salt, "rest", planned.number), rest


def _parts(planned: Planned, salt: str) -> Iterator[npt.NDArray[np.uint32]]:
    for seed, count in _runs(planned, salt):
        for at in range(0, count, _PIECE_TOKENS):
            yield _numbers(b"%d:%b" % (at, seed), min(_PIECE_TOKENS, count - at))


@dataclass(frozen=True, slots=True)
class TokenPrompts:
    """A list of token ids, exact to the token. For completions endpoints that take ids."""

    salt: str
    tokens: TokenRange
    opening: bytes = b"["
    closing: bytes = b"]"

    def pieces(self, planned: Planned) -> Iterator[bytes]:
        """Ids with commas between them."""
        comma = b""
        low, count = self.tokens.low, np.uint32(self.tokens.count)
        for numbers in _parts(planned, self.salt):
            ids = (numbers % count).tolist() if low == 0 else (numbers % count + low).tolist()
            yield comma + msgspec.json.encode(ids)[1:-1]
            comma = b","

    def probe(self) -> bytes:
        """Both ends of the range, so that a vocabulary that is too small shows."""
        return b"%d,%d" % (self.tokens.low, self.tokens.high)


@dataclass(frozen=True, slots=True)
class TextPrompts:
    """Common words with spaces between them, each one token in most vocabularies.

    How many tokens the target makes of them, and of its own template, is for its usage to say.
    """

    salt: str
    opening: bytes = b'"'
    closing: bytes = b'"'

    def pieces(self, planned: Planned) -> Iterator[bytes]:
        """Words of ASCII letters: nothing to escape."""
        space = ""
        for numbers in _parts(planned, self.salt):
            chosen = [WORDS[number] for number in (numbers % np.uint32(len(WORDS))).tolist()]
            yield (space + " ".join(chosen)).encode()
            space = " "

    def probe(self) -> bytes:
        """Two words."""
        return " ".join(WORDS[:2]).encode()
