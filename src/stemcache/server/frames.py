"""What the server and the engine's process say to each other.

```
server                                            engine's process
  ── Commands {submit, cancel, resets} ──►          once a turn of the event loop
  ◄── Loaded | LoadFailed ──                        first, once
  ◄── Report {progress, refused, resets, stats} ──  once a step
```

Each message is four bytes of length, little-endian, then msgpack.
"""

import struct
from dataclasses import dataclass
from typing import TypeVar

import msgspec
import numpy as np

from stemcache.engine.model import ModelInfo
from stemcache.engine.request import GenerationRequest, Progress
from stemcache.engine.stats import EngineStats

__all__ = [
    "HEADER_BYTES",
    "Commands",
    "FromEngine",
    "LoadFailed",
    "Loaded",
    "Refused",
    "Report",
    "decode_commands",
    "decode_from_engine",
    "frame",
    "frame_length",
]

T = TypeVar("T")

_HEADER = struct.Struct("<I")
HEADER_BYTES = _HEADER.size


class Commands(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the server wants, in this order: cancel, reset, submit."""

    cancel: list[str] = []
    resets: int = 0
    """How many resets are asked for; the report answers each."""
    submit: list[GenerationRequest] = []


class Loaded(msgspec.Struct, frozen=True, tag="loaded"):
    """The engine is ready."""

    info: ModelInfo
    pages: int
    stats: EngineStats


class LoadFailed(msgspec.Struct, frozen=True, tag="load_failed"):
    """The model could not be loaded; the process ends."""

    message: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that the engine did not take."""

    request_id: str
    message: str
    kind: str
    """`context`, `request` or `full`."""
    param: str | None = None
    retry_after_s: float = 0.0


class Report(msgspec.Struct, frozen=True, tag="report", omit_defaults=True):
    """What one step brought."""

    stats: EngineStats
    received: int
    """Requests received so far; the server knows from it which are still on their way."""
    progress: list[Progress] = []
    refused: list[Refused] = []
    resets: list[int] = []
    """Blocks dropped, one for each reset that was asked for."""


FromEngine = Loaded | LoadFailed | Report


def _to_bytes(value: object) -> bytes:
    assert isinstance(value, np.ndarray), f"no message holds a {type(value).__name__}"
    return value.astype("<i4", copy=False).tobytes()


def _from_bytes(type_: object, value: object) -> object:
    del type_  # the only foreign type is the array of a prompt
    assert isinstance(value, bytes), "arrays travel as bytes"
    return np.frombuffer(value, "<i4")


_encoder = msgspec.msgpack.Encoder(enc_hook=_to_bytes)
_commands = msgspec.msgpack.Decoder(Commands, dec_hook=_from_bytes)
_from_engine = msgspec.msgpack.Decoder(FromEngine)


def frame(message: Commands | FromEngine) -> bytes:
    """A message with its length in front."""
    body = _encoder.encode(message)
    return _HEADER.pack(len(body)) + body


def frame_length(header: bytes | bytearray) -> int:
    """Bytes that follow a header."""
    return int(_HEADER.unpack(header)[0])


def decode_commands(body: bytes) -> Commands:
    """Read what the server sent."""
    return _commands.decode(body)


def decode_from_engine(body: bytes) -> FromEngine:
    """Read what the engine's process sent."""
    return _from_engine.decode(body)
