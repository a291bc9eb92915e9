"""Names of a prompt's prefixes: equal where a provider's cache takes two prefixes for the same.

```
pieces         tools │ rules │ question │ answer │ now
names     7f    ab      9c       77         03      e5        by boundary, each of all before it
          └ provider, rule, model and API
parameters      ○       ○        ●          ●       ●         `tool_choice`: from messages on
```
A name is made of what is sent, not of where it stands: a history that was cut, a segment that was
edited or a tool that came in between has other names from there on. Marks are no content, nor is
whether a message ends, for then it would have another name when the next turn goes on with it.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from stemcache.prompt.canonical import canonical_json
from stemcache.prompt.conversation.part_json import message_bytes
from stemcache.prompt.message import Message, Speaker
from stemcache.prompt.piece import Laid, Piece
from stemcache.prompt.render.options import options_of
from stemcache.prompt.tool import Tool
from stemcache.provider.rule import Key, Rule
from stemcache.wire.api import Api
from stemcache.wire.section import Section

__all__ = ["prefixes_of"]

_BYTES = 16


def prefixes_of(
    laid: Laid, *, rule: Rule, model: str, api: Api, options: Mapping[str, Any]
) -> tuple[bytes, ...]:
    """A name of 16 bytes for each boundary, the empty prefix first. Linear in the prompt's bytes.

    `options` are the other members of the body: those that key the cache (`rule.keys`) or choose
    its server (`rule.routing_fields`) are in the names. Raises UsageError for what is no JSON.
    """
    seed = canonical_json([rule.provider, rule.name, model, api])
    name = _digest(seed.encode())
    names = [name]
    keyed = _keyed(rule, options_of(options, ()))
    for piece in laid.pieces:
        name = _digest(name, keyed[piece.section], *_content(piece))
        names.append(name)
    return tuple(names)


def _digest(*parts: bytes) -> bytes:
    """Of the parts, each with its length, so that no two lists of them read alike."""
    made = blake2b(digest_size=_BYTES)
    for part in parts:
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.digest()


def _content(piece: Piece) -> tuple[bytes, bytes]:
    where = f"{piece.section} {piece.message}".encode()
    source = piece.source
    if isinstance(source, Tool):
        definition = [source.name, source.description, source.schema]
        return where, canonical_json(definition).encode()
    assert piece.part is not None, "only tools have no part"
    speaker: Speaker = source.speaker if isinstance(source, Message) else "user"
    return where, message_bytes(Message(speaker, (piece.part,)))


def _keyed(rule: Rule, options: Mapping[str, Any]) -> Mapping[Section, bytes]:
    """By section, the values of all parameters whose change loses it."""
    routing = {
        field: value
        for field in rule.routing_fields
        if field.startswith("/") and (value := _at(options, field)) is not None
    }
    return {
        section: json.dumps([routing, _values(rule, options, section)]).encode()
        for section in rule.order
    }


def _values(rule: Rule, options: Mapping[str, Any], section: Section) -> list[Any]:
    here = rule.order.index(section)
    return [_value(key, options) for key in rule.keys if rule.order.index(key.section) <= here]


def _value(key: Key, options: Mapping[str, Any]) -> Any:
    """None where it is absent, or says what absence says."""
    found = [value for pointer in key.pointers if (value := _at(options, pointer)) is not None]
    return None if not found or found[0] in key.equal_to_absent else found[0]


def _at(node: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        node = node.get(name) if isinstance(node, Mapping) else None
    return node
