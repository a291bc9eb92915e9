"""Block ids as traces write them, and as `TraceRequest` holds them: 64-bit values.

| in the file | becomes |
|---|---|
| an integer of 64 bits, signed or not | itself; 2⁶³ and more wrap around to negative |
| a larger integer, or a string | 64 bits of its BLAKE2b digest |

So two ids that differ stay different: surely for integers of one signedness, and but for odds of
2⁻⁶⁴ a pair otherwise.
"""

from array import array
from collections.abc import Sequence
from hashlib import blake2b
from typing import cast

import numpy as np
import numpy.typing as npt

from stemcache.trace.problem import BadLineError
from stemcache.trace.record import BlockIds

__all__ = ["JsonIds", "block_ids", "chained", "check_cover", "mixed"]

JsonIds = list[int | str]

_SIGNED_END = 2**63
_UNSIGNED_END = 2**64
_GOLDEN = 0x9E3779B97F4A7C15


def block_ids(values: Sequence[int | str]) -> BlockIds:
    """Ids of a request. O(n), fast where all fit 64 signed bits."""
    try:
        # Three times as fast as numpy's own conversion of a list.
        return np.frombuffer(array("q", cast("Sequence[int]", values)), np.int64)
    except (OverflowError, TypeError):
        return np.array([_one(value) for value in values], np.int64)


def _one(value: int | str) -> int:
    if isinstance(value, str):
        digest = blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8, person=b"text")
        return int.from_bytes(digest.digest(), "little", signed=True)
    if -_SIGNED_END <= value < _SIGNED_END:
        return value
    if 0 <= value < _UNSIGNED_END:
        return value - _UNSIGNED_END
    size = value.bit_length() // 8 + 1
    raw = value.to_bytes(size, "little", signed=True)
    digest = blake2b(raw, digest_size=8, person=b"integer")
    return int.from_bytes(digest.digest(), "little", signed=True)


def check_cover(count: int, prompt_tokens: int, block_tokens: int) -> None:
    """Raise BadLineError unless the ids cover the prompt, with or without a partial last block."""
    full = prompt_tokens // block_tokens
    most = -(-prompt_tokens // block_tokens)
    if not full <= count <= most:
        allowed = str(full) if full == most else f"{full} or {most}"
        raise BadLineError(
            f"{count} block ids for {prompt_tokens} tokens at {block_tokens} a block, which takes "
            f"{allowed}",
            fix="give the right --block-size, mend the line",
        )


def mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A bijection of 64 bits that leaves no pattern of its input; not a secret. O(n)."""
    values = values + np.uint64(_GOLDEN)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def chained(ids: BlockIds) -> BlockIds:
    """Ids of blocks' own content to ids of prefixes; of ids of prefixes it keeps the relation.

    Each id and its place give 64 mixed bits, and a prefix is their running sum: equal prefixes
    give equal sums, and others do so with odds of 2⁻⁶⁴ a pair. O(n), vectorised. Not for ids that
    somebody chose to make collide.
    """
    places = mixed(np.arange(len(ids), dtype=np.uint64))
    return np.cumsum(mixed(ids.view(np.uint64) ^ places), dtype=np.uint64).view(np.int64)
