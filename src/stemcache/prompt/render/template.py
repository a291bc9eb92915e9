"""Chat messages for a template that renders them locally: what `stemcache serve` would render.

```
chat body's messages      {role: tool, content: [parts]}, arguments as text
for templates             {role: tool, content: "…"},     arguments as the object they spell
```
Texts of one message are joined with nothing between, as the server joins them: whoever wants a
blank line between two segments writes it at the end of the first. Thoughts that a chat API gave go
back as the members that they came in.
"""

from typing import Any

from stemcache.errors import RequestError, UsageError
from stemcache.prompt.piece import Laid
from stemcache.prompt.render.chat import messages_of, tool_definition
from stemcache.prompt.render.turns import tools_of
from stemcache.wire.api import Api
from stemcache.wire.messages import messages_for_template

__all__ = ["render", "tools"]


def render(laid: Laid) -> list[dict[str, Any]]:
    """Messages for `tokenizer.apply_chat_template`. Linear; changes nothing.

    A conversation may end anywhere, also behind a call. Raises UsageError for pictures and files,
    which templates of text have no place for.
    """
    try:
        return messages_for_template(messages_of(laid))
    except RequestError as error:
        raise UsageError(f"a template has no place for the prompt: {error}") from error


def tools(laid: Laid) -> list[dict[str, Any]]:
    """Definitions of tools for the template's `tools`."""
    return [tool_definition(tool) for _, tool in tools_of(laid, Api.CHAT)]
