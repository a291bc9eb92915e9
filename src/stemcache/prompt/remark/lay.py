"""A body that somebody else made, laid out as if we had: one piece a span, told by what is seen.

```
tools      static                       a tool may have been made for one user: who knows
system     static │ session │ turn      by what is volatile at its ends: nothing, an id, a clock
messages   session                      a history that grows; the newest message is part of it
           turn                         a text of the newest with a clock that will be left out
```
Only for placing marks: what a renderer needs is not in the pieces. A clock in the midst of a long
text is not seen: then a mark may be written that nobody reads, as one is in a text of other words.
"""

from collections.abc import Mapping

from stemcache.prompt.count import count_bytes, part_tokens
from stemcache.prompt.marks.markable import is_markable
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
)
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.remark.changing import ANSWERS, changing, fits
from stemcache.prompt.segment import Segment
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.provider.shape import Run
from stemcache.trace.spans.span import Prompt, Span, SpanKind
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["laid_of"]

_TOOL = Tool(name="tool", description="", schema={})
_SYSTEM = Segment(name="system", stability=Stability.STATIC, parts=())
_RUNS: Mapping[SpanKind, Run] = {
    SpanKind.TOOL_USE: "tool_use",
    SpanKind.TOOL_RESULT: "tool_result",
}


def laid_of(prompt: Prompt) -> Laid:
    """Piece i is span i. Linear; what is volatile is looked for at texts' ends (`changing`)."""
    going = changing(prompt)
    return Laid(
        tuple(_piece(prompt.api, span, changes=at in going) for at, span in enumerate(prompt.spans))
    )


def _piece(api: Api, span: Span, *, changes: bool) -> Piece:
    speaker: Speaker = "assistant" if span.role in ANSWERS else "user"
    part = None if span.section is Section.TOOLS else _part(api, span)
    return Piece(
        section=span.section,
        stability=_stability(span, changes=changes),
        tokens=count_bytes(span.text) or 1 if part is None else _tokens(part, span),
        source=_source(span, speaker),
        part=part,
        message=span.message if span.section is Section.MESSAGES else -1,
        ends_message=span.ends_message,
        run=_RUNS.get(span.kind),
        markable=_is_writable(api, span)
        and is_markable(api, span.section, part, speaker, ends=span.ends_message),
    )


def _source(span: Span, speaker: Speaker) -> Tool | Segment | Message:
    match span.section:
        case Section.TOOLS:
            return _TOOL
        case Section.SYSTEM:
            return _SYSTEM
        case Section.MESSAGES:
            return Message(speaker, ())


def _stability(span: Span, *, changes: bool) -> Stability:
    if span.section is Section.MESSAGES:
        return Stability.TURN if changes else Stability.SESSION
    return Stability.STATIC if span.section is Section.TOOLS else fits(span.text)


def _part(api: Api, span: Span) -> Part:
    """Of the kind that the span is; its content only where tokens are counted by it."""
    match span.kind:
        case SpanKind.TEXT:
            return Text(span.text)
        case SpanKind.TOOL_USE:
            return ToolCall(id="", name="", arguments=span.text)
        case SpanKind.TOOL_RESULT:
            return ToolResult(call_id="", parts=(Text(span.text),))
        case SpanKind.IMAGE:
            return Image(media_type="image/*", url="")
        case SpanKind.DOCUMENT:
            return Document(media_type="", base64=span.text)
        case SpanKind.THINKING:
            return Thinking(api=api, json=span.text)
        case _:
            return Native(api=api, json=span.text)


def _tokens(part: Part, span: Span) -> int:
    return part_tokens(part) if span.text or isinstance(part, Image) else 1


def _is_writable(api: Api, span: Span) -> bool:
    """Whether the body has a place for a mark there, as it is or as a list of one text."""
    if not isinstance(span.value, Mapping):
        return isinstance(span.value, str) and api is Api.MESSAGES and span.pointer == "/system"
    if api is Api.MESSAGES or api is Api.CONVERSE:
        return True
    if api is Api.RESPONSES and span.kind is SpanKind.TOOL_RESULT:
        if span.value.get("type") != "function_call_output":
            return False  # what the API's own tools put out is a string, and stays one
    elif span.role == "function":
        return False  # of chats before tools: its content is a string
    return span.text_pointer != span.pointer or span.kind in {SpanKind.IMAGE, SpanKind.DOCUMENT}
