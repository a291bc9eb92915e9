"""Attributes on real spans of OpenTelemetry's SDK, of calls by the real client."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

pytest.importorskip("opentelemetry.sdk", reason="needs opentelemetry-sdk; see scripts/test-peers")

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (
    InMemorySpanExporter,
)

from stemcache.integrations.openai_client import watch
from stemcache.integrations.otel import SpanAttributes
from tests.integrations.asked import KEY, chat
from tests.integrations.fake_models import FakeModels


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    """Where spans go that have ended."""
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter: InMemorySpanExporter) -> Any:
    """A tracer of this test's own."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("test")


@pytest.fixture
def client(models: FakeModels, tracer: Any) -> Iterator[OpenAI]:
    """A client that is watched, with its spans."""
    with OpenAI(base_url=f"{models.url}/v1", api_key=KEY, max_retries=0) as made:
        SpanAttributes.of(watch(made, tell=lambda _: None), tracer=tracer)
        yield made
        watch(made).unwatch()


def ask(client: OpenAI, tracer: Any, number: int, *, stream: bool = False) -> None:
    """One call in a span."""
    with tracer.start_as_current_span(f"ask {number}"):
        if stream:
            options: Any = {"stream": True, "stream_options": {"include_usage": True}}
            list(client.chat.completions.create(**chat(number, clock=True), **options))
        else:
            client.chat.completions.create(**chat(number, clock=True))


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_usage_is_on_the_span_and_what_lint_finds_in_one_of_its_own(
    client: OpenAI, models: FakeModels, tracer: Any, exporter: InMemorySpanExporter, *, stream: bool
) -> None:
    """By the names of the semantic conventions; the span of lint is a child of the call's."""
    for number in range(3):
        ask(client, tracer, number, stream=stream)
    assert watch(client).summary().calls == 3

    spans = {span.name: span for span in exporter.get_finished_spans() if "ask" in span.name}
    judged = [span for span in exporter.get_finished_spans() if span.name == "stemcache.judge"]
    for number, child in enumerate(judged):
        span = spans[f"ask {number}"]
        assert dict(span.attributes or {}) == {
            "gen_ai.usage.input_tokens": len(models.texts[number]) // 4,
            "gen_ai.usage.cache_read.input_tokens": 0,
            "gen_ai.usage.output_tokens": 3,
        }
        assert child.parent is not None
        assert child.parent.span_id == span.context.span_id
        assert child.context.trace_id == span.context.trace_id
    first, second, third = [dict(one.attributes or {}) for one in judged]
    assert (first["stemcache.rules"], second["stemcache.rules"]) == ((), ("STM101",))
    assert second["stemcache.lost.input_tokens"] > 1_000
    assert second["stemcache.predicted.cache_read.input_tokens"] == 0
    assert len({one["stemcache.prefix.digest"] for one in (first, second, third)}) == 3
    assert second["gen_ai.request.model"] == "gpt-5.5"
    assert "09:01" not in str(second)


def test_an_equal_prefix_has_an_equal_digest(
    client: OpenAI, tracer: Any, exporter: InMemorySpanExporter
) -> None:
    """Whatever is asked behind it."""
    for number in range(2):
        with tracer.start_as_current_span("ask"):
            client.chat.completions.create(**chat(number))
    watch(client).summary()
    found = [dict(one.attributes or {}) for one in exporter.get_finished_spans()]
    assert len({one["stemcache.prefix.digest"] for one in found if "stemcache.rules" in one}) == 1


def test_a_call_outside_of_spans_makes_none(client: OpenAI, exporter: InMemorySpanExporter) -> None:
    """There is nothing to hang it on."""
    client.chat.completions.create(**chat(1))
    assert watch(client).summary().calls == 1
    assert exporter.get_finished_spans() == ()


def test_a_span_that_has_ended_is_left_alone(
    client: OpenAI, tracer: Any, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    """A stream may be read behind its end; what lint finds is said all the same."""
    with tracer.start_as_current_span("ask"):
        options: Any = {"stream": True, "stream_options": {"include_usage": True}}
        stream = client.chat.completions.create(**chat(1), **options)
    list(stream)
    assert watch(client).summary().calls == 1
    names = [span.name for span in exporter.get_finished_spans()]
    assert names == ["ask", "stemcache.judge"]
    assert caplog.records == []


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    """Neither API nor SDK."""
    program = (
        "import sys, stemcache.integrations.otel;"
        "assert not [n for n in sys.modules if n.startswith('opentelemetry')]"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_the_global_tracer_is_the_usual_one(models: FakeModels) -> None:
    """Without an SDK its spans are recorded nowhere, and calls go on."""
    with OpenAI(base_url=f"{models.url}/v1", api_key=KEY) as made:
        watched = watch(made)
        SpanAttributes.of(watched)
        with trace.get_tracer("test").start_as_current_span("ask"):
            made.chat.completions.create(**chat(1))
        assert watched.summary().calls == 1
        watched.unwatch()
