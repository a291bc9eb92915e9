"""Credentials inside a request's body: of tool servers that the provider is to call, and copies.

```
{"mcp_servers": [{"url": …, "authorization_token": "***"}],                    Anthropic
 "tools": [{"type": "mcp", "headers": {"Authorization": "***"}, …}]}           OpenAI
```
Everything else stays the bytes that were sent: nothing is decoded and written anew.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from stemcache.record.credentials import MASK
from stemcache.record.lenient_json import parsed

__all__ = ["BodySecretError", "without_secrets"]

_HINTS = (b"uthorization", b"mcp_servers", b'"mcp"')
_SHORTEST_COPY = 20
"""Of the call's own credential. A shorter one may be a word, and prompts are not to be changed."""


class BodySecretError(Exception):
    """There is a credential in the body that could not be cut out."""


def without_secrets(body: bytes, secrets: Sequence[str]) -> bytes:
    """The same object where there is nothing to hide, else a copy with masks in its place.

    Raises BodySecretError where a credential is spelt in a way that is not found again.
    """
    clean = body
    for secret in secrets:
        if len(secret) >= _SHORTEST_COPY:
            data = secret.encode("utf-8", "surrogatepass")
            if data in clean:
                clean = clean.replace(data, MASK.encode())
    if not any(hint in clean for hint in _HINTS):
        return clean
    found = sorted({value for value in _values(parsed(clean)) if value and value != MASK}, key=len)
    for value in reversed(found):
        for ascii_only in (False, True):
            spelt = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
            clean = clean.replace(spelt, b'"' + MASK.encode() + b'"')
            clean = clean.replace(spelt.replace(b"/", b"\\/"), b'"' + MASK.encode() + b'"')
    if found and any(value and value != MASK for value in _values(parsed(clean))):
        raise BodySecretError
    return clean


def _values(body: Any) -> Iterator[str]:
    if not isinstance(body, dict):
        return
    for server in _dicts(body.get("mcp_servers")):
        yield from _strings(server.get("authorization_token"))
    for tool in _dicts(body.get("tools")):
        if tool.get("type") == "mcp":
            yield from _strings(tool.get("authorization"))
            headers = tool.get("headers")
            for value in headers.values() if isinstance(headers, dict) else ():
                yield from _strings(value)


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            yield each


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
