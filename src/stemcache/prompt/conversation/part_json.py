"""Messages as canonical bytes, and back: what digests are made of, and what files hold.

```
Message("user", (Text("hi"),))  ◄──►  {"speaker":"user","parts":[{"type":"text","text":"hi"}]}
```
Equal messages have equal bytes and different ones different bytes, for ever: members stand in one
order, those that are as by default are left out, and nothing hangs on hash seeds or locales.
Changing this form is a version of the file's.
"""

import json
from typing import Any, Literal, assert_never

import msgspec

from stemcache.prompt.message import Message
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

__all__ = ["message_bytes", "message_of"]


class _Wire(msgspec.Struct, tag_field="type", forbid_unknown_fields=True, omit_defaults=True):
    """Base of the parts as they are written."""


class _Native(_Wire, tag="native"):
    api: Api
    json: str


class _Thinking(_Wire, tag="thinking"):
    api: Api
    json: str


class _Text(_Wire, tag="text"):
    text: str
    beside: _Native | None = None


class _Image(_Wire, tag="image"):
    media_type: str
    base64: str | None = None
    url: str | None = None


class _Document(_Wire, tag="document"):
    media_type: str
    name: str = ""
    base64: str | None = None
    url: str | None = None


class _ToolCall(_Wire, tag="tool_call"):
    id: str
    name: str
    arguments: str
    beside: _Native | None = None


class _ToolResult(_Wire, tag="tool_result"):
    call_id: str
    parts: list[_Text | _Image | _Document]
    name: str = ""
    failed: bool = False


_AnyPart = _Text | _Image | _Document | _ToolCall | _ToolResult | _Thinking | _Native


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    speaker: Literal["user", "assistant"]
    parts: list[_AnyPart]


def _plain(text: object) -> str:
    """Texts of a class of their own, as frameworks have, are kept as texts."""
    assert isinstance(text, str), "parts have seen to their types"
    return str.__str__(text)


_encode = msgspec.json.Encoder(enc_hook=_plain).encode


def message_bytes(message: Message) -> bytes:
    """One JSON object on one line. Linear. Messages and parts have seen to their types."""
    made = _Message(message.speaker, [_wire(part) for part in message.parts])
    try:
        return _encode(made)
    except UnicodeEncodeError:  # half a surrogate pair, which a model can write
        value = msgspec.to_builtins(made, enc_hook=_plain)
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def message_of(value: Any) -> Message:
    """A message from its decoded object. Raises msgspec.ValidationError, which names the place."""
    made = msgspec.convert(value, _Message)
    return Message(made.speaker, tuple(_part(part) for part in made.parts))


def _wire(part: Part) -> _AnyPart:
    match part:
        case Text():
            return _text(part)
        case Image():
            return _image(part)
        case Document():
            return _document(part)
        case ToolCall():
            return _ToolCall(part.id, part.name, part.arguments, _beside(part.beside))
        case ToolResult():
            inside = [_content(one) for one in part.parts]
            return _ToolResult(part.call_id, inside, part.name, part.failed)
        case Thinking():
            return _Thinking(part.api, part.json)
        case Native():
            return _Native(part.api, part.json)
    assert_never(part)


def _content(part: Text | Image | Document) -> _Text | _Image | _Document:
    match part:
        case Text():
            return _text(part)
        case Image():
            return _image(part)
        case Document():
            return _document(part)
    assert_never(part)


def _text(part: Text) -> _Text:
    return _Text(part.text, _beside(part.beside))


def _image(part: Image) -> _Image:
    return _Image(part.media_type, part.base64, part.url)


def _document(part: Document) -> _Document:
    return _Document(part.media_type, part.name, part.base64, part.url)


def _beside(native: Native | None) -> _Native | None:
    return None if native is None else _Native(native.api, native.json)


def _part(made: _AnyPart) -> Part:
    match made:
        case _Text() | _Image() | _Document():
            return _content_of(made)
        case _ToolCall():
            return ToolCall(
                id=made.id,
                name=made.name,
                arguments=made.arguments,
                beside=_native_of(made.beside),
            )
        case _ToolResult():
            inside = tuple(_content_of(one) for one in made.parts)
            return ToolResult(
                call_id=made.call_id, parts=inside, name=made.name, failed=made.failed
            )
        case _Thinking():
            return Thinking(api=made.api, json=made.json)
        case _Native():
            return Native(api=made.api, json=made.json)


def _content_of(made: _Text | _Image | _Document) -> Text | Image | Document:
    match made:
        case _Text():
            return Text(made.text, _native_of(made.beside))
        case _Image():
            return Image(media_type=made.media_type, base64=made.base64, url=made.url)
        case _Document():
            return Document(
                media_type=made.media_type, name=made.name, base64=made.base64, url=made.url
            )


def _native_of(made: _Native | None) -> Native | None:
    return None if made is None else Native(api=made.api, json=made.json)
