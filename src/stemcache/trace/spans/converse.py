"""Bedrock's Converse.

```
system        {text}  {cachePoint}                     the marker of the span before it
toolConfig.tools {toolSpec}  {cachePoint}
messages[i].content {text} {toolUse} {toolResult} {image} {reasoningContent} {cachePoint}
```
A cachePoint is no span. One with nothing before it in its list, and one inside of a tool's result,
marks nothing: it stays among the parameters, under its pointer.
"""

from collections.abc import Mapping
from typing import Any

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.draft import Draft, Parts, finished, structure
from stemcache.trace.spans.span import Marker, Span, SpanKind
from stemcache.wire.section import Section

__all__ = ["converse_parts"]

_KINDS = {
    "toolUse": SpanKind.TOOL_USE,
    "image": SpanKind.IMAGE,
    "document": SpanKind.DOCUMENT,
    "searchResult": SpanKind.DOCUMENT,
    "reasoningContent": SpanKind.THINKING,
}


def converse_parts(body: Mapping[str, Any]) -> Parts:
    """Linear in the body. Raises BadBodyError where there is no list of messages."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise BadBodyError("messages is no list")
    taken = {"messages"}
    stray: dict[str, object] = {}
    spans: dict[Section, list[Span]] = {}
    config, system = body.get("toolConfig"), body.get("system")
    tools = config.get("tools") if isinstance(config, dict) else None
    if isinstance(config, dict) and isinstance(tools, list):
        taken.add("toolConfig")
        stray |= {f"/toolConfig/{name}": config[name] for name in config if name != "tools"}
        drafts = _drafts(tools, "/toolConfig/tools", "", SpanKind.TOOL, stray)
        spans[Section.TOOLS] = list(finished(Section.TOOLS, -1, drafts))
    if isinstance(system, str):
        drafts = [Draft("/system", "/system", "system", SpanKind.TEXT, system, system)]
    elif isinstance(system, list):
        drafts = _drafts(system, "/system", "system", SpanKind.OTHER, stray)
    else:
        drafts = []
    if isinstance(system, str | list):
        taken.add("system")
    spans[Section.SYSTEM] = list(finished(Section.SYSTEM, -1, drafts))
    found: list[Span] = []
    for i, message in enumerate(messages):
        here = f"/messages/{i}"
        found.extend(finished(Section.MESSAGES, i, _message_drafts(message, here, stray)))
    spans[Section.MESSAGES] = found
    return Parts(spans, frozenset(taken), stray=stray)


def _message_drafts(message: Any, pointer: str, stray: dict[str, object]) -> list[Draft]:
    if not isinstance(message, dict):
        return [structure(pointer, "", SpanKind.OTHER, message)]
    role, content = message.get("role"), message.get("content")
    role = role if isinstance(role, str) else ""
    at = f"{pointer}/content"
    if isinstance(content, str):
        return [Draft(pointer, at, role, SpanKind.TEXT, content, message)]
    if isinstance(content, list):
        drafts = _drafts(content, at, role, SpanKind.OTHER, stray)
    elif content is None:
        drafts = []
    else:
        drafts = [structure(at, role, SpanKind.OTHER, content)]
    return drafts or [Draft(pointer, pointer, role, SpanKind.TEXT, "", message)]


def _drafts(
    blocks: list[Any], pointer: str, role: str, default: SpanKind, stray: dict[str, object]
) -> list[Draft]:
    drafts: list[Draft] = []
    for i, block in enumerate(blocks):
        here = f"{pointer}/{i}"
        if isinstance(block, dict) and "cachePoint" in block:
            point = block["cachePoint"]
            ttl = point.get("ttl") if isinstance(point, dict) else None
            marker = Marker(f"{here}/cachePoint", ttl if isinstance(ttl, str) else None)
            if len(block) > 1:  # a block beside it, as some clients merge them
                drafts.append(_block(block, here, role, default, stray)._replace(marker=marker))
            elif drafts and drafts[-1].marker is None:
                drafts[-1] = drafts[-1]._replace(marker=marker)
            else:
                stray[f"{here}/cachePoint"] = point
            continue
        drafts.append(_block(block, here, role, default, stray))
    return drafts


def _block(
    block: Any, pointer: str, role: str, default: SpanKind, stray: dict[str, object]
) -> Draft:
    if not isinstance(block, dict):
        if isinstance(block, str):
            return Draft(pointer, pointer, role, SpanKind.TEXT, block, block)
        return structure(pointer, role, SpanKind.OTHER, block)
    text = block.get("text")
    if isinstance(text, str):
        return Draft(pointer, f"{pointer}/text", role, SpanKind.TEXT, text, block)
    if "toolResult" in block:
        return _result(block, pointer, role, stray)
    for name, kind in _KINDS.items():
        if name in block:
            return structure(pointer, role, kind, block)
    return structure(pointer, role, default, block)


def _result(block: dict[str, Any], pointer: str, role: str, stray: dict[str, object]) -> Draft:
    """A result that is one text is that text, and its call's id the label."""
    result = block["toolResult"]
    content = result.get("content") if isinstance(result, dict) else None
    if not isinstance(content, list):
        return structure(pointer, role, SpanKind.TOOL_RESULT, block)
    at = f"{pointer}/toolResult/content"
    kept = []
    for i, item in enumerate(content):
        if isinstance(item, dict) and "cachePoint" in item:
            stray[f"{at}/{i}/cachePoint"] = item["cachePoint"]
            if len(item) == 1:
                continue
        kept.append(i)
    if len(kept) == 1 and isinstance(content[kept[0]], dict):
        text = content[kept[0]].get("text")
        if isinstance(text, str):
            name, status = result.get("toolUseId"), result.get("status")
            label = name if isinstance(name, str) else ""
            if status == "error":
                label += " error"
            where = f"{at}/{kept[0]}/text"
            return Draft(pointer, where, role, SpanKind.TOOL_RESULT, text, block, None, label)
    return structure(pointer, role, SpanKind.TOOL_RESULT, block)
