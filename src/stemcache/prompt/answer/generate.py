"""Gemini's generateContent as parts, in the API's camel case or in SDKs' snake case. Pure.

```
text              Text        its thoughtSignature beside it; alone with an empty text: Thinking
thought           Thinking
functionCall      ToolCall    its thoughtSignature beside it; an id that is missing is ""
functionResponse  ToolResult  where the response is a result or error of texts, else Native
inlineData        Image, Document                fileData, executableCode, …   Native
```
"""

from collections.abc import Mapping
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.conversation.native import (
    Turn,
    beside,
    compact,
    jsonable,
    listed,
    mapped,
    native,
    opened,
    string,
    thought,
    unreadable,
    worth_keeping,
)
from stemcache.prompt.part import Document, Image, Part, Text, ToolCall, ToolResult
from stemcache.wire.api import Api

__all__ = ["answer_parts", "camel", "turns"]

_API = Api.GENERATE
_LEAD = ("text", "thought", "functionCall", "functionResponse", "thoughtSignature")
_TEXT = frozenset({"text"})
_CALL = frozenset({"functionCall"})
_NAMES = {
    "code_execution_result": "codeExecutionResult",
    "executable_code": "executableCode",
    "file_data": "fileData",
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "media_resolution": "mediaResolution",
    "thought_signature": "thoughtSignature",
    "video_metadata": "videoMetadata",
}
_BLOB = {"mime_type": "mimeType", "display_name": "displayName", "file_uri": "fileUri"}


def answer_parts(answer: Mapping[str, Any], where: str) -> tuple[Part, ...]:
    """The parts of a whole answer. Linear. Raises UsageError naming the place."""
    at = f"{where}.candidates"
    given = answer.get("candidates")
    candidates = listed(jsonable([] if given is None else given, at), at)
    if not candidates:
        raise _blocked(answer, where)
    if len(candidates) != 1:
        raise unreadable(at, f"has {len(candidates)} candidates", "ask for one, and give that")
    content = mapped(candidates[0], f"{at}[0]").get("content")
    parts = mapped({} if content is None else content, f"{at}[0].content").get("parts")
    found = _parts([] if parts is None else parts, f"{at}[0].content")
    return tuple(filter(worth_keeping, found))


def _blocked(answer: Mapping[str, Any], where: str) -> UsageError:
    """The error for an answer without candidates, which a refused prompt has."""
    feedback = answer.get("promptFeedback", answer.get("prompt_feedback"))
    told = camel(opened(feedback, f"{where}.promptFeedback")) if feedback is not None else {}
    reason = jsonable(told.get("blockReason", told.get("block_reason")), where)
    if not isinstance(reason, str):
        return unreadable(f"{where}.candidates", "has 0 candidates", "give the answer as it came")
    return UsageError(
        f"{where} has no candidates: the prompt was blocked, and its blockReason is "
        f"{reason[:40]!r}; change what was asked, nothing was answered to it"
    )


def turns(messages: list[Any]) -> list[Turn]:
    """The contents of a body. Linear. Raises UsageError naming the place."""
    made: list[Turn] = []
    for i, given in enumerate(messages):
        where = f"contents[{i}]"
        content = mapped(jsonable(given, where), where)
        parts = _parts(content.get("parts"), where)
        role = content.get("role", "user")
        if role == "model":
            made.append(Turn("assistant", tuple(filter(worth_keeping, parts)), where))
        elif role in ("user", "function", None):
            made.append(Turn("user", parts, where))
        else:
            raise unreadable(
                f"{where}.role", "is neither user nor model", "put instructions into a segment"
            )
    return made


def camel(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part with the API's names, nulls left out."""
    return {_NAMES.get(name, name): value for name, value in part.items() if value is not None}


def _parts(given: Any, where: str) -> tuple[Part, ...]:
    return tuple(
        _part(camel(mapped(one, f"{where}.parts[{i}]")), f"{where}.parts[{i}]")
        for i, one in enumerate(listed(given, f"{where}.parts"))
    )


def _part(part: dict[str, Any], where: str) -> Part:
    match part:
        case {"thought": True} | {"text": "", "thoughtSignature": _}:
            return thought(_API, part, where, _LEAD)
        case {"text": str(text)}:
            return Text(text, beside(_API, part, _TEXT | {"thought"}, where))
        case {"functionCall": dict(call)}:
            return _call(part, call, where)
        case {"functionResponse": dict(response)} if len(part) == 1:
            result = _result(response)
            if result is not None:
                return result
        case {"inlineData": blob} if len(part) == 1:
            media = _media(blob)
            if media is not None:
                return media
    made = {name: _inner(value) for name, value in part.items()}
    return native(_API, made, where, _LEAD)


def _inner(value: Any) -> Any:
    """The names inside of a part as the API has them; what a function gets or gives stays."""
    if not isinstance(value, dict):
        return value
    members: dict[str, Any] = value
    return {_BLOB.get(name, name): one for name, one in members.items() if one is not None}


def _call(part: dict[str, Any], call: dict[str, Any], where: str) -> ToolCall:
    if call.get("partialArgs") or call.get("partial_args") or call.get("willContinue"):
        raise UsageError(
            f"{where}.functionCall is a piece of a call; "
            "give the answer once it is whole, or ask for whole calls"
        )
    arguments, name = call.get("args"), call.get("id")
    given = mapped({} if arguments is None else arguments, f"{where}.functionCall.args")
    return ToolCall(
        id=name if isinstance(name, str) else "",
        name=string(call, "name", f"{where}.functionCall"),
        arguments=compact(given, where),
        beside=beside(_API, part, _CALL, where),
    )


def _result(response: dict[str, Any]) -> ToolResult | None:
    """None where more is said than a part has fields for."""
    match {name: value for name, value in response.items() if value is not None}:
        case {"name": str(name), "response": {"result": said, **others}, **rest} if not others:
            failed = False
        case {"name": str(name), "response": {"error": said, **others}, **rest} if not others:
            failed = True
        case _:
            return None
    call, given = rest.pop("id", ""), rest.pop("parts", [])
    texts = [said] if isinstance(said, str) and said else said or []
    if rest or not isinstance(call, str) or not _all(texts, str) or not _all(given, dict):
        return None
    media = [_media(camel(one).get("inlineData")) for one in given if len(camel(one)) == 1]
    inside = [one for one in media if one is not None]
    if len(inside) < len(given):
        return None
    parts = (*map(Text, texts), *inside)
    return ToolResult(call_id=call, name=name, parts=parts, failed=failed)


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(one, kind) for one in values)


def _media(blob: Any) -> Image | Document | None:
    match _inner(blob):
        case {"mimeType": str(media_type), "data": str(data), **rest} if not rest:
            if media_type.startswith("image/"):
                return Image(media_type=media_type, base64=data)
            if media_type in {"application/pdf", "text/plain"}:
                return Document(media_type=media_type, base64=data)
    return None
