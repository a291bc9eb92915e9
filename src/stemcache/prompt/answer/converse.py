"""Bedrock's Converse as parts; bytes that its client wants become base64. Pure.

```
text              Text             toolUse     ToolCall     what it has beside id, name, input
reasoningContent  Thinking         toolResult  ToolResult   where its content is plain
image, document   by their bytes   cachePoint  nothing      all else  Native
```
"""

from collections.abc import Mapping
from typing import Any

from stemcache.prompt.conversation.native import (
    Turn,
    beside,
    compact,
    jsonable,
    listed,
    mapped,
    native,
    spoken,
    string,
    thought,
    worth_keeping,
)
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
from stemcache.wire.api import Api

__all__ = ["answer_parts", "turns"]

_API = Api.CONVERSE
_CALL = frozenset({"toolUseId", "name", "input"})
_DOCUMENTS = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}


def answer_parts(answer: Mapping[str, Any], where: str) -> tuple[Part, ...]:
    """The parts of a whole answer. Linear. Raises UsageError naming the place."""
    at = f"{where}.output"
    output = mapped(jsonable(answer.get("output"), at), at)
    message = mapped(output.get("message"), f"{at}.message")
    found = _parts(message.get("content"), f"{at}.message")
    return tuple(filter(worth_keeping, found))


def turns(messages: list[Any]) -> list[Turn]:
    """The messages of a body. Linear. Raises UsageError naming the place."""
    return spoken(messages, _parts)


def _parts(content: Any, where: str) -> tuple[Part, ...]:
    made = []
    for i, block in enumerate(listed(content, f"{where}.content")):
        at = f"{where}.content[{i}]"
        given = mapped(block, at)
        kept = {
            name: value
            for name, value in given.items()
            if value is not None and name not in {"cachePoint", "SDK_UNKNOWN_MEMBER"}
        }
        if kept:
            made.append(_part(kept, at))
    return tuple(made)


def _part(block: dict[str, Any], where: str) -> Part:
    match block:
        case {"text": str(text), **rest} if not rest:
            return Text(text)
        case {"toolUse": dict(call), **rest} if not rest:
            given = call.get("input")
            return ToolCall(
                id=string(call, "toolUseId", f"{where}.toolUse"),
                name=string(call, "name", f"{where}.toolUse"),
                arguments=compact(
                    mapped({} if given is None else given, f"{where}.toolUse.input"), where
                ),
                beside=beside(_API, call, _CALL, where),
            )
        case {"reasoningContent": dict(inner), **rest} if not rest:
            return Thinking(api=_API, json=_reasoning(inner, where))
        case {"toolResult": dict(result), **rest} if not rest:
            return _result(block, result, where)
        case {"image": _, **rest} | {"document": _, **rest} if not rest:
            media = _media(block)
            if media is not None:
                return media
    return native(_API, block, where, ())


def _reasoning(inner: dict[str, Any], where: str) -> str:
    made = thought(_API, inner, where, ())
    return f'{{"reasoningContent":{made.json}}}'


def _result(block: dict[str, Any], result: dict[str, Any], where: str) -> ToolResult | Native:
    parts = _parts(result.get("content"), f"{where}.toolResult")
    inside = tuple(part for part in parts if isinstance(part, Text | Image | Document))
    known = result.keys() <= {"toolUseId", "content", "status"}
    if len(inside) < len(parts) or not known:
        return native(_API, block, where, ())
    return ToolResult(
        call_id=string(result, "toolUseId", f"{where}.toolResult"),
        parts=tuple(part for part in inside if part != Text("")),
        failed=result.get("status") == "error",
    )


def _media(block: dict[str, Any]) -> Image | Document | None:
    match block:
        case {"image": {"format": str(form), "source": {"bytes": str(data), **more}, **rest}} if (
            not rest and not more
        ):
            return Image(media_type=f"image/{form}", base64=data)
        case {
            "document": {
                "format": str(form),
                "name": str(name),
                "source": {"bytes": str(data), **more},
                **rest,
            }
        } if form in _DOCUMENTS and not rest and not more:
            return Document(media_type=_DOCUMENTS[form], name=name, base64=data)
    return None
