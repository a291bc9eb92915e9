"""What all handlers share: the engine, the model's text side, limits, clocks, logs, metrics."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeVar

from structlog.typing import FilteringBoundLogger

from stemcache.clock import Clock
from stemcache.errors import ContextOverflowError, StemcacheError
from stemcache.server.engine_client import EngineClient
from stemcache.server.exchange import Exchange
from stemcache.server.metrics import Metrics
from stemcache.server.refusal import HttpError
from stemcache.server.source import TextSide
from stemcache.wire.body import cut

__all__ = ["Service", "ServiceSettings"]

T = TypeVar("T")

_INLINE = 4096
"""Texts up to this long are dealt with at once, in well under a millisecond; longer ones in a
thread, so that they hold up nobody's stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """What the user decides about the HTTP side."""

    model_name: str
    max_body_bytes: int = 16 * 2**20
    api_key: str | None = None


@dataclass(slots=True, kw_only=True)
class Service:
    """One server's state; lives as long as the server."""

    client: EngineClient
    text: TextSide
    settings: ServiceSettings
    metrics: Metrics
    logger: FilteringBoundLogger
    clock: Clock
    """For durations."""
    wall: Callable[[], float]
    """For `created`: seconds since 1970."""
    started_at: int
    draining: bool = False
    """Set when the server is about to end: what runs goes on, what is new is refused."""
    in_flight: int = 0
    """Requests being answered."""
    reading: set[Exchange] = field(default_factory=set)
    """Those of them whose body has not come yet."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever the last of the requests in flight has been answered."""

    @property
    def fingerprint(self) -> str:
        """Changes with the weights."""
        return f"fp_{self.client.info.revision[:12]}"

    def check_model(self, name: str | None) -> None:
        """Raise HttpError 404 unless it is the served model, or none is named."""
        if name is not None and name != self.settings.model_name:
            raise HttpError(
                HTTPStatus.NOT_FOUND,
                f"the model {cut(name)!r} is not served here; use {self.settings.model_name!r}",
                code="model_not_found",
                param="model",
            )

    async def tokenize(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Token ids of a text, however long."""
        encode = self.text.tokenizer.encode
        return await self.aside(
            len(text), lambda: encode(text, add_special_tokens=add_special_tokens)
        )

    async def tokenize_prompts(
        self, prompts: Sequence[str | list[int]], *, add_special_tokens: bool, param: str
    ) -> list[list[int]]:
        """Token ids of all prompts that are texts; the others are ids already.

        Raises ContextOverflowError, before anything is tokenized, where a text cannot fit.
        """
        texts = [prompt for prompt in prompts if isinstance(prompt, str)]
        for text in texts:
            self._check_length(text, param)
        encode = self.text.tokenizer.encode
        return await self.aside(
            sum(map(len, texts)),
            lambda: [
                encode(prompt, add_special_tokens=add_special_tokens)
                if isinstance(prompt, str)
                else prompt
                for prompt in prompts
            ],
        )

    def _check_length(self, text: str, param: str) -> None:
        longest = self.text.tokenizer.longest_token_bytes
        capacity = self.client.capacity_tokens
        if longest is not None and len(text) > capacity * longest:
            raise ContextOverflowError(
                f"the text has {len(text)} characters, which are at least "
                f"{len(text) // longest} tokens, and prompt and answer may have {capacity} "
                "together; shorten it",
                param=param,
            )

    async def render(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]],
        add_generation_prompt: bool,
        values: Mapping[str, object],
        body_bytes: int,
    ) -> str:
        """The conversation as the model's template writes it; all of it stood in the body."""
        return await self.aside(
            body_bytes,
            lambda: self.text.template.render(
                messages, tools=tools, add_generation_prompt=add_generation_prompt, values=values
            ),
        )

    def end_reading(self, error: StemcacheError) -> None:
        """Refuse the requests whose body has not come yet."""
        for exchange in self.reading:
            exchange.end_reading(error)

    async def body_of(self, exchange: Exchange) -> bytes:
        """The request's body; meanwhile `end_reading` can refuse it. Raises HttpError."""
        self.reading.add(exchange)
        try:
            return await exchange.body()
        finally:
            self.reading.discard(exchange)

    async def aside(self, size: int, work: Callable[[], T]) -> T:
        """Do work on this many characters or bytes, in a thread if they are many.

        What counts is all that one call works on: many short texts hold up streams as a long one.
        """
        return work() if size <= _INLINE else await asyncio.to_thread(work)
