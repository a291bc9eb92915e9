"""OpenAI's Chat Completions and all who took it over.

```
messages[i]  reasoning_content      THINKING      /messages/i/reasoning_content
             content "…"            TEXT          /messages/i
             content[j]             by its type   /messages/i/content/j
             tool_calls[j]          TOOL_USE      /messages/i/tool_calls/j
```
Spans of a message stand in this order, which is the one that models write. Messages of the roles
system and developer that lead are the section SYSTEM. Texts of the roles tool and function are
TOOL_RESULT. Content blocks of Anthropic's kinds, which gateways pass on, are read as there.
"""

from collections.abc import Mapping
from typing import Any

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.draft import Draft, Parts, finished, structure
from stemcache.trace.spans.marker import breakpoint_of, marker_of
from stemcache.trace.spans.messages import block_draft
from stemcache.trace.spans.span import Marker, Span, SpanKind
from stemcache.trace.spans.tools import tool_spans
from stemcache.wire.section import Section

__all__ = ["chat_parts", "request_ttl", "role_of", "text_part"]

_TEXTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
}
_MEDIA = {
    "image_url": SpanKind.IMAGE,
    "input_image": SpanKind.IMAGE,
    "file": SpanKind.DOCUMENT,
    "input_file": SpanKind.DOCUMENT,
    "input_audio": SpanKind.OTHER,
    "audio_url": SpanKind.OTHER,
    "video_url": SpanKind.OTHER,
}
_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")


def chat_parts(body: Mapping[str, Any]) -> Parts:
    """Linear in the body. Raises BadBodyError where there is no list of messages."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise BadBodyError("messages is no list")
    taken = {"messages"}
    tools: list[Span] = []
    for name in ("tools", "functions"):
        given = body.get(name)
        if isinstance(given, list):
            taken.add(name)
            tools.extend(tool_spans(given, f"/{name}"))
    ttl = request_ttl(body)
    system: list[Span] = []
    rest: list[Span] = []
    leading = True
    for i, message in enumerate(messages):
        role = role_of(message)
        leading = leading and role in {"system", "developer"}
        drafts = _message_drafts(message, f"/messages/{i}", role, ttl)
        if leading:
            system.extend(finished(Section.SYSTEM, i, drafts))
        else:
            rest.extend(finished(Section.MESSAGES, i, drafts))
    spans = {Section.TOOLS: tools, Section.SYSTEM: system, Section.MESSAGES: rest}
    return Parts(spans, frozenset(taken), marker_of(body, ""))


def request_ttl(body: Mapping[str, Any]) -> str | None:
    """The time to live that OpenAI's breakpoints have where they name none."""
    options = body.get("prompt_cache_options")
    ttl = options.get("ttl") if isinstance(options, dict) else None
    return ttl if isinstance(ttl, str) else None


def role_of(message: Any) -> str:
    """Who speaks; empty where that is not said."""
    role = message.get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else ""


def _message_drafts(message: Any, pointer: str, role: str, ttl: str | None) -> list[Draft]:
    if not isinstance(message, dict):
        return [block_draft(message, pointer, "")]
    label = _label(message)
    kind = SpanKind.TOOL_RESULT if role in {"tool", "function"} else SpanKind.TEXT
    drafts: list[Draft] = []
    if role == "assistant":
        _add_thoughts(message, pointer, drafts)
    content = message.get("content")
    if isinstance(content, str):
        if content:
            drafts.append(
                Draft(pointer, f"{pointer}/content", role, kind, content, message, None, label)
            )
    elif isinstance(content, list):
        for j, part in enumerate(content):
            draft = _part(part, f"{pointer}/content/{j}", role, kind, ttl)
            drafts.append(draft._replace(label=label) if label and not draft.label else draft)
    elif content is not None:
        drafts.append(block_draft(content, f"{pointer}/content", role))
    if role == "assistant":
        _add_calls(message, pointer, drafts)
    if not drafts:
        at = f"{pointer}/content" if isinstance(content, str) else pointer
        drafts.append(Draft(pointer, at, role, kind, "", message, None, label))
    if "cache_control" in message or "prompt_cache_breakpoint" in message:
        marker = breakpoint_of(message, pointer, ttl)
        if marker is not None and drafts[-1].marker is None:
            drafts[-1] = drafts[-1]._replace(marker=marker)
    return drafts


def _label(message: dict[str, Any]) -> str:
    name, call = message.get("name"), message.get("tool_call_id")
    if name is None and call is None:
        return ""
    return " ".join(part for part in (name, call) if isinstance(part, str))


def _add_thoughts(message: dict[str, Any], pointer: str, drafts: list[Draft]) -> None:
    for name in _THOUGHTS:
        thought = message.get(name)
        if not thought:
            continue
        here = f"{pointer}/{name}"
        if isinstance(thought, str):
            drafts.append(Draft(here, here, "assistant", SpanKind.THINKING, thought, thought))
        else:
            drafts.append(structure(here, "assistant", SpanKind.THINKING, thought))


def _add_calls(message: dict[str, Any], pointer: str, drafts: list[Draft]) -> None:
    refusal, calls = message.get("refusal"), message.get("tool_calls")
    if refusal and isinstance(refusal, str):
        here = f"{pointer}/refusal"
        drafts.append(Draft(here, here, "assistant", SpanKind.TEXT, refusal, refusal))
    if isinstance(calls, list):
        for j, call in enumerate(calls):
            here = f"{pointer}/tool_calls/{j}"
            marker = marker_of(call, here) if isinstance(call, dict) else None
            drafts.append(structure(here, "assistant", SpanKind.TOOL_USE, call, marker))
    legacy = message.get("function_call")
    if legacy is not None:
        here = f"{pointer}/function_call"
        drafts.append(structure(here, "assistant", SpanKind.TOOL_USE, legacy))
    if message.get("audio") is not None:
        here = f"{pointer}/audio"
        drafts.append(structure(here, "assistant", SpanKind.OTHER, message["audio"]))


def _part(part: Any, pointer: str, role: str, kind: SpanKind, ttl: str | None) -> Draft:
    draft = text_part(part, pointer, role, kind, ttl)
    if draft is None:
        draft = block_draft(part, pointer, role)
        if draft.marker is None and isinstance(part, dict):
            draft = draft._replace(marker=breakpoint_of(part, pointer, ttl))
    return draft


def text_part(part: Any, pointer: str, role: str, kind: SpanKind, ttl: str | None) -> Draft | None:
    """A text, image or file as OpenAI's APIs write it; None where it is of another type."""
    named = part.get("type") if isinstance(part, dict) else None
    if not isinstance(named, str):
        return None
    member = _TEXTS.get(named)
    if member is not None:
        text = part.get(member)
        if not isinstance(text, str):
            return None
        marker = breakpoint_of(part, pointer, ttl)
        return Draft(pointer, f"{pointer}/{member}", role, kind, text, part, marker)
    media = _MEDIA.get(named)
    if media is None:
        return None
    return _media(part, pointer, role, media, breakpoint_of(part, pointer, ttl))


def _media(
    part: dict[str, Any], pointer: str, role: str, kind: SpanKind, marker: Marker | None
) -> Draft:
    """An image that is a URL is that text, which is not copied; its detail is the label."""
    given = part.get("image_url")
    holder, at = (given, f"{pointer}/image_url/url") if isinstance(given, dict) else (part, "")
    url = given.get("url") if isinstance(given, dict) else given
    if not isinstance(url, str):
        return structure(pointer, role, kind, part, marker)
    detail = holder.get("detail")
    return Draft(
        pointer,
        at or f"{pointer}/image_url",
        role,
        kind,
        url,
        part,
        marker,
        detail if isinstance(detail, str) else "",
    )
