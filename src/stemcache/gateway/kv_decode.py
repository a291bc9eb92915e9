"""Reads a message of KV events, of vLLM and of SGLang, of today and of before.

```
payload   msgpack [time, [event, …], rank]
event     {"type": "BlockStored", "block_hashes": […], "parent_block_hash": …, …}    since mid-2026
          ["BlockStored", […], …, …]                                                 before
```
Every byte is another program's. What cannot be read raises `KvEventsError`; what is only unknown (a
kind of event, a field) is left out and counted, so that an engine may add to its events.
"""

import sys
from array import array
from collections import Counter
from math import isfinite
from typing import Any

import msgspec

from stemcache.gateway.kv_events import (
    FAST_TIER,
    Batch,
    Cleared,
    Event,
    KvEventsError,
    Removed,
    Stored,
)

__all__ = ["MOST_MESSAGE_BYTES", "decode_batch"]

MOST_MESSAGE_BYTES = 16 * 2**20
"""Of one message. A step of 65,536 tokens, each stored anew, takes some 300 KB."""

_MOST_NAME_CHARS = 128
_MOST_NAMES = 20
_U64 = 2**64 - 1
_FULL_KINDS = ("full_attention", "mla_attention", "sink_full_attention")

_STORED_FIELDS: tuple[str, ...] = (
    "block_hashes",
    "parent_block_hash",
    "token_ids",
    "block_size",
    "lora_id",
    "medium",
    "lora_name",
    "extra_keys",
    "group_idx",
    "kv_cache_spec_kind",
    "kv_cache_spec_sliding_window",
    "locality",
    "ownership",
    "session_id",
)
# SGLang, of the versions that send arrays with a salt in them.
_STORED_FIELDS_SGLANG: tuple[str, ...] = (
    *_STORED_FIELDS[:6],
    "cache_salt",
    "session_id",
    "lora_name",
)
_REMOVED_FIELDS: tuple[str, ...] = ("block_hashes", "medium", "group_idx", "locality", "ownership")
_KNOWN_STORED = {*_STORED_FIELDS, "cache_salt", "lookahead_token_ids", "type"}
_KNOWN_REMOVED = {*_REMOVED_FIELDS, "type"}


def decode_batch(payload: bytes) -> Batch:
    """The events of one payload; linear in its length, about 25 ns a token."""
    if len(payload) > MOST_MESSAGE_BYTES:
        raise KvEventsError(
            f"KV event message: {len(payload):,} bytes, more than {MOST_MESSAGE_BYTES:,}"
        )
    try:
        outer = msgspec.msgpack.decode(payload)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as error:
        # msgspec's texts speak of bytes and types, not of values.
        raise KvEventsError(f"KV event message: not msgpack ({_kind(error)})") from None
    if not isinstance(outer, list) or len(outer) < 2 or not isinstance(outer[1], list):
        raise KvEventsError("KV event message: not [time, [event, …], rank]")
    unknown: Counter[str] = Counter()
    events = []
    for index, raw in enumerate(outer[1]):
        event = _event(raw, index, unknown)
        if event is not None:
            events.append(event)
    return Batch(
        events=tuple(events),
        at_s=_time(outer[0]),
        rank=_small(outer[2], "rank") if len(outer) > 2 else None,
        unknown=unknown,
    )


def _event(raw: object, index: int, unknown: Counter[str]) -> Event | None:
    where = f"KV event {index}"
    if isinstance(raw, dict):
        kind, fields = raw.get("type"), raw
    elif isinstance(raw, list) and raw:
        kind, fields = raw[0], _named(raw, unknown)
    else:
        raise KvEventsError(f"{where}: {type(raw).__name__}, not a map or an array with its type")
    if kind == "BlockStored":
        _count(fields, _KNOWN_STORED, "BlockStored", unknown)
        return _stored(fields, where)
    if kind == "BlockRemoved":
        _count(fields, _KNOWN_REMOVED, "BlockRemoved", unknown)
        return Removed(
            hashes=_hashes(fields, where), tier=_tier(fields, where), group=_group(fields, where)
        )
    if kind == "AllBlocksCleared":
        return Cleared()
    if not isinstance(kind, str):
        raise KvEventsError(f"{where}: its type is {type(kind).__name__}, not a string")
    _left_out(unknown, kind)
    return None


def _named(raw: list[Any], unknown: Counter[str]) -> dict[Any, Any]:
    """An event by position as one by name."""
    if raw[0] == "BlockStored":
        names = _STORED_FIELDS
        if len(raw) > 8 and isinstance(raw[8], str):
            names = _STORED_FIELDS_SGLANG
    elif raw[0] == "BlockRemoved":
        names = _REMOVED_FIELDS
    else:
        return {}
    if len(raw) - 1 > len(names):
        _left_out(unknown, f"{raw[0]} (further values)")
    return dict(zip(names, raw[1:], strict=False))


def _stored(fields: dict[Any, Any], where: str) -> Stored:
    hashes = _hashes(fields, where)
    parent = fields.get("parent_block_hash")
    block_tokens = _small(fields.get("block_size"), f"{where}: block_size")
    if block_tokens is None:
        raise KvEventsError(f"{where}: no block_size")
    kind = fields.get("kv_cache_spec_kind")
    adapter = _text(fields.get("lora_name"), f"{where}: lora_name")
    if adapter is None and fields.get("lora_id") is not None:
        # An adapter that is known by number only; no request's adapter is called that.
        adapter = f"\x00{_number(fields['lora_id'], f'{where}: lora_id')}"
    salt = _text(fields.get("cache_salt"), f"{where}: cache_salt")
    extras: tuple[bytes | None, ...] = ()
    if fields.get("extra_keys") is not None:
        found, extras = _extras(fields["extra_keys"], adapter, where, begins=parent is None)
        salt = found if salt is None else salt
    return Stored(
        hashes=hashes,
        parent=None if parent is None else _hash(parent, f"{where}: parent_block_hash"),
        tokens=_tokens(fields.get("token_ids"), where),
        block_tokens=block_tokens,
        tier=_tier(fields, where),
        adapter=adapter,
        salt=salt,
        extras=extras,
        group=_group(fields, where),
        full_attention=None if kind in (None, "unknown") else kind in _FULL_KINDS,
    )


def _extras(
    raw: object, adapter: str | None, where: str, *, begins: bool
) -> tuple[str | None, tuple[bytes | None, ...]]:
    """The salt, and by block what is left when adapter and salt are taken out."""
    if not isinstance(raw, list):
        raise KvEventsError(f"{where}: extra_keys is {type(raw).__name__}, not an array")
    salt = None
    extras: list[bytes | None] = []
    for position, keys in enumerate(raw):
        if keys is None:
            extras.append(None)
            continue
        if not isinstance(keys, list):
            raise KvEventsError(
                f"{where}: extra_keys[{position}] is {type(keys).__name__}, not an array or nothing"
            )
        rest = list(keys)
        if rest and adapter is not None and rest[0] in (adapter, ["lora", adapter]):
            del rest[0]
        if begins and position == 0:
            # Untagged, the salt is the one string left; images are pairs, embeddings bytes.
            for at in range(len(rest) - 1, -1, -1):
                key = rest[at]
                if isinstance(key, list) and len(key) == 2 and key[0] == "cache_salt":
                    key = key[1]
                if isinstance(key, str):
                    salt = key
                    del rest[at]
                    break
        extras.append(_packed(rest, where) if rest else None)
    return salt, tuple(extras) if any(extra is not None for extra in extras) else ()


def _packed(keys: list[Any], where: str) -> bytes:
    try:
        return msgspec.msgpack.encode(keys)
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise KvEventsError(f"{where}: extra_keys cannot be read ({_kind(error)})") from None


def _hashes(fields: dict[Any, Any], where: str) -> tuple[int, ...]:
    raw = fields.get("block_hashes")
    if not isinstance(raw, list):
        raise KvEventsError(f"{where}: block_hashes is {type(raw).__name__}, not an array")
    what = f"{where}: block_hashes"
    return tuple([_hash(one, what) for one in raw])


def _hash(raw: object, what: str) -> int:
    if type(raw) is int:
        # SGLang's are signed, vLLM's unsigned; the same 64 bits either way.
        return raw & _U64
    if isinstance(raw, bytes) and len(raw) >= 8:
        return int.from_bytes(raw[-8:], "big")
    raise KvEventsError(
        f"{what}: a hash is {type(raw).__name__}, not an integer or 8 bytes or more"
    )


def _tokens(raw: object, where: str) -> bytes:
    if raw is None:
        return b""
    if not isinstance(raw, list):
        raise KvEventsError(f"{where}: token_ids is {type(raw).__name__}, not an array")
    if raw and isinstance(raw[0], list):
        # SGLang with a draft model: each position beside the next one.
        try:
            raw = [pair[0] for pair in raw]
        except (TypeError, IndexError, KeyError):
            raise KvEventsError(f"{where}: token_ids are neither integers nor pairs") from None
    try:
        packed = array("I", raw)
    except (TypeError, OverflowError, ValueError):
        raise KvEventsError(f"{where}: token_ids are not integers from 0 to 2^32-1") from None
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _tier(fields: dict[Any, Any], where: str) -> str:
    medium = _text(fields.get("medium"), f"{where}: medium")
    owner = _text(fields.get("ownership"), f"{where}: ownership")
    medium = FAST_TIER if medium is None else _name(medium).upper()
    return medium if owner is None else f"{medium}/{_name(owner)}"


def _group(fields: dict[Any, Any], where: str) -> int | None:
    return _small(fields.get("group_idx"), f"{where}: group_idx")


def _text(raw: object, what: str) -> str | None:
    if raw is None or isinstance(raw, str):
        return raw
    raise KvEventsError(f"{what} is {type(raw).__name__}, not a string")


def _small(raw: object, what: str) -> int | None:
    if raw is None:
        return None
    if type(raw) is int and 0 <= raw < 2**31:
        return raw
    raise KvEventsError(f"{what}: not an integer from 0 to 2^31-1")


def _number(raw: object, what: str) -> str:
    if isinstance(raw, int | str):
        return str(raw)
    raise KvEventsError(f"{what} is {type(raw).__name__}, not an integer")


def _time(raw: object) -> float | None:
    if isinstance(raw, float | int) and not isinstance(raw, bool):
        at_s = float(raw)
        return at_s if isfinite(at_s) else None
    return None


def _count(fields: dict[Any, Any], known: set[str], kind: str, unknown: Counter[str]) -> None:
    for name in fields.keys() - known:
        _left_out(unknown, f"{kind}.{name}" if isinstance(name, str) else f"{kind} (odd names)")


def _left_out(unknown: Counter[str], name: str) -> None:
    name = _name(name)
    unknown[name if name in unknown or len(unknown) < _MOST_NAMES else "others"] += 1


def _name(text: str) -> str:
    return text if len(text) <= _MOST_NAME_CHARS else text[:_MOST_NAME_CHARS] + "…"


def _kind(error: BaseException) -> str:
    return type(error).__name__
