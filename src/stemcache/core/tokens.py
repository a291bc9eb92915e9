"""Token runs, and the chain: tokens and extras of one prompt, cut into blocks.

```
    tokens   t0 t1 t2 t3 | t4 t5 t6 t7 | t8 t9          block_size 4, blocks = 2
    extras   namespace   |             |                block 0 always carries one
    keys     k0          → k1                           computed on demand, once
```

A chain only grows. Keys, once computed, never change, and neither do views of its tokens.
"""

from array import array
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from stemcache.core.hashing import BlockKey, KeyScheme, stem_keys
from stemcache.core.namespace import fields_digestible
from stemcache.errors import RequestError

__all__ = ["Chain", "TokenRun", "Tokens", "common_prefix"]

Tokens = npt.NDArray[np.uint32]
"""Shape (n,). Wide enough for every vocabulary; a token is never negative."""

_TOKEN_LIMIT = 2**32
_NOT_WHOLE = "tokens are not whole numbers; send a list of token ids"
_COMPARE_FIRST = 256  # tokens compared before the stride starts to double


def common_prefix(left: Tokens, right: Tokens) -> int:
    """How many leading tokens are equal. O(result): strides double, so a late end stays cheap."""
    size = min(len(left), len(right))
    at, stride = 0, _COMPARE_FIRST
    while at < size:
        end = min(at + stride, size)
        differs = left[at:end] != right[at:end]
        first = int(differs.argmax())
        if differs[first]:
            return at + first
        at, stride = end, stride * 2
    return size


class TokenRun:
    """A growable array of tokens: append at the end, cut at either end, view without a copy.

    A view taken before `append` stays valid and unchanged; one taken before a cut followed by
    `append` may be overwritten, so do not keep views across cuts.
    """

    __slots__ = ("_buffer", "_start", "_stop")

    def __init__(self, tokens: Tokens) -> None:
        self._buffer = np.array(tokens, np.uint32)
        self._start = 0
        self._stop = len(self._buffer)

    def __len__(self) -> int:
        return self._stop - self._start

    def view(self, start: int, stop: int) -> Tokens:
        """Tokens [start, stop), sharing memory. O(1)."""
        return self._buffer[self._start + start : self._start + stop]

    def append(self, tokens: Tokens) -> None:
        """Add at the end. Amortised O(new)."""
        need = self._stop + len(tokens)
        if need > len(self._buffer):
            grown = np.empty(max(len(self) + len(tokens), 2 * len(self)), np.uint32)
            grown[: len(self)] = self.view(0, len(self))
            self._buffer, self._start, self._stop = grown, 0, len(self)
            need = self._stop + len(tokens)
        self._buffer[self._stop : need] = tokens
        self._stop = need

    def cut_tail(self, length: int) -> None:
        """Keep the first `length` tokens. O(1), and O(length) when most memory would be idle."""
        self._stop = self._start + length
        self._shrink()

    def cut_head(self, start: int) -> None:
        """Drop the first `start` tokens. Cost as `cut_tail`."""
        self._start += start
        self._shrink()

    def _shrink(self) -> None:
        if len(self._buffer) > 4 * len(self) + 64:
            self._buffer = self.view(0, len(self)).copy()
            self._start, self._stop = 0, len(self._buffer)


class Chain:
    """Tokens and extras of one prompt; append-only. **Not** thread-safe."""

    __slots__ = ("_extra_at", "_extras", "_keys", "_run", "_scheme", "block_size")

    def __init__(
        self,
        tokens: Sequence[int] | npt.NDArray[np.integer],
        *,
        block_size: int,
        namespace: bytes,
        extras: Mapping[int, bytes] = MappingProxyType({}),
        scheme: KeyScheme = stem_keys,
    ) -> None:
        """`namespace` is the extra of block 0 (`Namespace.encode()`); `extras` are by block."""
        assert block_size >= 1, f"block_size is {block_size}"
        self.block_size = block_size
        merged = dict(extras)
        first = merged.get(0)
        merged[0] = namespace if first is None else fields_digestible(namespace, first)
        self._extras = merged
        self._extra_at = sorted(merged)
        self._scheme = scheme
        self._keys: list[BlockKey] = []
        self._run = TokenRun(_checked(tokens))

    def __len__(self) -> int:
        """Tokens."""
        return len(self._run)

    @property
    def blocks(self) -> int:
        """Full blocks."""
        return len(self._run) // self.block_size

    def extend(self, tokens: Sequence[int] | npt.NDArray[np.integer]) -> None:
        """Append tokens. Amortised O(new)."""
        self._run.append(_checked(tokens))

    def view(self, first: int, stop: int) -> Tokens:
        """Tokens of the blocks [first, stop), without a copy."""
        return self._run.view(first * self.block_size, stop * self.block_size)

    def tokens(self) -> Tokens:
        """All tokens, without a copy."""
        return self._run.view(0, len(self._run))

    def head(self, blocks: int) -> "Chain":
        """A new chain of the first `blocks` blocks. O(blocks)."""
        copy = Chain(
            self._run.view(0, blocks * self.block_size),
            block_size=self.block_size,
            namespace=b"",
            scheme=self._scheme,
        )
        copy._extras = {at: extra for at, extra in self._extras.items() if at < blocks}
        copy._extra_at = sorted(copy._extras)
        return copy

    def extra(self, block: int) -> bytes | None:
        """What enters this block's key beside its tokens."""
        return self._extras.get(block)

    def next_extra(self, block: int) -> int:
        """The first block at or behind `block` that carries an extra; `blocks` if none does."""
        for at in self._extra_at:  # almost always one entry, block 0
            if at >= block:
                return min(at, self.blocks)
        return self.blocks

    def keys(self, stop: int) -> list[BlockKey]:
        """Keys of at least the first `stop` blocks; computes those not yet known. Do not mutate."""
        known = len(self._keys)
        if stop > known:
            assert stop <= self.blocks, f"block {stop} of a chain of {self.blocks}"
            parent = self._keys[-1] if self._keys else None
            raw = self.view(known, stop).astype("<u4", copy=False).tobytes()
            self._keys += self._scheme(parent, raw, self.block_size, self._extras, known)
        return self._keys


def _checked(tokens: Sequence[int] | npt.NDArray[np.integer]) -> Tokens:
    if not isinstance(tokens, np.ndarray):
        return _from_ints(tokens)
    assert tokens.ndim == 1, f"tokens of shape {tokens.shape}"
    if tokens.dtype == np.uint32 or not len(tokens):
        return tokens.astype(np.uint32, copy=False)
    if tokens.dtype.kind not in "iu":
        raise RequestError(_NOT_WHOLE)
    low, high = int(tokens.min()), int(tokens.max())
    if low < 0 or high >= _TOKEN_LIMIT:
        raise RequestError(_outside(low if low < 0 else high))
    return tokens.astype(np.uint32)


def _from_ints(tokens: Sequence[int]) -> Tokens:
    ids = array("I")  # takes a list three times as fast as numpy does, and checks every id
    try:
        if isinstance(tokens, list):
            ids.fromlist(tokens)
        else:
            ids.extend(iter(tokens))
    except OverflowError:
        bad = next(token for token in tokens if not 0 <= token < _TOKEN_LIMIT)
        raise RequestError(_outside(bad)) from None
    except TypeError:
        raise RequestError(_NOT_WHOLE) from None
    return np.frombuffer(ids, np.uint32)


def _outside(token: int) -> str:
    return f"token id {token} is outside 0 to {_TOKEN_LIMIT - 1}; send valid ids"
