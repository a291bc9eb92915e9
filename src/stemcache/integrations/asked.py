"""What a call asks of a model, found in the arguments of a Python call. Pure.

```
{"messages": [...]}                    ► /v1/chat/completions      a mapping, or JSON of one
"Once upon a time"                     ► /v1/completions           a text that is no JSON object
CompletionRequest(prompt="Once …")     ► /v1/completions           an object with such attributes
```
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from stemcache.integrations.plain import plain

__all__ = ["Asked", "body_of"]

_PATHS = {
    "messages": "/v1/chat/completions",
    "prompt": "/v1/completions",
    "input": "/v1/responses",
}
_FIELDS = (*_PATHS, "model", "system", "tools", "instructions", "user", "session_id")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as if it had come by HTTP."""

    path: str
    body: bytes


def body_of(arguments: Iterable[object]) -> Asked:
    """The first argument that asks something; an empty body where none does. Never raises."""
    for argument in arguments:
        try:
            asked = _asked(argument)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
            continue
        if asked is not None:
            return asked
    return Asked("/", b"")


def _asked(argument: object) -> Asked | None:
    if isinstance(argument, bytes | bytearray):
        argument = bytes(argument).decode()
    if isinstance(argument, str):
        if argument.lstrip()[:1] != "{":
            return _body({"prompt": argument})
        argument = msgspec.json.decode(argument)
    if isinstance(argument, Mapping):
        return _body(dict(argument))
    return _body({name: getattr(argument, name, None) for name in _FIELDS})


def _body(fields: Mapping[str, object]) -> Asked | None:
    said = {name: value for name, value in fields.items() if value is not None}
    for name, path in _PATHS.items():
        if name in said:
            return Asked(path, msgspec.json.encode(said, enc_hook=plain))
    return None
