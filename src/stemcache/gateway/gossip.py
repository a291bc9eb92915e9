"""What gateways in front of the same replicas tell each other, as bytes. Pure.

```
Batch(gateway, placements, loads)  ─msgpack─►  one entry of a stream
   placement   seat's name, kind of its keys, keys          what was sent there
   load        seat's name, in flight, waiting tokens       as of now; the whole of one gateway
```
Keys are digests: nothing of a prompt can be read from them. A batch of anyone who can write to the
stream is untrusted input all the same: it is bounded, and at worst misleads routing.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import msgspec

from stemcache.errors import StemcacheError
from stemcache.gateway.keys import Keys

__all__ = ["Batch", "GossipError", "Load", "Placement", "decode_batch", "encode_batch", "placement"]

MOST_KEYS = 8192
"""Of one placement; what is behind them is left out."""
_MOST_PLACEMENTS = 4096
_MOST_SEATS = 4096
_MOST_BYTES = 64 * 2**20
_KEY_BYTES = 8

_Name = Annotated[str, msgspec.Meta(max_length=512)]


class GossipError(StemcacheError):
    """Bytes that are no batch."""


class Placement(msgspec.Struct, frozen=True, array_like=True):
    """A prompt that was sent to a seat."""

    seat: _Name
    unit: Annotated[int, msgspec.Meta(ge=0, le=2**20)]
    """Tokens of a block; 0 for keys over bytes."""
    keys: Annotated[bytes, msgspec.Meta(max_length=MOST_KEYS * _KEY_BYTES)]
    """Little-endian 64-bit."""

    def as_list(self) -> list[int]:
        """Whole keys; a part of one at the end is dropped."""
        whole = len(self.keys) // _KEY_BYTES * _KEY_BYTES
        return array("Q", self.keys[:whole]).tolist()


class Load(msgspec.Struct, frozen=True, array_like=True):
    """What one gateway has at a seat."""

    seat: _Name
    in_flight: Annotated[int, msgspec.Meta(ge=0, le=2**31)]
    waiting_tokens: Annotated[int, msgspec.Meta(ge=0, le=2**50)]


@dataclass(frozen=True, slots=True)
class Batch:
    """Some of what one gateway has done."""

    gateway: str
    placements: tuple[Placement, ...]
    loads: tuple[Load, ...]


class _Wire(msgspec.Struct, frozen=True, array_like=True):
    gateway: _Name
    placements: Annotated[tuple[Placement, ...], msgspec.Meta(max_length=_MOST_PLACEMENTS)]
    loads: Annotated[tuple[Load, ...], msgspec.Meta(max_length=_MOST_SEATS)]


_DECODER = msgspec.msgpack.Decoder(_Wire)


def placement(seat: str, keys: Keys) -> Placement:
    """For the keys of one prompt. O(keys)."""
    return Placement(
        seat, keys.unit if keys.exact else 0, array("Q", keys.keys[:MOST_KEYS]).tobytes()
    )


def encode_batch(gateway: str, placements: Iterable[Placement], loads: Iterable[Load]) -> bytes:
    """One entry."""
    return msgspec.msgpack.encode(_Wire(gateway, tuple(placements), tuple(loads)))


def decode_batch(data: bytes) -> Batch:
    """Raises GossipError for anything else than a batch."""
    if len(data) > _MOST_BYTES:
        raise GossipError(f"a batch of {len(data)} bytes; at most {_MOST_BYTES} are read")
    try:
        wire = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise GossipError(f"no batch of a gateway's: {error}"[:200]) from None
    return Batch(wire.gateway, wire.placements, wire.loads)
