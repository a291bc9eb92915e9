"""A capability for pydantic-ai's agents: marks placed, calls recorded and judged, clocks kept out.

```python
from pydantic_ai import Agent
from stemcache.integrations.pydantic_ai_hook import PrefixCache

ours = PrefixCache(volatile="refuse")
agent = Agent("anthropic:claude-opus-5", capabilities=[ours])
await agent.run(...)
print(ours.summary())
```
Marks are placed in the very body that is sent, for models that send by the official client of
OpenAI or Anthropic; of others the instructions are looked at, and nothing else. Where the prompt
has marks already they stay: those of pydantic-ai's `Caching`, of the settings `cache` and
`anthropic_cache_…`, and a `CachePoint`. Written for pydantic-ai 2.68.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import SystemPromptPart
from pydantic_ai.models.wrapper import WrapperModel

from stemcache.integrations.client_marks import marks_placed
from stemcache.integrations.prompt_watch import PromptWatch

__all__ = ["PrefixCache"]


class PrefixCache(PromptWatch, AbstractCapability[Any]):  # type: ignore[misc]  # it is not there for mypy
    """One log of all models that it stands before. One may serve several agents."""

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        """pydantic-ai's: before each attempt, once it is known which model will serve it.

        Raises VolatileError where that is asked for.
        """
        self._prepare(_texts(request_context), [getattr(request_context.model, "client", None)])
        return await super().prepare_model_request(ctx, request_context)

    def get_wrapper_model(self, model: Any) -> Any:
        """pydantic-ai's: what stands around each model that serves requests."""
        return _Marking(model) if self._marks else None


class _Marking(WrapperModel):  # type: ignore[misc]  # see above
    """The same model, in whose requests marks are placed as they are sent."""

    async def request(self, *args: Any) -> Any:
        with marks_placed():
            return await super().request(*args)

    @asynccontextmanager
    async def request_stream(self, *args: Any, **more: Any) -> AsyncGenerator[Any]:
        async with AsyncExitStack() as stack:
            # Entering sends the request. What is read of the answer may be read in another task.
            with marks_placed():
                answer = await stack.enter_async_context(super().request_stream(*args, **more))
            yield answer


def _texts(request: Any) -> Iterator[str]:
    """Instructions and system prompts, in the order of the prompt."""
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, SystemPromptPart):
                yield part.content
    for instruction in request.model_request_parameters.instruction_parts or ():
        yield instruction.content
