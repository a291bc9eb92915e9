"""Edits of a request body that leave every byte of it but the edited as it was.

```
{"model":"m","messages":[…],"stream":true}
        ,"cache_salt":"a","stream_options":{"include_usage":true} ─┘ goes in before the brace
```
Set or taken out: `cache_salt`. Set: `stream_options.include_usage`, what else is in
`stream_options` kept. Only members of the outermost object are looked at: a `cache_salt` inside a
message is text. Names are compared as JSON means them, so one spelled with escapes is found, and of
repeated names all go, as replicas differ in which they take.
"""

from dataclasses import dataclass

import msgspec

from stemcache.gateway.prompt_members import decode_any, decode_as, members, spans

__all__ = ["BodyEdit", "client_salt", "edit_body"]

_SALT = "cache_salt"
_OPTIONS = "stream_options"
_STRING = msgspec.json.Decoder(str)


@dataclass(frozen=True, slots=True)
class BodyEdit:
    """What to change. Without arguments: nothing."""

    salt: str | None = None
    """Set as `cache_salt`, in place of any that is there."""
    drop_salt: bool = False
    """Take `cache_salt` out; implied by `salt`."""
    ask_usage: bool = False
    """Set `stream_options.include_usage`."""

    def __repr__(self) -> str:
        return f"BodyEdit(drop_salt={self.drop_salt}, ask_usage={self.ask_usage})"

    def __bool__(self) -> bool:
        return self.salt is not None or self.drop_salt or self.ask_usage


def edit_body(
    body: bytes, edit: BodyEdit, *, fields: dict[str, msgspec.Raw] | None = None
) -> bytes:
    """The body with the edit made; the same object where there is nothing to change.

    A body that is no JSON object comes back as it is: the replica refuses it. `fields` are its
    `members`, where somebody has them already. About 0.4 ms for 450 KB, 0.1 ms with `fields`.
    """
    if not edit:
        return body
    if fields is None:
        fields = members(body)
    if fields is None:
        return body
    names = set()
    added = []
    if edit.salt is not None:
        names.add(_SALT)
        added.append(b'"cache_salt":' + msgspec.json.encode(edit.salt))
    elif edit.drop_salt and _SALT in fields:
        names.add(_SALT)
    if edit.ask_usage:
        options = _asking(fields.get(_OPTIONS))
        if options is not None:
            names.add(_OPTIONS)
            added.append(b'"stream_options":' + options)
    if not names:
        return body
    return _replaced(body, fields, names, added)


def client_salt(body: bytes, *, fields: dict[str, msgspec.Raw] | None = None) -> str | None:
    """The `cache_salt` that the client sent, if it is a string; None also where it is empty."""
    if fields is None:
        fields = members(body)
    return decode_as(fields.get(_SALT), _STRING) or None if fields is not None else None


def _asking(options: msgspec.Raw | None) -> bytes | None:
    """`stream_options` that ask for usage; None where they do, or are not for us to mend."""
    value = decode_any(options) if options is not None else None
    if value is None:
        if options is not None and bytes(options) != b"null":
            return None
        return b'{"include_usage":true}'
    if not isinstance(value, dict) or value.get("include_usage") is True:
        return None
    assert options is not None, "it has a value"
    inner = members(bytes(options))
    if inner is None:
        return None
    return _replaced(bytes(options), inner, {"include_usage"}, [b'"include_usage":true'])


def _replaced(
    body: bytes, fields: dict[str, msgspec.Raw], names: set[str], added: list[bytes]
) -> bytes:
    """Without the members of these names, and with others at the end."""
    if names.isdisjoint(fields):
        # Nothing to take out: no need to know where anything stands.
        close = body.rindex(b"}")
        comma = b"," if fields and added else b""
        return b"".join((body[:close], comma, b",".join(added), body[close:]))
    places = spans(body, fields)
    kept = []
    for i, place in enumerate(places):
        if place.name not in names:
            # With the comma and the space up to the next one.
            behind = places[i + 1].start if i + 1 < len(places) else place.end
            kept.append((place.start, place.end, behind))
    parts = [body[: places[0].start]]
    parts += [body[start:behind] for start, _, behind in kept[:-1]]
    parts += [body[start:end] for start, end, _ in kept[-1:]]
    parts += [b"," if kept and added else b"", b",".join(added), body[places[-1].end :]]
    return b"".join(parts)
