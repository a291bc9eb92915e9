"""Gemini's generateContent, in camel case as its API writes it and in snake case as SDKs do.

```
tools[i].functionDeclarations[j]       TOOL, as is every other member of tools[i]
systemInstruction "…" │ .parts[j]      SYSTEM
contents "…" │ [i].parts[j]            text, functionCall, functionResponse, inlineData, fileData
```
`cachedContent` names an object that holds the beginning of the prompt: it is a parameter.
"""

from collections.abc import Mapping
from typing import Any

from stemcache.trace.spans.bad_body import BadBodyError
from stemcache.trace.spans.draft import Draft, Parts, finished, structure
from stemcache.trace.spans.span import Span, SpanKind
from stemcache.trace.spans.structure import escaped
from stemcache.wire.section import Section

__all__ = ["generate_parts"]

_MOST_TOOLS = 1_000
_ROLES = {"model": "assistant", "function": "tool"}
_KINDS = {
    "functionCall": SpanKind.TOOL_USE,
    "function_call": SpanKind.TOOL_USE,
    "executableCode": SpanKind.TOOL_USE,
    "executable_code": SpanKind.TOOL_USE,
    "functionResponse": SpanKind.TOOL_RESULT,
    "function_response": SpanKind.TOOL_RESULT,
    "codeExecutionResult": SpanKind.TOOL_RESULT,
    "code_execution_result": SpanKind.TOOL_RESULT,
}
_MEDIA = {"inlineData": "data", "inline_data": "data"}
_FILES = {"fileData": "fileUri", "file_data": "file_uri"}


def generate_parts(body: Mapping[str, Any]) -> Parts:
    """Linear in the body. Raises BadBodyError where there are no contents."""
    contents = body.get("contents")
    if not isinstance(contents, str | list | dict):
        raise BadBodyError("contents is neither a list nor a text")
    taken = {"contents"}
    spans: dict[Section, list[Span]] = {}
    tools = body.get("tools")
    if isinstance(tools, list):
        taken.add("tools")
        drafts = [draft for i, tool in enumerate(tools) for draft in _tool(tool, f"/tools/{i}")]
        spans[Section.TOOLS] = list(finished(Section.TOOLS, -1, drafts))
    system: list[Span] = []
    for name in ("systemInstruction", "system_instruction"):
        if isinstance(body.get(name), str | list | dict):
            taken.add(name)
            drafts = _content_drafts(body[name], f"/{name}", "system")
            system.extend(finished(Section.SYSTEM, -1, drafts))
    spans[Section.SYSTEM] = system
    found: list[Span] = []
    if isinstance(contents, list):
        for i, content in enumerate(contents):
            drafts = _content_drafts(content, f"/contents/{i}", "user")
            found.extend(finished(Section.MESSAGES, i, drafts))
    else:
        found.extend(finished(Section.MESSAGES, 0, _content_drafts(contents, "/contents", "user")))
    spans[Section.MESSAGES] = found
    return Parts(spans, frozenset(taken))


def _tool(tool: Any, pointer: str) -> list[Draft]:
    """The functions that one entry declares, and the provider's own tools beside them."""
    if not isinstance(tool, dict) or len(tool) > _MOST_TOOLS:
        return [structure(pointer, "", SpanKind.OTHER, tool)]
    drafts: list[Draft] = []
    for name, given in tool.items():
        here = f"{pointer}/{escaped(name)}"
        if name in {"functionDeclarations", "function_declarations"} and isinstance(given, list):
            drafts += [
                structure(f"{here}/{j}", "", SpanKind.TOOL, function)
                for j, function in enumerate(given)
            ]
        else:
            drafts.append(structure(here, "", SpanKind.TOOL, given)._replace(label=name))
    return drafts


def _content_drafts(content: Any, pointer: str, role: str) -> list[Draft]:
    """A content object, a text, a part by itself, or a list of parts."""
    at, parts = pointer, content
    if isinstance(content, dict) and ("parts" in content or "role" in content):
        given = content.get("role")
        if isinstance(given, str) and role != "system":
            role = _ROLES.get(given, given)
        at, parts = f"{pointer}/parts", content.get("parts")
        if isinstance(parts, str):
            return [Draft(pointer, at, role, SpanKind.TEXT, parts, content)]
        if isinstance(parts, dict):
            return [_part(parts, at, role)]
    if isinstance(parts, list):
        drafts = [_part(part, f"{at}/{i}", role) for i, part in enumerate(parts)]
    elif parts is None:
        drafts = []
    else:
        drafts = [_part(parts, at, role)]
    return drafts or [Draft(pointer, pointer, role, SpanKind.TEXT, "", content)]


def _part(part: Any, pointer: str, role: str) -> Draft:
    if not isinstance(part, dict):
        if isinstance(part, str):
            return Draft(pointer, pointer, role, SpanKind.TEXT, part, part)
        return structure(pointer, role, SpanKind.OTHER, part)
    text = part.get("text")
    if isinstance(text, str):
        kind = SpanKind.THINKING if part.get("thought") else SpanKind.TEXT
        seal = part.get("thoughtSignature") or part.get("thought_signature")
        return Draft(
            pointer,
            f"{pointer}/text",
            role,
            kind,
            text,
            part,
            None,
            seal if isinstance(seal, str) else "",
        )
    for name, kind in _KINDS.items():
        if name in part:
            return structure(pointer, role, kind, part)
    for name, member in (_MEDIA | _FILES).items():
        blob = part.get(name)
        if isinstance(blob, dict):
            return _media(part, name, member, pointer, role)
    return structure(pointer, role, SpanKind.OTHER, part)


def _media(part: dict[str, Any], name: str, member: str, pointer: str, role: str) -> Draft:
    """Media that are one string are that string, which is not copied."""
    blob = part[name]
    media = blob.get("mimeType") or blob.get("mime_type")
    label = media if isinstance(media, str) else ""
    kind = SpanKind.IMAGE if label.startswith("image/") else SpanKind.DOCUMENT
    text = blob.get(member)
    if len(part) == 1 and isinstance(text, str):
        at = f"{pointer}/{name}/{member}"
        return Draft(pointer, at, role, kind, text, part, None, label)
    return structure(pointer, role, kind, part)
