"""A body of any client as a layout, and our marks on it in place of its own.

```
body ──► spans ──► Laid ──► place ──► the same body, other marks
```
The text stays byte for byte, so that two modes differ by their marks and by nothing else.
"""

import copy
from typing import Any

import numpy as np

from stemcache.lint.keys import key_values
from stemcache.lint.scale import BYTES_PER_TOKEN, Scale
from stemcache.lint.shaping import shape_of
from stemcache.prompt.marks.placement import Placement
from stemcache.prompt.message import Message
from stemcache.prompt.part import Text, ToolCall, ToolResult
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.segment import static
from stemcache.prompt.stability import Stability
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape
from stemcache.trace.spans.prompt import prompt_of
from stemcache.trace.spans.sketch import TextMemo, sketch
from stemcache.trace.spans.span import Prompt, Span, SpanKind
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["laid_of", "marked", "shaped"]

_SYSTEM = static("system", "x")
_RUNS: dict[SpanKind, Any] = {
    SpanKind.TOOL_USE: "tool_use",
    SpanKind.TOOL_RESULT: "tool_result",
}
_TEXT = {Api.MESSAGES: "text", Api.CHAT: "text", Api.RESPONSES: "input_text"}


def shaped(body: dict[str, Any], api: Api, rule: Rule, memo: TextMemo) -> tuple[Prompt, Shape]:
    """The body as the provider's cache sees it, at four bytes a token."""
    prompt = prompt_of(body, api, rule.order)
    digests = sketch(prompt, memo)
    total = int(digests.span_bytes.sum())
    scale = Scale(total_bytes=total, total_tokens=round(total / BYTES_PER_TOKEN), reported=False)
    keys = key_values(rule, prompt, None)
    return prompt, shape_of(prompt, digests, keys=keys, scale=scale, output_tokens=None)


def laid_of(prompt: Prompt, shape: Shape, api: Api) -> Laid:
    """One piece a span. Tools and system prompt are static, all else is history."""
    tokens = np.diff([0, *(place.end_tokens for place in shape.positions)]).tolist()
    return Laid(
        tuple(_piece(span, count, api) for span, count in zip(prompt.spans, tokens, strict=True))
    )


def _piece(span: Span, tokens: int, api: Api) -> Piece:
    history = span.section is Section.MESSAGES
    part: Any = Text("x")
    if span.kind is SpanKind.TOOL_USE:
        part = ToolCall(id="x", name="x", arguments="{}")
    elif span.kind is SpanKind.TOOL_RESULT:
        part = ToolResult(call_id="x", parts=())
    # OpenAI takes a breakpoint on what is no answer and no tool.
    markable = api is Api.MESSAGES or (
        span.section is not Section.TOOLS and span.role != "assistant" and bool(span.text)
    )
    return Piece(
        section=span.section,
        stability=Stability.SESSION if history else Stability.STATIC,
        tokens=tokens,
        source=Message("assistant" if span.role == "assistant" else "user", (part,))
        if history
        else _SYSTEM,
        part=part,
        message=span.message,
        ends_message=span.ends_message,
        run=_RUNS.get(span.kind),
        markable=markable,
    )


def marked(body: dict[str, Any], prompt: Prompt, placement: Placement) -> dict[str, Any]:
    """The body with the placement's marks and no others."""
    plain: dict[str, Any] = _stripped(copy.deepcopy(body))
    if prompt.api is not Api.MESSAGES and not placement.implicit:
        plain["prompt_cache_options"] = {"mode": "explicit"}
    for mark in placement.marks:
        span = prompt.spans[mark.boundary - 1]
        ttl = {} if mark.ttl is None else {"ttl": mark.ttl}
        block = _block(plain, span, _TEXT[prompt.api])
        if prompt.api is Api.MESSAGES:
            block["cache_control"] = {"type": "ephemeral", **ttl}
        else:
            block["prompt_cache_breakpoint"] = {"mode": "explicit", **ttl}
    return plain


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        dropped = ("cache_control", "prompt_cache_breakpoint", "prompt_cache_options")
        return {key: _stripped(inner) for key, inner in value.items() if key not in dropped}
    return [_stripped(item) for item in value] if isinstance(value, list) else value


def _block(body: dict[str, Any], span: Span, kind: str) -> dict[str, Any]:
    """The block of a span; a plain string becomes a list of one block, which is the same text."""
    node: Any = body
    above: tuple[Any, Any] = body, ""
    for part in span.pointer.strip("/").split("/"):
        key: Any = int(part) if isinstance(node, list) else part
        above = node, key
        node = node[key]
    block: dict[str, Any] = node if isinstance(node, dict) else {"type": kind, "text": node}
    if block is not node:
        above[0][above[1]] = [block]
    name = "output" if block.get("type") == "function_call_output" else "content"
    if "role" in block or name == "output":
        if isinstance(block[name], str):
            block[name] = [{"type": kind, "text": block[name]}]
        inner: dict[str, Any] = block[name][-1]
        return inner
    return block
