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
from typing import Any

from stemcache.errors import UsageError
from stemcache.prompt.canonical import canonical_schema
from stemcache.prompt.tool import Tool
from stemcache.wire.api import Api

__all__ = ["check_name", "schema_of"]

_NAMES = {
    Api.CONVERSE: re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    Api.GENERATE: re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"),
    Api.MESSAGES: re.compile(r"[a-zA-Z0-9_-]{1,128}"),
    Api.RESPONSES: re.compile(r"[a-zA-Z0-9_-]+"),
}
_WITH_PROPERTIES = frozenset({Api.CHAT, Api.RESPONSES})


def check_name(tool: Tool, api: Api, names: re.Pattern[str] | None = None) -> None:
    """Raise UsageError for a name that the API refuses, or a server of it that takes `names`."""
    form = names or _NAMES.get(api)
    if form is not None and not form.fullmatch(tool.name):
        raise UsageError(
            f"a tool is called {tool.name[:80]!r}, which {api} does not take; "
            "use letters, digits, '_' and '-', 64 at most"
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
