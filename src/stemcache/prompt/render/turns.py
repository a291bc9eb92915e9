"""What is laid out as the turns that an API takes: who speaks, and the blocks that are sent.

```
pieces   user: q │ user: now │ assistant: "" thought call │ user: result
turns    user: q             │ assistant:    thought call │ user: result      blanks dropped
merged   user: q   now       │ assistant:    thought call │ user: result      neighbours joined
```
Dropped: texts that an API refuses for being empty, and thoughts of another API. A native block of
another API is an error: what it says cannot be said here. The order of blocks is the pieces'.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from stemcache.errors import UsageError
from stemcache.prompt.message import Message, Speaker
from stemcache.prompt.part import (
    Document,
    Image,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_blank,
)
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.render.tools import check_name
from stemcache.prompt.segment import Segment
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = [
    "Block",
    "SystemText",
    "Turn",
    "beside_of",
    "inside_of",
    "merged",
    "object_of",
    "system_texts",
    "tools_of",
    "turns_of",
    "where",
]


class Block(NamedTuple):
    """A piece that is sent."""

    place: int
    """Number of the piece: a mark behind it has the boundary `place + 1`."""
    piece: Piece
    part: Part


class SystemText(NamedTuple):
    """A text of the system section."""

    place: int
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, never empty."""

    speaker: Speaker
    blocks: tuple[Block, ...]


def tools_of(
    laid: Laid, api: Api, names: re.Pattern[str] | None = None
) -> tuple[tuple[int, Tool], ...]:
    """Tools with the numbers of their pieces, in the order laid.

    Raises UsageError for a name that the API refuses, or that is none of `names`.
    """
    found: list[tuple[int, Tool]] = []
    for place, piece in enumerate(laid.pieces):
        if isinstance(piece.source, Tool):
            check_name(piece.source, api, names)
            found.append((place, piece.source))
    return tuple(found)


def system_texts(laid: Laid, api: Api) -> tuple[SystemText, ...]:
    """Texts of the system section. Raises UsageError for anything else in it."""
    found: list[SystemText] = []
    for place, piece in enumerate(laid.pieces):
        if piece.section is not Section.SYSTEM:
            continue
        part = piece.part
        if not isinstance(part, Text):
            raise UsageError(
                f"{where(piece)} stands in the system section, which takes texts only; "
                "lay it in a message"
            )
        if not _is_blank(part, api):
            found.append(SystemText(place, part.text))
    return tuple(found)


def turns_of(laid: Laid, api: Api) -> tuple[Turn, ...]:
    """Messages by their numbers. Raises UsageError where there is none, and as the module says."""
    groups: list[tuple[int, Speaker, list[Block]]] = []
    for place, piece in enumerate(laid.pieces):
        if piece.section is not Section.MESSAGES:
            continue
        part = piece.part
        assert part is not None, "only a tool has no part, and tools are no messages"
        if not groups or groups[-1][0] != piece.message:
            source = piece.source
            speaker: Speaker = source.speaker if isinstance(source, Message) else "user"
            groups.append((piece.message, speaker, []))
        if _is_sent(part, piece, api):
            groups[-1][2].append(Block(place, piece, part))
    turns = tuple(Turn(speaker, tuple(blocks)) for _, speaker, blocks in groups if blocks)
    if not turns:
        raise UsageError(
            "a prompt has no message to answer; add one to the conversation, or a turn segment"
        )
    return turns


def merged(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Neighbours of one speaker as one turn: roles alternate."""
    joined: list[Turn] = []
    for turn in turns:
        if joined and joined[-1].speaker == turn.speaker:
            joined[-1] = Turn(turn.speaker, joined[-1].blocks + turn.blocks)
        else:
            joined.append(turn)
    return tuple(joined)


def inside_of(result: ToolResult) -> tuple[Text | Image | Document, ...]:
    """What a tool answered, without empty texts: nothing is nothing, however it is said."""
    return tuple(part for part in result.parts if not isinstance(part, Text) or part.text)


def where(piece: Piece) -> str:
    """A piece in words for errors: no text of the prompt's."""
    source = piece.source
    if isinstance(source, Tool):
        return f"tool {source.name!r}"
    kind = type(piece.part).__name__
    if isinstance(source, Segment):
        return f"the {kind} of segment {source.name!r}"
    return f"the {kind} in message {piece.message}"


def object_of(json: str, piece: Piece) -> dict[str, Any]:
    """A block that an API wrote, its members in the order received. Raises UsageError."""
    try:
        value = msgspec.json.decode(json)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise UsageError(
            f"{where(piece)} holds no JSON object; pass what the API's answer had, unchanged"
        )
    return value


def beside_of(part: Text | ToolCall, piece: Piece, api: Api) -> dict[str, Any]:
    """What this API wrote beside a text or a call; nothing where another did."""
    if part.beside is None or part.beside.api is not api:
        return {}
    return object_of(part.beside.json, piece)


def _is_sent(part: Part, piece: Piece, api: Api) -> bool:
    if isinstance(part, Native) and part.api is not api:
        raise UsageError(
            f"{where(piece)} is a block of {part.api}, which {api} has no word for; "
            "leave it out of the conversation, or go on with the API that wrote it"
        )
    if isinstance(part, Thinking):
        return part.api is api
    return not (isinstance(part, Text) and _is_blank(part, api))


def _is_blank(part: Text, api: Api) -> bool:
    if part.beside is not None and part.beside.api is api is Api.GENERATE:
        return False  # an empty text may carry the seal of a thought
    return is_blank(part.text, api)
