"""The bytes of a request that an engine makes its prompt of, in the order in which it does.

```
chat       settings │ tools │ message │ message │ …
messages   settings │ tools │ system  │ message │ …
responses  settings │ tools │ instructions │ item │ item │ …
completions settings │ prompt
```
Each part is raw JSON as the client wrote it, so the same client's next turn begins with the same
bytes. `cache_control` marks are left out: clients move them to the end at every turn, and they are
no part of the prompt.
"""

import re
from collections.abc import Sequence

import msgspec

from stemcache.core.namespace import fields_digestible
from stemcache.wire.api import Api

__all__ = ["text_pieces"]

Fields = dict[str, msgspec.Raw]

_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_HEADS: dict[Api, tuple[str, ...]] = {
    Api.CHAT: ("tools",),
    Api.MESSAGES: ("tools", "system"),
    Api.RESPONSES: ("tools", "instructions"),
    Api.COMPLETIONS: (),
}
_TALKS = {Api.CHAT: "messages", Api.MESSAGES: "messages", Api.RESPONSES: "input"}
_SETTINGS = (
    "chat_template",
    "chat_template_kwargs",
    "documents",
    "previous_response_id",
    "prompt",
    "reasoning_effort",
)
"""What else a template may write at the prompt's beginning."""
_MARK = b'"cache_control"'
_MARKS = re.compile(rb'(?:,\s*"cache_control"\s*:\s*(?:\{[^{}]*\}|null))')
_FIRST_MARKS = re.compile(rb'(?<=\{)\s*"cache_control"\s*:\s*(?:\{[^{}]*\}|null)\s*,\s*')


def text_pieces(api: Api | None, fields: Fields) -> list[bytes | memoryview] | None:
    """The parts, the messages one each; None where the body has no prompt of this API."""
    if api is None or api not in _HEADS:
        return None
    if api is Api.COMPLETIONS:
        prompt = fields.get("prompt")
        return [_settings(fields, ()), _bare(prompt)] if prompt is not None else None
    talk = fields.get(_TALKS[api])
    if talk is None:
        return None
    pieces: list[bytes | memoryview] = [_settings(fields, _SETTINGS)]
    pieces += [_unmarked(fields[name]) for name in _HEADS[api] if name in fields]
    items = _items(talk)
    if items is None:
        pieces.append(_bare(talk))
    elif _MARK in bytes(talk):
        pieces += [_unmarked(item) for item in items]
    else:
        pieces += map(memoryview, items)
    return pieces


def _items(talk: msgspec.Raw) -> list[msgspec.Raw] | None:
    try:
        return _LIST.decode(talk)
    except (msgspec.DecodeError, RecursionError):
        return None


def _settings(fields: Fields, names: Sequence[str]) -> bytes:
    given = [name for name in names if name in fields]
    if not given:
        return b""
    return fields_digestible(*(part for n in given for part in (n.encode(), bytes(fields[n]))))


def _bare(raw: msgspec.Raw) -> bytes:
    # Without the closing quote or bracket, a longer prompt begins with a shorter one's bytes.
    return bytes(raw)[:-1]


def _unmarked(raw: msgspec.Raw) -> bytes:
    text = bytes(raw)
    if _MARK not in text:
        return text
    # Inside of a string the quotes would be escaped: what is found is a member.
    return _FIRST_MARKS.sub(b"", _MARKS.sub(b"", text))
