"""`/metrics`: the engine's own counters, and what only the server sees.

Pages, tokens and steps are read from the engine's latest snapshot each time somebody asks, so they
cannot drift from the engine. Times are measured here, from the arrival of a request.
"""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from stemcache.engine.stats import EngineStats

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
)  # fmt: skip
_TOKEN_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 5.0)
_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)

_COUNTERS = (
    ("admitted_requests", "requests", "Requests admitted by the engine, one for each choice."),
    ("prompt_tokens", "prompt_tokens", "Prompt tokens of admitted requests; cached + computed."),
    ("cached_tokens", "cached_tokens", "Prompt tokens found in the cache at admission."),
    ("computed_tokens", "computed_tokens", "Prompt tokens that had to be computed."),
    ("recomputed_tokens", "recomputed_tokens", "Tokens computed again after a preemption."),
    ("completion_tokens", "completion_tokens", "Tokens generated."),
    ("preemptions", "preemptions", "Running requests that gave up their pages."),
    ("evicted_blocks", "evicted_blocks", "Blocks that the cache gave up for others."),
    ("steps", "steps", "Batches computed."),
    ("failed_steps", "failed_steps", "Batches that failed."),
    ("cancelled_requests", "cancelled", "Requests cancelled in the engine."),
    ("prefix_cache_resets", "resets", "Times the cache was emptied on demand."),
)


class _EngineCollector(Collector):
    """The engine's snapshot as metric families."""

    def __init__(self, stats: Callable[[], EngineStats]) -> None:
        self._stats = stats

    def collect(self) -> Iterator[Metric]:
        """Everything from one snapshot, so that sums hold within a scrape."""
        stats = self._stats()
        pages = GaugeMetricFamily(
            "stemcache_pages",
            "KV pages by state. In use = owned + pinned; free + owned + pinned + idle = total.",
            labels=["state"],
        )
        pages.add_metric(["free"], stats.pages_free)
        pages.add_metric(["owned"], stats.pages_owned)
        pages.add_metric(["pinned"], stats.pages_pinned)
        pages.add_metric(["idle"], stats.pages_indexed - stats.pages_pinned)
        yield pages
        yield GaugeMetricFamily(
            "stemcache_requests_running", "Requests that hold pages.", stats.running
        )
        yield GaugeMetricFamily(
            "stemcache_requests_waiting", "Requests that wait for admission.", stats.waiting
        )
        for name, field, words in _COUNTERS:
            yield CounterMetricFamily(f"stemcache_{name}", words, getattr(stats, field))


class _Constant(Collector):
    """What does not change while the server runs."""

    def __init__(self, pages: int, labels: dict[str, str]) -> None:
        self._pages = pages
        self._labels = labels

    def collect(self) -> Iterator[Metric]:
        """The pool's size, and an info series to join with."""
        yield GaugeMetricFamily("stemcache_pages_capacity", "KV pages in all.", self._pages)
        yield InfoMetricFamily("stemcache_model", "What is served.", self._labels)


class Metrics:
    """One registry; made once per server."""

    def __init__(
        self, stats: Callable[[], EngineStats], *, pages: int, labels: dict[str, str]
    ) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_EngineCollector(stats))
        self._registry.register(_Constant(pages, labels))
        self.requests = Counter(
            "stemcache_requests",
            "Requests for completions by outcome: answered, client_left, invalid, busy, failed.",
            ["outcome"],
            registry=self._registry,
        )
        self.first_token_s = Histogram(
            "stemcache_time_to_first_token_seconds",
            "From the arrival of a request to its first token.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.inter_token_s = Histogram(
            "stemcache_inter_token_seconds",
            "Between the tokens of one choice.",
            buckets=_TOKEN_SECONDS,
            registry=self._registry,
        )
        self.request_s = Histogram(
            "stemcache_request_seconds",
            "From the arrival of an answered request to the end of its answer.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.cached_share = Histogram(
            "stemcache_cached_share",
            "Cached tokens over prompt tokens, for each prompt.",
            buckets=_SHARES,
            registry=self._registry,
        )

    def page(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self._registry)
