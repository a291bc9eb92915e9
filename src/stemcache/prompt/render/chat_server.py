"""What one server of chats takes and another does not: content, names, repeated roles, a limit.

```
           content of text alone  two user's messages in a row  names of tools       `max_…tokens`
openai     a string, or parts     taken                         a-z A-Z 0-9 _ -, 64  completion_
azure      a string, or parts     taken                         not judged           completion_
deepseek   a string only          refused by some models        any, 64
qwen       a string, or parts     not relied on                 any, 64
any other  a string, or parts     not relied on                 not judged
```
Sources, read 2026-11-30. Names: the docstring of FunctionDefinition in openai 3.57.0, and errors of
the servers as reported in home-assistant/core#121325 (OpenAI), nanbingxyz/5ire#403 (DeepSeek) and
QwenLM/Qwen3-VL#2069 (Qwen). Azure has been seen to take dots (danishjsheikh/swagger-mcp#13).
Strings: DeepSeek answered 400 and 422 to lists of parts (cline/cline#230, QwenLM/qwen-code#2320),
and to a second message of one speaker (BerriAI/litellm#8018). Templates of others refuse that too.
Limits: OpenAI's later models refuse `max_tokens` (teilomillet/gollm#33). DeepSeek ignores
`max_completion_tokens` without a word (earendil-works/pi#8018) and Mistral refuses it
(editor-code-assistant/eca#231), so that any other server is told `max_tokens`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["ANY_SERVER", "ChatServer", "chat_server"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatServer:
    """As little as any server takes, unless it says so."""

    strings: bool = False
    """Content of text alone has to be one string; where marks are written it is parts all the
    same, for a string can have none."""
    repeats: bool = False
    """Whether two messages of one speaker may stand in a row, whatever the model."""
    names: re.Pattern[str] | None = None
    """What a tool may be called; None: anything."""
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The member that says how long an answer may be."""


ANY_SERVER = ChatServer()
_OF_64 = re.compile(r".{1,64}", re.DOTALL)
_SERVERS: Mapping[str, ChatServer] = {
    "azure": ChatServer(repeats=True, limit="max_completion_tokens"),
    "deepseek": ChatServer(strings=True, names=_OF_64),
    "openai": ChatServer(
        repeats=True, names=re.compile(r"[a-zA-Z0-9_-]{1,64}"), limit="max_completion_tokens"
    ),
    "qwen": ChatServer(names=_OF_64),
}


def chat_server(provider: str) -> ChatServer:
    """What the provider's server takes; of one that is not listed, what any does. O(1)."""
    return _SERVERS.get(provider, ANY_SERVER)
