"""Chained block keys: a key stands for its block and for everything before it.

A *scheme* turns consecutive blocks into keys. Ours is the default; the others compute, bit for
bit, the keys that other engines publish, so that their events can be matched:

| scheme | key of a block |
|---|---|
| `stem_keys` | SHA-256 of four length-prefixed fields: tag, parent, extra, tokens |
| `vllm_cbor_keys` | vLLM's `sha256_cbor`: SHA-256 of the CBOR array (parent, tokens, extra keys) |
| `sglang_page_keys` | SGLang's page hash: SHA-256 of the parent's digest, then the tokens |

A common block (no extra, 16 tokens) is 112 bytes in our scheme: two SHA-256 compressions.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from struct import Struct
from typing import NewType, cast

import cbor2
import numpy as np

__all__ = [
    "SCHEMES",
    "BlockKey",
    "KeyScheme",
    "sglang_event_id",
    "sglang_page_keys",
    "stem_keys",
    "vllm_cbor_keys",
    "vllm_event_id",
    "vllm_extra",
]

BlockKey = NewType("BlockKey", bytes)
"""A chained key; not the digest of a block's tokens alone, which says nothing of its prefix."""

KeyScheme = Callable[[BlockKey | None, bytes, int, Mapping[int, bytes], int], list[BlockKey]]
"""(parent, tokens as little-endian uint32, tokens a block, extras by block, first block) -> keys.

`tokens` holds whole blocks only; `extras` counts blocks from the start of the chain, and `first`
is the number of the first block in `tokens`.
"""

_TAG = b"stm1"
_HEADER = Struct("<4sIII")  # tag, then the lengths of parent, extra and tokens in bytes
_NO_EXTRA = 0xFFFFFFFF  # told apart from an empty extra
_TOKEN_BYTES = 4
_DIGEST_BYTES = 32


def stem_keys(
    parent: BlockKey | None,
    tokens: bytes,
    block_size: int,
    extras: Mapping[int, bytes],
    first: int,
) -> list[BlockKey]:
    """Our scheme. Every field is behind its length, so no two inputs give one message."""
    assert parent is None or len(parent) == _DIGEST_BYTES, (
        f"a parent of {len(parent)} bytes; a key has {_DIGEST_BYTES}"
    )
    step = block_size * _TOKEN_BYTES
    count = len(tokens) // step
    marked = {number - first for number in extras if first <= number < first + count}
    if parent is None and count:
        marked.add(0)
    plain = _HEADER.pack(_TAG, _DIGEST_BYTES, _NO_EXTRA, step)
    chained = b"" if parent is None else bytes(parent)
    keys: list[bytes] = []
    append = keys.append
    done = 0
    for stop in (*sorted(marked), count):
        for at in range(done * step, stop * step, step):  # the hot loop: blocks without an extra
            chained = sha256(plain + chained + tokens[at : at + step]).digest()
            append(chained)
        if stop < count:
            extra = extras.get(first + stop)
            size = _NO_EXTRA if extra is None else len(extra)
            header = _HEADER.pack(_TAG, len(chained), size, step)
            own = tokens[stop * step : (stop + 1) * step]
            chained = sha256(header + chained + (extra or b"") + own).digest()
            append(chained)
        done = stop + 1
    return cast("list[BlockKey]", keys)


def vllm_cbor_keys(
    parent: BlockKey | None,
    tokens: bytes,
    block_size: int,
    extras: Mapping[int, bytes],
    first: int,
) -> list[BlockKey]:
    """VLLM's `sha256_cbor`. Extras are made by `vllm_extra`. Source: vLLM 0.33.0, reference 2.1."""
    step = block_size * _TOKEN_BYTES
    chained = _VLLM_ROOT if parent is None else bytes(parent)
    keys: list[BlockKey] = []
    for number, at in enumerate(range(0, len(tokens), step), start=first):
        ids = np.frombuffer(tokens, "<u4", block_size, at).tolist()
        message = b"\x83" + cbor2.dumps(chained) + cbor2.dumps(ids) + extras.get(number, b"\xf6")
        chained = sha256(message).digest()
        keys.append(BlockKey(chained))
    return keys


def vllm_extra(
    *,
    lora: tuple[str, str] | None = None,
    media: tuple[tuple[str, int], ...] = (),
    salt: str | None = None,
    embeds: bytes | None = None,
) -> bytes:
    """The extra of one block as vLLM's scheme wants it, in vLLM's order.

    `lora` is (name, path) and goes on every block; `media` are (identifier, offset from the
    block's start) of the items that overlap the block; `salt` goes on block 0 only.
    """
    parts: list[tuple[str | int | bytes, ...]] = []
    if lora is not None:
        parts.append(("lora", *lora))
    parts.extend(("mm", identifier, offset) for identifier, offset in media)
    if salt is not None:
        parts.append(("cache_salt", salt))
    if embeds is not None:
        parts.append(("prompt_embeds", embeds))
    return cbor2.dumps(tuple(parts), canonical=True) if parts else b"\xf6"


def vllm_event_id(key: BlockKey) -> int:
    """How vLLM's events name a key: the last 8 bytes, big-endian, unsigned."""
    return int.from_bytes(key[-8:], "big")


def sglang_page_keys(
    parent: BlockKey | None,
    tokens: bytes,
    block_size: int,
    extras: Mapping[int, bytes],
    first: int,  # noqa: ARG001  extras stand on block 0 only
) -> list[BlockKey]:
    """SGLang's page hash. An extra is the 32-byte seed of a namespaced chain, on block 0 only."""
    step = block_size * _TOKEN_BYTES
    chained = extras.get(0, b"") if parent is None else bytes(parent)
    assert len(chained) in {0, _DIGEST_BYTES}, f"a seed of {len(chained)} bytes; use a digest"
    assert not any(block > 0 for block in extras), "this scheme has no extras behind block 0"
    keys: list[BlockKey] = []
    for at in range(0, len(tokens), step):
        chained = sha256(chained + tokens[at : at + step]).digest()
        keys.append(BlockKey(chained))
    return keys


def sglang_event_id(key: BlockKey) -> int:
    """How SGLang's events name a key: the first 8 bytes, big-endian, signed."""
    return int.from_bytes(key[:8], "big", signed=True)


_VLLM_ROOT = sha256(cbor2.dumps("vllm-none-hash")).digest()

SCHEMES: dict[str, KeyScheme] = {
    "stemcache": stem_keys,
    "vllm-sha256-cbor": vllm_cbor_keys,
    "sglang": sglang_page_keys,
}
"""Every scheme under the name users give it."""
