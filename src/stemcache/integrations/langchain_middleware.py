"""A middleware for LangChain's agents: marks placed, calls recorded and judged, clocks kept out.

```python
from langchain.agents import create_agent
from stemcache.integrations.langchain_middleware import PrefixCacheMiddleware

ours = PrefixCacheMiddleware(volatile="refuse")
agent = create_agent(model="anthropic:claude-opus-5", tools=[...], middleware=[ours])
agent.invoke(...)
print(ours.summary())
```
Put it last, so that it sees the prompt as other middleware leaves it. Marks are placed in the very
body that is sent, for models whose integration sends by the official client of OpenAI or Anthropic
(`langchain-openai`, `langchain-anthropic`, and what is built on them); of others the system prompt
is looked at, and nothing else. Where marks are set already, as by
`AnthropicPromptCachingMiddleware`, they stay. Written for langchain 1.5.

Models that share an HTTP client, which is LangChain's default, share the record too; marks are
placed for the agents that have this middleware alone.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware

from stemcache.integrations.prompt_watch import PromptWatch

__all__ = ["PrefixCacheMiddleware"]

_CLIENTS = ("_client", "_async_client", "root_client", "root_async_client")
"""Where the integrations keep the clients that they send by."""


class PrefixCacheMiddleware(PromptWatch, AgentMiddleware):  # type: ignore[misc]  # langchain is not there for mypy
    """One log of all models that it stands before. One may serve several agents."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """LangChain's: a model is called. Raises VolatileError where that is asked for."""
        self._prepare(_texts(request.system_message), _clients(request.model))
        with self._marking():
            return handler(request)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The same, async."""
        self._prepare(_texts(request.system_message), _clients(request.model))
        with self._marking():
            return await handler(request)


def _clients(model: Any) -> Iterator[object]:
    return (getattr(model, name, None) for name in _CLIENTS)


def _texts(message: Any) -> Iterator[str]:
    """What a system message says, block by block."""
    content = getattr(message, "content", None)
    for block in [content] if isinstance(content, str) else content or ():
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str):
            yield text
