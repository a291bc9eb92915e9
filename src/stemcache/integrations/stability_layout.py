"""What `stemcache.prompt` made, as passages: loaded only for builders that give one."""

import dataclasses
import json
from typing import Any

from stemcache.integrations.stability_prompt import Passage
from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.layout import Layout
from stemcache.prompt.message import Message
from stemcache.prompt.part import Text
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.request import Plan
from stemcache.prompt.segment import Segment
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.trace.spans.prompt import ORDER
from stemcache.wire.section import Section

__all__ = ["laid_passages"]


def laid_passages(value: object) -> tuple[tuple[Passage, ...], int] | None:
    """The passages, and how many are declared to stay longer than a turn; None for all else."""
    laid = _laid(value)
    if laid is None:
        return None
    passages: list[Passage] = []
    stable = 0
    numbers = dict.fromkeys(Section, 0)
    for piece in laid.pieces:
        pointer = f"/{piece.section}/{numbers[piece.section]}"
        numbers[piece.section] += 1
        passages.append(_passage(piece, pointer))
        if piece.stability is not Stability.TURN:
            stable = len(passages)
    return tuple(passages), stable


def _laid(value: object) -> Laid | None:
    if isinstance(value, Plan):
        return value.laid
    if isinstance(value, Laid):
        return value
    if isinstance(value, Layout):
        return value.lay(ORDER)
    if isinstance(value, Conversation):
        value = value.messages
    if isinstance(value, list | tuple) and all(isinstance(one, Message) for one in value):
        return Layout([]).lay(ORDER, value)
    return None


def _passage(piece: Piece, pointer: str) -> Passage:
    source, part = piece.source, piece.part
    section = str(piece.section)
    if isinstance(source, Tool):
        tool = {"name": source.name, "description": source.description, "schema": source.schema}
        return Passage(section, pointer, f"tool; {source.name}", _json(tool))
    whose = source.name if isinstance(source, Segment) else source.speaker
    head = f"{type(part).__name__.lower()}; {whose}"
    if isinstance(part, Text):
        return Passage(section, pointer, head, part.text)
    assert part is not None, "only tools have no part"
    return Passage(section, pointer, head, _json(dataclasses.asdict(part)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=dict)
