"""What is rendered is read back: the same texts in the same order, marks where they were placed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.part import Document, Image, Text, Thinking, ToolCall, ToolResult
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.render import chat as render_chat
from stemcache.prompt.render import converse as render_converse
from stemcache.prompt.render import generate as render_generate
from stemcache.prompt.render import messages as render_messages
from stemcache.prompt.render import responses as render_responses
from stemcache.prompt.tool import Tool
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.span import Span
from stemcache.wire.api import Api
from tests.prompt.rendering import UNMARKED, Case, cases, marked

MARKED = [Api.MESSAGES, Api.CHAT, Api.RESPONSES, Api.CONVERSE]
RENDERERS = {
    Api.MESSAGES: render_messages.render,
    Api.CHAT: render_chat.render,
    Api.RESPONSES: render_responses.render,
    Api.CONVERSE: render_converse.render,
    Api.GENERATE: render_generate.render,
}
OPTIONS: dict[Api, dict[str, Any]] = {Api.MESSAGES: {"max_tokens": 5}}


def rendered(api: Api, laid: Laid, placement: Placement) -> dict[str, Any]:
    """A body of the API."""
    return RENDERERS[api](laid, placement, model="m", options=OPTIONS.get(api, {}))


def sent(laid: Laid, api: Api) -> list[tuple[int, Piece]]:
    """Pieces that have to be in the body."""
    blank = str.strip if api in {Api.MESSAGES, Api.CONVERSE} else str
    return [
        (place, piece)
        for place, piece in enumerate(laid.pieces)
        if not (isinstance(piece.part, Thinking) and piece.part.api is not api)
        and not (isinstance(piece.part, Text) and not blank(piece.part.text))
    ]


def spans_by_piece(laid: Laid, api: Api, spans: Iterator[Span]) -> Iterator[tuple[int, list[Span]]]:
    """Each piece has one span, but for a chat's results, whose parts have one each."""
    for place, piece in sent(laid, api):
        count = 1
        if api is Api.CHAT and isinstance(piece.part, ToolResult):
            count = max(1, len(said_in(piece.part)))
        yield place, [next(spans) for _ in range(count)]


def said_in(result: ToolResult) -> list[Text | Image | Document]:
    """What is in a result: empty texts say nothing."""
    return [part for part in result.parts if part != Text("")]


def check_said(piece: Piece, spans: list[Span], api: Api) -> None:
    """A span says what its piece says."""
    part, span = piece.part, spans[0]
    match part:
        case None:
            assert isinstance(piece.source, Tool)
            assert json.dumps(piece.source.name) in span.text
        case Text():
            assert span.text == part.text
        case Image() | Document():
            assert part.base64 is not None
            assert part.base64 in span.text
        case ToolCall():
            check_call(part, span, api)
        case ToolResult() if len(said_in(part)) == 1 and span.label:
            (only,) = said_in(part)
            assert isinstance(only, Text)
            assert span.text == only.text
            assert part.call_id in span.label
        case ToolResult():
            assert part.call_id in f"{span.text} {span.label}"
            said = [one.text for one in part.parts if isinstance(one, Text)]
            whole = "".join(one.text for one in spans)
            for text in said:
                kept = text.strip() if api is Api.MESSAGES else text
                assert (
                    not kept
                    or json.dumps(text, ensure_ascii=False)[1:-1] in whole
                    or (text in whole)
                )


def check_call(call: ToolCall, span: Span, api: Api) -> None:
    """Strings are the bytes that the model wrote; objects have its members in its order."""
    given = json.loads(span.text)
    holder = given["function"] if api is Api.CHAT else given
    match api:
        case Api.CHAT | Api.RESPONSES:
            assert holder["arguments"] == call.arguments
            assert given["id" if api is Api.CHAT else "call_id"] == call.id
            return
        case Api.MESSAGES:
            made, name = given["input"], given["id"]
        case Api.CONVERSE:
            made, name = given["toolUse"]["input"], given["toolUse"]["toolUseId"]
        case _:
            made, name = given["functionCall"]["args"], given["functionCall"]["id"]
    assert name == call.id
    assert json.dumps(made) == json.dumps(json.loads(call.arguments))


@pytest.mark.parametrize("api", [*MARKED, Api.GENERATE])
@given(data=st.data())
def test_what_is_rendered_is_read_back(api: Api, data: st.DataObject) -> None:
    """Every piece that is sent is one span, in the order laid; marks stand behind their pieces."""
    case, placement = (
        (data.draw(cases(api)), UNMARKED) if api is Api.GENERATE else data.draw(marked(api))
    )
    body = rendered(api, case.laid, placement)
    spans = list(prompt_of(body, api).spans)
    left = iter(spans)
    ttls: list[tuple[int, str | None]] = []
    for place, found in spans_by_piece(case.laid, api, left):
        check_said(case.laid.pieces[place], found, api)
        ttls += [(place + 1, one.marker.ttl) for one in found if one.marker is not None]
    assert next(left, None) is None
    assert ttls == [(one.boundary, one.ttl) for one in placement.marks]
    assert marks_in(body) == len(placement.marks)


def marks_in(node: Any) -> int:
    """How many marks a body has, whatever its API calls them."""
    if isinstance(node, dict):
        names = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
        return sum(name in node for name in names) + sum(map(marks_in, node.values()))
    return sum(map(marks_in, node)) if isinstance(node, list) else 0


@pytest.mark.parametrize("api", MARKED)
@given(data=st.data())
def test_a_mark_that_moves_on_changes_nothing_else(api: Api, data: st.DataObject) -> None:
    """Two placements of one prompt differ in their marks only: what is read back is equal."""
    case, placement = data.draw(marked(api))
    other = data.draw(st.sampled_from(placement.marks)) if placement.marks else None
    fewer = replace(placement, marks=tuple(one for one in placement.marks if one != other))
    first = prompt_of(rendered(api, case.laid, placement), api)
    second = prompt_of(rendered(api, case.laid, fewer), api)

    def content(span: Span) -> tuple[object, ...]:
        return span.section, span.role, span.kind, span.text, span.label, span.message

    if api is Api.RESPONSES and not fewer.marks:
        return
    assert [content(span) for span in first.spans] == [content(span) for span in second.spans]


@pytest.mark.parametrize("api", [*MARKED, Api.GENERATE])
@given(data=st.data())
def test_equal_values_give_equal_bytes(api: Api, data: st.DataObject) -> None:
    """Whatever order the members of schemas were made in."""
    case: Case = data.draw(cases(api))

    def turned(piece: Piece) -> Piece:
        if not isinstance(piece.source, Tool):
            return piece
        schema = dict(reversed(list(piece.source.schema.items())))
        return replace(piece, source=replace(piece.source, schema=schema))

    other = Laid(tuple(turned(piece) for piece in case.laid.pieces))
    assert other == case.laid
    assert repr(rendered(api, other, UNMARKED)) == repr(rendered(api, case.laid, UNMARKED))
