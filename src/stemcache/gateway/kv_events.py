"""KV events of vLLM and SGLang: the values, the frames they come in, and pieces of a batch.

```
live      topic | sequence, 8 bytes | payload
replay    ask     (empty) | first sequence wanted
          answer  (empty) | topic | sequence | payload    until sequence -1; older engines: no topic
```
The payload is read in `kv_decode`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stemcache.errors import StemcacheError

__all__ = [
    "FAST_TIER",
    "Batch",
    "Cleared",
    "Event",
    "KvEventsError",
    "Message",
    "Removed",
    "Stored",
    "portions",
    "read_live",
    "read_replay",
    "replay_request",
]

FAST_TIER = "GPU"
"""The medium that a replica computes from; events that name none mean it."""

_END = b"\xff" * 8


class KvEventsError(StemcacheError, ValueError):
    """A message that is not KV events. Says where in it and what is wrong, never its tokens."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Blocks are in a tier now, each the child of the one before it."""

    hashes: tuple[int, ...]
    """The engine's own, whatever it sent, as unsigned 64 bits."""
    parent: int | None
    """Hash of the block before the first; None where the first begins a prompt."""
    tokens: bytes
    """Little-endian uint32 each; empty where the engine does not say (a block that it moved)."""
    block_tokens: int
    tier: str
    adapter: str | None = None
    salt: str | None = None
    """Of the whole prompt; read where `parent` is None, else of no use."""
    extras: tuple[bytes | None, ...] = ()
    """By block, what else entered its hash (images, embeddings); empty: nothing in any."""
    group: int | None = None
    """Which of a hybrid model's kinds of layers."""
    full_attention: bool | None = None
    """Whether that kind attends to everything; None where the engine does not say."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Blocks are no longer in a tier."""

    hashes: tuple[int, ...]
    tier: str
    group: int | None = None


@dataclass(frozen=True, slots=True)
class Cleared:
    """Nothing is held any more, in any tier."""


Event = Stored | Removed | Cleared


@dataclass(frozen=True, slots=True)
class Batch:
    """One message's events, in order."""

    events: tuple[Event, ...]
    at_s: float | None = None
    """The engine's clock; None where it makes no sense."""
    rank: int | None = None
    """Data-parallel rank."""
    unknown: Mapping[str, int] = field(default_factory=dict)
    """By kind of event, or kind.field: how many were left out because they are unknown."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message, live or replayed, its payload not looked at."""

    sequence: int
    payload: bytes
    topic: bytes = b""


def read_live(frames: Sequence[bytes]) -> Message:
    """The parts of a published message."""
    if len(frames) != 3:
        raise KvEventsError(
            f"KV event message: {len(frames)} frames, not 3 (topic, sequence, payload); "
            "is the endpoint that of KV events?"
        )
    return _message(frames[0], frames[1], frames[2])


def replay_request(first: int) -> list[bytes]:
    """What a DEALER sends to get the batches from sequence `first` on."""
    return [b"", first.to_bytes(8, "big")]


def read_replay(frames: Sequence[bytes]) -> Message | None:
    """The parts of a replayed message, with a topic or without; None: there are no more."""
    parts = list(frames)
    if parts and not parts[0] and len(parts) > 2:
        del parts[0]
    if len(parts) == 2:
        parts.insert(0, b"")
    if len(parts) != 3:
        raise KvEventsError(
            f"replayed KV event message: {len(frames)} frames, not 3 or 4; "
            "is the replay endpoint that of KV events?"
        )
    return None if parts[1] == _END else _message(parts[0], parts[1], parts[2])


def portions(batch: Batch, *, most_blocks: int) -> Iterator[Batch]:
    """The batch in pieces of at most so many blocks, the same when applied one after the other.

    A clearing always begins a piece.
    """
    piece: list[Event] = []
    room = most_blocks
    for event in batch.events:
        for part in _parts(event, most_blocks):
            blocks = 1 if isinstance(part, Cleared) else len(part.hashes)
            if piece and (blocks > room or isinstance(part, Cleared)):
                yield replace(batch, events=tuple(piece))
                piece, room = [], most_blocks
            piece.append(part)
            room -= blocks
    if piece:
        yield replace(batch, events=tuple(piece))


def _parts(event: Event, most_blocks: int) -> Iterator[Event]:
    if isinstance(event, Cleared) or len(event.hashes) <= most_blocks:
        yield event
        return
    width = 4 * event.block_tokens if isinstance(event, Stored) else 0
    if isinstance(event, Stored) and len(event.tokens) not in (0, width * len(event.hashes)):
        # Which tokens are whose is not known: left to whoever applies it, who leaves it out.
        yield event
        return
    for at in range(0, len(event.hashes), most_blocks):
        hashes = event.hashes[at : at + most_blocks]
        if isinstance(event, Removed):
            yield replace(event, hashes=hashes)
        else:
            yield replace(
                event,
                hashes=hashes,
                parent=event.hashes[at - 1] if at else event.parent,
                tokens=event.tokens[at * width : (at + most_blocks) * width],
                extras=event.extras[at : at + most_blocks],
            )


def _message(topic: bytes, sequence: bytes, payload: bytes) -> Message:
    if len(sequence) != 8:
        raise KvEventsError(f"KV event message: a sequence of {len(sequence)} bytes, not 8")
    return Message(sequence=int.from_bytes(sequence, "big"), payload=payload, topic=topic)
