"""What APIs ask of a tool's definition: a name in their letters, and the schema of an object.

```
            letters of names      most        {} as a schema
Messages    a-z A-Z 0-9 _ -        128        {"type": "object"}
Responses   a-z A-Z 0-9 _ -        not said   {"type": "object", "properties": {}}
Converse    a-z A-Z 0-9 _ -         64        {"type": "object"}
Gemini      the same and . :       128        as it is
Chat        what the server takes             {"type": "object", "properties": {}}
```
Sources, read 2026-11-30. Messages: the pattern in the API's own errors, with 128 since 2025
(modelcontextprotocol#1345, anthropics/claude-code#96152; it was 64 before). Responses: the pattern
in its errors, which has no bound (openai/codex#8694, openai/openai-dotnet#441), nor has the client.
Converse: shape ToolName of bedrock-runtime in botocore 1.44.8. Gemini: FunctionDeclaration in
google-genai 3.6.1, where a name begins with a letter or `_`; servers of 2025 took 64 characters
(google-gemini/gemini-cli#7869). A chat goes to many servers: `chat_server` says what one takes.
"""

import re
from collections.abc import Mapping
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.canonical import canonical_schema
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api

__all__ = ["check_name", "schema_of"]

_NAMES: Mapping[Api, tuple[re.Pattern[str], int | None]] = {
    Api.CONVERSE: (re.compile(r"[a-zA-Z0-9_-]+"), 64),
    Api.GENERATE: (re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]*"), 128),
    Api.MESSAGES: (re.compile(r"[a-zA-Z0-9_-]+"), 128),
    Api.RESPONSES: (re.compile(r"[a-zA-Z0-9_-]+"), None),
}
"""By API, the letters of a name, and how many."""
_MOST_OF_SERVERS = 64
"""Of servers of chats that say how long a name may be."""
_SHOWN_CHARS = 160
_WITH_PROPERTIES = frozenset({Api.CHAT, Api.RESPONSES})


def check_name(tool: Tool, api: Api, names: re.Pattern[str] | None = None) -> None:
    """Raise UsageError for a name that the API refuses, or a server of it that takes `names`."""
    form, most = (names, _MOST_OF_SERVERS) if names else _NAMES.get(api, (None, None))
    if form is None:
        return
    if not form.fullmatch(tool.name) or (most is not None and len(tool.name) > most):
        shown, count = tool.name[:_SHOWN_CHARS], len(tool.name)
        rest = f"… ({count:,} characters)" if count > _SHOWN_CHARS else ""
        at_most = "" if most is None else f", {most} at most"
        raise UsageError(
            f"a tool is called {shown!r}{rest}, which {api} does not take; "
            f"use letters, digits, '_' and '-'{at_most}"
        )


def schema_of(tool: Tool, api: Api) -> dict[str, Any]:
    """The schema as it is sent: canonical, and that of an object where nothing says of what.

    Raises UsageError where it is said to be of something else: arguments are an object.
    """
    schema = canonical_schema(tool.schema)
    kind = schema.get("type", "object")
    if kind != "object":
        raise UsageError(
            f"the schema of tool {tool.name!r} has the type {str(kind)[:40]!r}; arguments are an "
            "object, so give it the type 'object' and the value as one of its properties"
        )
    if api is Api.GENERATE or "type" in schema:
        return schema
    made = {**schema, "type": "object"}
    if api in _WITH_PROPERTIES:
        made.setdefault("properties", {})
    return dict(sorted(made.items()))
