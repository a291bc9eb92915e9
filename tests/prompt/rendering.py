"""Prompts laid out by hand, and at random, for tests of renderers."""

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from stemcache.prompt.marks.placement import Placed, Placement
from stemcache.prompt.message import Message
from stemcache.prompt.part import (
    Document,
    Image,
    Native,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.segment import Segment, static, turn
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api
from stemcache.wire.section import Section

PNG = b64encode(b"\x89PNG").decode()
PDF = b64encode(b"%PDF-").decode()
SEARCH = Tool(
    name="search",
    description="Finds pages.",
    schema={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
)
THOUGHTS: dict[Api, dict[str, Any]] = {
    Api.MESSAGES: {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    Api.CHAT: {"reasoning_content": "hm"},
    Api.RESPONSES: {"type": "reasoning", "id": "rs_1", "summary": []},
    Api.GENERATE: {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
    Api.CONVERSE: {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
}


def thought(api: Api) -> Thinking:
    """A thought as the API writes it."""
    return Thinking(api=api, json=json.dumps(THOUGHTS[api], separators=(",", ":")))


def native(api: Api, **members: object) -> Native:
    """A block of one API."""
    return Native(api=api, json=json.dumps(members, separators=(",", ":")))


def call(name: str = "a", arguments: str = '{"q":"x"}', **more: Any) -> ToolCall:
    """A call of `search`."""
    return ToolCall(id=name, name="search", arguments=arguments, **more)


def result(name: str = "a", *parts: Text | Image | Document, failed: bool = False) -> ToolResult:
    """What `search` answered."""
    return ToolResult(call_id=name, parts=parts, failed=failed)


def user(*parts: Part | str) -> Message:
    """What a user says."""
    return Message("user", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def assistant(*parts: Part | str) -> Message:
    """What a model says."""
    return Message("assistant", tuple(Text(p) if isinstance(p, str) else p for p in parts))


def laid(
    *messages: Message,
    tools: Sequence[Tool] = (),
    system: Sequence[Segment] = (),
    behind: Sequence[Segment] = (),
) -> Laid:
    """Pieces in the order of most providers; segments behind are a message of their own."""
    base = Piece(
        section=Section.TOOLS, stability=Stability.STATIC, tokens=1, source=SEARCH, part=None
    )
    pieces = [replace(base, source=tool) for tool in tools]
    for segment in system:
        pieces += [
            replace(base, section=Section.SYSTEM, source=segment, part=part)
            for part in segment.parts
        ]
    sources: list[tuple[Segment | Message, int]] = [(one, i) for i, one in enumerate(messages)]
    sources += [(one, len(messages)) for one in behind]
    for source, number in sources:
        pieces += [
            replace(base, section=Section.MESSAGES, source=source, part=part, message=number)
            for part in source.parts
        ]
    return Laid(tuple(pieces))


def marks(*placed: int | tuple[int, str | None], implicit: bool = True) -> Placement:
    """A placement with these boundaries, and lifetimes where they are given."""
    made = [Placed(one) if isinstance(one, int) else Placed(*one) for one in placed]
    return Placement(
        marks=tuple(made),
        expected_usd=None,
        expected_read_tokens=0.0,
        expected_written_tokens=0.0,
        implicit=implicit,
    )


UNMARKED = marks()
RULES = static("rules", "Be brief.")


@dataclass(frozen=True)
class Case:
    """A prompt that an API can say, and where marks may stand in it."""

    laid: Laid
    carriers: tuple[int, ...]
    """Numbers of the pieces behind which a mark may stand."""


_SAID = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
"""Shorter than the name of any mark: words of the source are drawn too, and tests count marks."""
_WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
_ID = st.text("abcXYZ019_-", min_size=1, max_size=6)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 10**20) | st.floats(-1e9, 1e9) | _SAID,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_SAID, inner, max_size=3),
    max_leaves=4,
)
_OBJECT = st.dictionaries(_SAID, _JSON, max_size=3)
_BYTES = st.binary(min_size=1, max_size=6).map(lambda data: b64encode(data).decode())
_IMAGE = st.builds(Image, media_type=st.just("image/png"), base64=_BYTES)
_FILE = st.builds(Document, media_type=st.just("application/pdf"), name=_SAID, base64=_BYTES)
_TEXT = st.builds(Text, _SAID)


@st.composite
def cases(draw: st.DrawFn, api: Api) -> Case:
    """Anything that the API can say: parallel calls, thoughts, media, blanks, foreign thoughts."""
    tools = [
        Tool(name=name, description=draw(_SAID), schema={**draw(_OBJECT), "type": "object"})
        for name in sorted(draw(st.sets(st.from_regex(r"[a-z]{1,5}", fullmatch=True), max_size=3)))
    ]
    system = [
        static(f"s{i}", *draw(st.lists(_TEXT, min_size=1, max_size=2)))
        for i in range(draw(st.integers(0, 2)))
    ]
    messages = [user(draw(_WORDS))]
    for _ in range(draw(st.integers(0, 3))):
        messages += draw(_exchange(api))
    behind = [turn("now", draw(_WORDS))] if draw(st.booleans()) else []
    made = laid(*messages, tools=tools, system=system, behind=behind)
    return Case(made, tuple(i for i, piece in enumerate(made.pieces) if _carries(piece, api)))


@st.composite
def _exchange(draw: st.DrawFn, api: Api) -> list[Message]:
    """What a model says, the results if it calls, and what a user says then."""
    thoughts: list[Part] = draw(st.lists(st.sampled_from([thought(api)]), max_size=1))
    other = Api.MESSAGES if api is not Api.MESSAGES else Api.GENERATE
    thoughts += draw(st.lists(st.sampled_from([thought(other)]), max_size=1))
    texts: list[Part] = list(draw(st.lists(_TEXT, max_size=2)))
    ids = draw(st.lists(_ID, max_size=3, unique=True))
    calls: list[Part] = [
        ToolCall(id=one, name="search", arguments=json.dumps(draw(_OBJECT))) for one in ids
    ]
    messages = [assistant(*thoughts, *texts, *calls)]
    inner = _TEXT if api is Api.CHAT else _TEXT | _IMAGE | _FILE
    results: list[Part] = [
        ToolResult(
            call_id=one,
            name="search",
            parts=tuple(draw(st.lists(inner, max_size=2))),
            failed=draw(st.booleans()),
        )
        for one in draw(st.permutations(ids))
    ]
    apart: bool = draw(st.booleans())
    if results and apart:
        messages.append(user(*results))
        results = []
    said: list[Part] = list(draw(st.lists(_TEXT | _IMAGE | _FILE, max_size=3)))
    messages.append(user(*results, *said, draw(_WORDS)))
    return messages


def _carries(piece: Piece, api: Api) -> bool:
    part, section = piece.part, piece.section
    if isinstance(part, Thinking) or (isinstance(part, Text) and not part.text.strip()):
        return False
    if api in {Api.CHAT, Api.RESPONSES} and (
        section is Section.TOOLS or isinstance(part, ToolCall)
    ):
        return False
    assistants = isinstance(piece.source, Message) and piece.source.speaker == "assistant"
    return not (api is Api.RESPONSES and assistants)


@st.composite
def marked(draw: st.DrawFn, api: Api) -> tuple[Case, Placement]:
    """A case with up to four marks, longer lifetimes first."""
    case = draw(cases(api))
    long, short = ("12h", "30m") if api in {Api.CHAT, Api.RESPONSES} else ("1h", "5m")
    chosen = draw(st.sets(st.sampled_from(case.carriers), max_size=4)) if case.carriers else set()
    longs = draw(st.integers(0, 4))
    placed = [
        (place + 1, long if i < longs else draw(st.sampled_from([short, None])))
        for i, place in enumerate(sorted(chosen))
    ]
    return case, marks(*placed, implicit=draw(st.booleans()))
