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

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware

from stemcache.integrations.client_group import ClientGroup
from stemcache.integrations.client_marks import marks_placed
from stemcache.integrations.live import Live
from stemcache.integrations.live_summary import Summary
from stemcache.integrations.live_tell import logged
from stemcache.integrations.volatile_prompt import checked_policy, look_at
from stemcache.lint.finding import Finding
from stemcache.lint.options import Options
from stemcache.record.record import Keep

__all__ = ["PrefixCacheMiddleware"]

_CLIENTS = ("_client", "_async_client", "root_client", "root_async_client")
"""Where the integrations keep the clients that they send by."""


class PrefixCacheMiddleware(AgentMiddleware):  # type: ignore[misc]  # langchain is not there for mypy
    """One log of all models that it stands before. One may serve several agents."""

    def __init__(
        self,
        *,
        marks: bool = True,
        volatile: str = "warn",
        allow: Iterable[str] = (),
        output: Path | str | None = None,
        keep: Keep | None = None,
        options: Options | None = None,
        tell: Callable[[Finding], None] = logged,
    ) -> None:
        """`volatile`: `refuse`, `warn` or `allow` a system prompt that will change.

        `allow` names families of volatile text that are meant to be there (`clock`, `injected-id`,
        `environment`). The rest as `watch` of the clients. Raises UsageError for what cannot be.
        """
        super().__init__()
        self._marks = marks
        self._volatile = checked_policy(volatile)
        self._allow = frozenset(allow)
        self._seen: set[str] = set()
        self._group = ClientGroup(output=output, keep=keep, options=options, tell=tell)

    @property
    def live(self) -> Live:
        """What records and judges."""
        return self._group.watched.live

    def summary(self, *, wait_s: float = 2.0) -> Summary:
        """What the calls that have ended came to."""
        return self._group.summary(wait_s=wait_s)

    def close(self) -> None:
        """Take everything out of the clients again, judge and write what waits."""
        self._group.close()

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """LangChain's: a model is called. Raises VolatileError where that is asked for."""
        self._prepare(request)
        with marks_placed() if self._marks else nullcontext():
            return handler(request)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The same, async."""
        self._prepare(request)
        with marks_placed() if self._marks else nullcontext():
            return await handler(request)

    def _prepare(self, request: Any) -> None:
        texts = list(_texts(request.system_message))
        look_at(texts, self._volatile, allow=self._allow, seen=self._seen)
        for name in _CLIENTS:
            self._group.watch(getattr(request.model, name, None))


def _texts(message: Any) -> Iterator[str]:
    """What a system message says, block by block."""
    content = getattr(message, "content", None)
    for block in [content] if isinstance(content, str) else content or ():
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str):
            yield text
