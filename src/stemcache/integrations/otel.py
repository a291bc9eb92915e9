"""OpenTelemetry: what calls read from caches, on the spans that they are made in.

```python
from stemcache.integrations.openai_client import watch
from stemcache.integrations.otel import SpanAttributes

SpanAttributes.of(watch(client))
```
On the span that is current where a call begins, as the call ends:

| attribute | |
|---|---|
| `gen_ai.usage.input_tokens` | the whole prompt, what was cached among it |
| `gen_ai.usage.cache_read.input_tokens` | read from the cache |
| `gen_ai.usage.cache_creation.input_tokens` | written to it |
| `gen_ai.usage.output_tokens` | |

What takes a look at the prompt is known a little later, so it is a span of its own,
`stemcache.judge`, a child of that one:

| attribute | |
|---|---|
| `stemcache.prefix.digest` | of tools and system prompt: another value is another prefix |
| `stemcache.predicted.cache_read.input_tokens` | what should have been read by the rule |
| `stemcache.lost.input_tokens` | what could have been read and was not |
| `stemcache.rules` | codes of what that was lost to |

No text of a prompt is in any of it.

Several calls within one span: the last one's figures stand there; make a span a call, as other
instrumentation does. Needs `opentelemetry-api`, and does nothing where no SDK is set up.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from stemcache.errors import UsageError
from stemcache.integrations.live import Live
from stemcache.integrations.live_lint import Judgement
from stemcache.provider.usage import Usage
from stemcache.record.exchange import Exchange
from stemcache.record.record import usage_of

__all__ = ["SpanAttributes", "judgement_attributes", "usage_attributes"]


class _Seen(Protocol):
    @property
    def live(self) -> Live: ...


class SpanAttributes:
    """A spectator of calls. OpenTelemetry is imported where one is made, not before."""

    def __init__(self, tracer: Any = None) -> None:
        """`tracer`: None is the global one. Raises UsageError where OpenTelemetry is missing."""
        try:
            from opentelemetry import trace  # noqa: PLC0415  # only where it is asked for
        except ImportError:
            raise UsageError(
                "opentelemetry is not installed; pip install 'stemcache[otel]'"
            ) from None
        self._trace = trace
        self._tracer = tracer or trace.get_tracer("stemcache")

    @classmethod
    def of(cls, watched: _Seen, *, tracer: Any = None) -> "SpanAttributes":
        """Follow what is watched: a client, or one of the callbacks for frameworks."""
        made = cls(tracer)
        live = watched.live
        live.recorder.spectator = made
        live.on_judgement = made.judged
        return made

    def begins(self) -> object:
        """The span that a call begins in; None where nothing is recorded of it."""
        span = self._trace.get_current_span()
        return span if span.get_span_context().is_valid else None

    def ends(self, exchange: Exchange) -> None:
        """Set what the provider reported. Linear in the answer's body."""
        span: Any = exchange.context
        if span is None or not span.is_recording():
            return
        usage = usage_of(exchange)
        if usage is not None:
            span.set_attributes(usage_attributes(usage))

    def judged(self, judgement: Judgement, context: object) -> None:
        """Say what lint found, in a span of its own."""
        span_of_call: Any = context
        if span_of_call is None:
            return
        span = self._tracer.start_span(
            "stemcache.judge",
            context=self._trace.set_span_in_context(span_of_call),
            attributes=judgement_attributes(judgement),
        )
        span.end()


def usage_attributes(usage: Usage) -> dict[str, int]:
    """By the semantic conventions for generative AI; what was not reported is left out."""
    found: Mapping[str, int | None] = {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.written_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    return {name: tokens for name, tokens in found.items() if tokens is not None}


def judgement_attributes(judgement: Judgement) -> dict[str, Any]:
    """What is not known is left out."""
    found: dict[str, Any] = {
        "stemcache.lost.input_tokens": judgement.lost_tokens,
        "stemcache.rules": list(judgement.codes),
    }
    if judgement.call.model is not None:
        found["gen_ai.request.model"] = judgement.call.model
    if judgement.prefix is not None:
        found["stemcache.prefix.digest"] = judgement.prefix
    if judgement.predicted_tokens is not None:
        found["stemcache.predicted.cache_read.input_tokens"] = judgement.predicted_tokens
    return found
