"""Anthropic's Messages, also as Bedrock's InvokeModel and Vertex carry them.

```
tools[i]                                                  TOOL
system "…" │ system[i].text                               TEXT, section SYSTEM
messages[i].content "…" │ .content[j]                     by the block's type
cache_control of the body                                 Prompt.automatic
```
A text is compared as such wherever one string is all that a block says: `text`, `thinking`, the
data of an image, a tool's result that is a string or one text. So content that is a string equals
one text block. All else is compared as JSON.
"""

from collections.abc import Mapping
from typing import Any

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.draft import Draft, Parts, finished, structure
from stemcache.trace.spans.marker import marker_of
from stemcache.trace.spans.span import Marker, Span, SpanKind
from stemcache.trace.spans.tools import tool_spans
from stemcache.wire.section import Section

__all__ = ["block_draft", "messages_parts"]

_MEDIA = {"image": SpanKind.IMAGE, "document": SpanKind.DOCUMENT}
_PLAIN_MEDIA = frozenset({"type", "source", "cache_control"})


def messages_parts(body: Mapping[str, Any]) -> Parts:
    """Linear in the body. Raises BadBodyError where there is no list of messages."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise BadBodyError("messages is no list")
    taken = {"messages"}
    spans: dict[Section, list[Span]] = {}
    tools, system = body.get("tools"), body.get("system")
    if isinstance(tools, list):
        taken.add("tools")
        spans[Section.TOOLS] = tool_spans(tools, "/tools")
    if isinstance(system, str | list):
        taken.add("system")
        drafts = _content_drafts(system, "/system", "/system", "system", None)
        spans[Section.SYSTEM] = list(finished(Section.SYSTEM, -1, drafts))
    found: list[Span] = []
    for i, message in enumerate(messages):
        found.extend(finished(Section.MESSAGES, i, _message_drafts(message, f"/messages/{i}")))
    spans[Section.MESSAGES] = found
    automatic = marker_of(body, "")
    return Parts(spans, frozenset(taken), automatic)


def _message_drafts(message: Any, pointer: str) -> list[Draft]:
    if not isinstance(message, dict):
        return [block_draft(message, pointer, "")]
    role = message.get("role")
    role = role if isinstance(role, str) else ""
    content = message.get("content")
    if isinstance(content, str):
        return [Draft(pointer, f"{pointer}/content", role, SpanKind.TEXT, content, message)]
    return _content_drafts(content, pointer, f"{pointer}/content", role, message)


def _content_drafts(
    content: Any, pointer: str, content_pointer: str, role: str, value: Any
) -> list[Draft]:
    if isinstance(content, list):
        if content:
            return [
                block_draft(block, f"{content_pointer}/{i}", role)
                for i, block in enumerate(content)
            ]
    elif isinstance(content, str):
        return [Draft(pointer, content_pointer, role, SpanKind.TEXT, content, content)]
    elif content is not None:
        return [block_draft(content, content_pointer, role)]
    if value is None:
        return []
    return [Draft(pointer, pointer, role, SpanKind.TEXT, "", value)]


def block_draft(block: Any, pointer: str, role: str) -> Draft:
    """One content block. Types that are not known become OTHER; raises BadBodyError as JSON."""
    if not isinstance(block, dict):
        if isinstance(block, str):
            return Draft(pointer, pointer, role, SpanKind.TEXT, block, block)
        return structure(pointer, role, SpanKind.OTHER, block)
    marker = marker_of(block, pointer) if "cache_control" in block else None
    named = block.get("type")
    kind = named if isinstance(named, str) else ""
    if kind == "text":
        text = block.get("text")
        if isinstance(text, str):
            return Draft(pointer, f"{pointer}/text", role, SpanKind.TEXT, text, block, marker)
        return structure(pointer, role, SpanKind.TEXT, block, marker)
    if kind.endswith("tool_use"):
        return structure(pointer, role, SpanKind.TOOL_USE, block, marker)
    if kind.endswith("tool_result"):
        return _result(block, pointer, role, marker)
    if kind in _MEDIA:
        return _media(block, pointer, role, _MEDIA[kind], marker)
    if kind in {"thinking", "redacted_thinking"}:
        return _thinking(block, pointer, role, marker)
    found = SpanKind.DOCUMENT if kind == "search_result" else SpanKind.OTHER
    return structure(pointer, role, found, block, marker)


def _result(block: dict[str, Any], pointer: str, role: str, marker: Marker | None) -> Draft:
    """A result that is one text is that text, and its call's id the label.

    A marker on a block inside of the result is the result's where it has none of its own.
    """
    content, inside = block.get("content"), f"{pointer}/content"
    text: Any = content
    if isinstance(content, list):
        if marker is None:
            marker = _nested_marker(content, inside)
        if len(content) == 1 and isinstance(content[0], dict) and content[0].get("type") == "text":
            text, inside = content[0].get("text"), f"{inside}/0/text"
    if not isinstance(text, str):
        return structure(pointer, role, SpanKind.TOOL_RESULT, block, marker)
    name = block.get("tool_use_id")
    label = name if isinstance(name, str) else ""
    if block.get("is_error"):
        label += " error"
    return Draft(pointer, inside, role, SpanKind.TOOL_RESULT, text, block, marker, label)


def _nested_marker(content: list[Any], pointer: str) -> Marker | None:
    found = None
    for i, inner in enumerate(content):
        if isinstance(inner, dict) and "cache_control" in inner:
            found = marker_of(inner, f"{pointer}/{i}") or found
    return found


def _media(
    block: dict[str, Any], pointer: str, role: str, kind: SpanKind, marker: Marker | None
) -> Draft:
    """Media that are nothing but one string are that string, which is not copied."""
    source = block.get("source")
    if block.keys() <= _PLAIN_MEDIA and isinstance(source, dict):
        for name in ("data", "url", "file_id"):
            text = source.get(name)
            if isinstance(text, str):
                label = source.get("media_type")
                return Draft(
                    pointer,
                    f"{pointer}/source/{name}",
                    role,
                    kind,
                    text,
                    block,
                    marker,
                    label if isinstance(label, str) else "",
                )
    return structure(pointer, role, kind, block, marker)


def _thinking(block: dict[str, Any], pointer: str, role: str, marker: Marker | None) -> Draft:
    for name in ("thinking", "data"):
        text = block.get(name)
        if isinstance(text, str):
            seal = block.get("signature")
            return Draft(
                pointer,
                f"{pointer}/{name}",
                role,
                SpanKind.THINKING,
                text,
                block,
                marker,
                seal if isinstance(seal, str) else "",
            )
    return structure(pointer, role, SpanKind.THINKING, block, marker)
