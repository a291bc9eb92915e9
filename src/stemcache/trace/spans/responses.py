"""OpenAI's Responses.

```
instructions            SYSTEM     TEXT            /instructions
input "…"               MESSAGES   TEXT            /input
input[i]  a message                by its parts    /input/i, /input/i/content/j
          *_call                   TOOL_USE        /input/i
          *_call_output            TOOL_RESULT     /input/i, where one text /input/i/output
          reasoning                THINKING        /input/i
```
Messages of the roles system and developer that lead the input are the section SYSTEM. What
`previous_response_id`, `conversation` and `prompt` name is not in the body: they are parameters.
"""

from collections.abc import Mapping
from typing import Any

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.chat import request_ttl, role_of, text_part
from stemcache.trace.spans.draft import Draft, Parts, finished, structure
from stemcache.trace.spans.marker import breakpoint_of, marker_of
from stemcache.trace.spans.messages import block_draft
from stemcache.trace.spans.span import Span, SpanKind
from stemcache.trace.spans.tools import tool_spans
from stemcache.wire.section import Section

__all__ = ["responses_parts"]

_ELSEWHERE = ("previous_response_id", "conversation", "prompt")
_CALLS = frozenset({"mcp_approval_request"})
_OUTPUTS = frozenset({"mcp_approval_response"})


def responses_parts(body: Mapping[str, Any]) -> Parts:
    """Linear in the body. Raises BadBodyError where neither input nor a name of one is there."""
    given, instructions = body.get("input"), body.get("instructions")
    taken: set[str] = set()
    system: list[Span] = []
    rest: list[Span] = []
    if isinstance(instructions, str):
        taken.add("instructions")
        at = "/instructions"
        draft = Draft(at, at, "system", SpanKind.TEXT, instructions, instructions)
        system.extend(finished(Section.SYSTEM, -1, [draft]))
    if isinstance(given, str):
        taken.add("input")
        draft = Draft("/input", "/input", "user", SpanKind.TEXT, given, given)
        rest.extend(finished(Section.MESSAGES, 0, [draft]))
    elif isinstance(given, list):
        taken.add("input")
        ttl = request_ttl(body)
        leading = True
        for i, item in enumerate(given):
            role = role_of(item)
            leading = leading and role in {"system", "developer"}
            drafts = _item_drafts(item, f"/input/{i}", role, ttl)
            section, spans = (Section.SYSTEM, system) if leading else (Section.MESSAGES, rest)
            spans.extend(finished(section, i, drafts))
    elif not taken and all(body.get(name) is None for name in _ELSEWHERE):
        raise BadBodyError("input is neither a text nor a list")
    tools = body.get("tools")
    found = {Section.SYSTEM: system, Section.MESSAGES: rest}
    if isinstance(tools, list):
        taken.add("tools")
        found[Section.TOOLS] = tool_spans(tools, "/tools")
    return Parts(found, frozenset(taken), marker_of(body, ""))


def _item_drafts(item: Any, pointer: str, role: str, ttl: str | None) -> list[Draft]:
    if not isinstance(item, dict):
        return [block_draft(item, pointer, "")]
    kind = item.get("type")
    if isinstance(kind, str) and kind != "message":
        return [_typed(item, kind, pointer, ttl)]
    content = item.get("content")
    if isinstance(content, list):
        drafts = [
            _part(part, f"{pointer}/content/{j}", role, ttl) for j, part in enumerate(content)
        ]
    elif isinstance(content, str):
        drafts = [Draft(pointer, f"{pointer}/content", role, SpanKind.TEXT, content, item)]
    elif content is None:
        drafts = []
    else:
        drafts = [block_draft(content, f"{pointer}/content", role)]
    if not drafts:
        drafts = [Draft(pointer, pointer, role, SpanKind.TEXT, "", item)]
    marker = breakpoint_of(item, pointer, ttl)
    if marker is not None and drafts[-1].marker is None:
        drafts[-1] = drafts[-1]._replace(marker=marker)
    return drafts


def _part(part: Any, pointer: str, role: str, ttl: str | None) -> Draft:
    draft = text_part(part, pointer, role, SpanKind.TEXT, ttl)
    if draft is None:
        draft = block_draft(part, pointer, role)
        if draft.marker is None and isinstance(part, dict):
            draft = draft._replace(marker=breakpoint_of(part, pointer, ttl))
    return draft


def _typed(item: dict[str, Any], kind: str, pointer: str, ttl: str | None) -> Draft:
    """An item that is no message."""
    marker = breakpoint_of(item, pointer, ttl)
    if kind.endswith("_call_output") or kind in _OUTPUTS:
        output, call = item.get("output"), item.get("call_id")
        inside = f"{pointer}/output"
        if isinstance(output, list) and output:
            if marker is None and isinstance(output[-1], dict):
                marker = breakpoint_of(output[-1], f"{inside}/{len(output) - 1}", ttl)
            part = text_part(output[0], f"{inside}/0", "tool", SpanKind.TOOL_RESULT, ttl)
            if len(output) == 1 and part is not None and part.kind is SpanKind.TOOL_RESULT:
                output, inside = part.text, part.text_pointer
        if isinstance(output, str):
            label = call if isinstance(call, str) else ""
            return Draft(pointer, inside, "tool", SpanKind.TOOL_RESULT, output, item, marker, label)
        return structure(pointer, "tool", SpanKind.TOOL_RESULT, item, marker)
    if kind.endswith("_call") or kind in _CALLS:
        return structure(pointer, "assistant", SpanKind.TOOL_USE, item, marker)
    if kind == "reasoning":
        return structure(pointer, "assistant", SpanKind.THINKING, item, marker)
    return structure(pointer, "", SpanKind.OTHER, item, marker)
