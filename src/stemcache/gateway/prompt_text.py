"""The bytes of a request that an engine makes its prompt of, in the order in which it does.

```
chat         settings │ tools │ messages
messages     settings │ tools │ system │ messages
responses    settings │ tools │ instructions │ input
completions  prompt
```
Each part is raw JSON as the client wrote it, so the same client's next turn begins with the same
bytes; the last goes without its closing bracket or quote. `cache_control` marks are left out:
clients move them to the end at every turn, and they are no part of the prompt. So is a system
block that one client changes at every request, and that engines take out.
"""

import re
from typing import Any

import msgspec

from stemcache.core.namespace import fields_digestible
from stemcache.gateway.prompt_chat import BILLING_LINE
from stemcache.gateway.prompt_members import decode_any
from stemcache.wire.api import Api

__all__ = ["MARK", "text_parts"]

Fields = dict[str, msgspec.Raw]

_BLOCKS = msgspec.json.Decoder(list[msgspec.Raw])
_SETTINGS = (
    "chat_template",
    "chat_template_kwargs",
    "documents",
    "previous_response_id",
    "prompt",
    "reasoning_effort",
)
"""What else a template may write at the prompt's beginning; `prompt` is a stored one's name."""
_PARTS: dict[Api, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    Api.CHAT: (_SETTINGS, ("tools",), "messages"),
    Api.MESSAGES: (_SETTINGS, ("tools", "system"), "messages"),
    Api.RESPONSES: (_SETTINGS, ("tools", "instructions"), "input"),
    Api.COMPLETIONS: ((), (), "prompt"),
}
_NAMES = frozenset(_SETTINGS)
MARK = b'"cache_control"'
"""In a body that has any such marks."""
_MARKED = re.compile(rb'"cache_control"\s*:\s*(?:\{[^{}]*\}|null)\s*(,?\s*)')
_SPACE = b" \t\r\n"


def text_parts(api: Api, fields: Fields, *, marked: bool = True) -> list[bytes | memoryview] | None:
    """The prompt's bytes in parts, the last of them the one that grows with a conversation.

    None where the body has no prompt of this API. `marked`: whether the body has `cache_control`
    at all; where it has not, the last part is a view of the body, and the cost is nil.
    """
    if api not in _PARTS:
        return None
    settings, heads, last = _PARTS[api]
    talk = fields.get(last)
    if talk is None:
        return None
    parts: list[bytes | memoryview] = [_settings(fields, settings)]
    for name in heads:
        if name in fields:
            head = _unbilled(fields[name]) if name == "system" else bytes(fields[name])
            parts.append(_unmarked(head))
    growing = memoryview(talk)[:-1]
    parts.append(_unmarked(growing.tobytes()) if marked else growing)
    return parts


def _settings(fields: Fields, names: tuple[str, ...]) -> bytes:
    if not names or _NAMES.isdisjoint(fields):
        return b""
    given = [name for name in names if name in fields]
    return fields_digestible(*(part for n in given for part in (n.encode(), bytes(fields[n]))))


def _unbilled(system: msgspec.Raw) -> bytes:
    """A list of blocks without the one that changes at every request."""
    text = bytes(system)
    if BILLING_LINE.encode() not in text:
        return text
    try:
        blocks = _BLOCKS.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    kept = [bytes(block) for block in blocks if not _is_billed(decode_any(block))]
    # As a client writes lists that uses no space; one that does is served by its own lists alone.
    return b"[" + b",".join(kept) + b"]"


def _is_billed(block: Any) -> bool:
    text = block.get("text") if isinstance(block, dict) else None
    return isinstance(text, str) and text.startswith(BILLING_LINE)


def _unmarked(text: bytes) -> bytes:
    """Without the members named `cache_control`, and one comma each.

    Inside of a string the name's quotes would be escaped, so what is found is a member's name, or
    a string of just this text, which no colon follows.
    """
    at = text.find(MARK)
    if at < 0:
        return text
    kept = []
    start = 0
    while at >= 0:
        found = _MARKED.match(text, at)
        end = at + len(MARK)
        if found is not None:
            before = at
            while before > start and text[before - 1] in _SPACE:
                before -= 1
            comma_before = before > start and text[before - 1 : before] == b","
            end = found.end() if not comma_before else found.start(1)
            kept.append(text[start : before - 1 if comma_before else at])
            start = end
        at = text.find(MARK, end)
    kept.append(text[start:])
    return b"".join(kept)
