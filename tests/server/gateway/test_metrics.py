"""What the gateway's /metrics has, and that it adds up."""

from random import Random
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from stemcache.clock import ManualClock
from stemcache.gateway.notice import Notice, NoticeKind
from stemcache.gateway.replica import ReplicaSpec
from stemcache.gateway.router import Router
from stemcache.gateway.settings import GatewaySettings, HealthSettings
from stemcache.gateway.usage import AnswerUsage
from stemcache.server.gateway.counters import Counters
from stemcache.server.gateway.metrics import Metrics
from tests.gateway.prompts import text_prompt


class Bench:
    """Metrics of a router with replica a and replica b of two ranks."""

    def __init__(self, policy: str = "round-robin") -> None:
        replicas = (
            ReplicaSpec(name="a", url="http://a:1"),
            ReplicaSpec(name="b", url="http://b:1", ranks=2),
        )
        settings = GatewaySettings(
            replicas=replicas, policy=policy, health=HealthSettings(breaker_failures=1)
        )
        self.router = Router(settings, rng=Random(1))
        self.router.configure(settings, replicas)
        self.counters = Counters()
        self.clock = ManualClock(100.0)
        self.open = 3
        self.metrics = Metrics(
            self.router,
            self.counters,
            clock=self.clock,
            gauges={"open": ("Open.", lambda: self.open)},
        )

    def send(self, *, cached: int | None = 0, fails: str | None = None) -> str:
        """One request, to its end; the seat that it went to."""
        prompt = text_prompt("hello " * 200)
        decision = self.router.choose(prompt, now_s=self.clock.now())
        assert decision is not None
        flight = self.router.sent(decision, prompt, now_s=self.clock.now())
        if fails is not None:
            self.router.failed(flight, fails, now_s=self.clock.now(), blame=True)
        else:
            usage = AnswerUsage(300, cached, 5)
            self.router.done(flight, usage, now_s=self.clock.now())
        return decision.name

    def read(self) -> dict[tuple[str, ...], float]:
        """Samples by name and the values of their labels, in the order of the labels' names."""
        text = self.metrics.page().decode()
        return {
            (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


def test_replicas_and_their_breakers_are_shown() -> None:
    """Up or not; closed, half open or open."""
    bench = Bench()
    bench.router.drain("b", on=True)
    seat = bench.send(fails="refused")
    assert seat == "a"
    found = bench.read()
    assert found["stemcache_route_replica_up", "a"] == 1
    assert found["stemcache_route_replica_up", "b"] == 0
    assert found["stemcache_route_breaker_state", "a"] == 2
    assert found["stemcache_route_breaker_state", "b"] == 0
    assert found["stemcache_route_breaker_opened_total", "a"] == 1
    bench.clock.advance(60)
    assert bench.read()["stemcache_route_breaker_state", "a"] == 1


def test_requests_are_counted_by_seat_and_reason() -> None:
    """And by how they ended."""
    bench = Bench()
    seats = [bench.send() for _ in range(6)]
    assert sorted(set(seats)) == ["a", "b#0", "b#1"]
    found = bench.read()
    for seat in set(seats):
        assert found["stemcache_route_requests_total", "turn", seat] == 2
        assert found["stemcache_route_ended_total", "done", seat] == 2
        assert found["stemcache_route_in_flight", seat] == 0


def test_predictions_and_reports_are_summed() -> None:
    """An answer without a report adds to neither."""
    bench = Bench("cache-aware")
    bench.router.drain("b", on=True)
    for cached in (0, 250, None):
        bench.send(cached=cached)
    found = bench.read()
    assert found["stemcache_route_prompt_tokens_total", "a"] == 600
    assert found["stemcache_route_reported_cached_tokens_total", "a"] == 250
    assert found["stemcache_route_predicted_cached_tokens_total", "a"] > 0
    assert found["stemcache_route_checked_answers_total", "nothing", "a"] == 1
    answers = [
        found["stemcache_route_checked_answers_total", result, "a"]
        for result in ("as_predicted", "differing")
    ]
    assert sum(answers) == 2
    assert found["stemcache_route_mirror_disagrees", "a"] == 0


def test_reports_are_summed_where_nothing_is_predicted() -> None:
    """By a policy that looks at no prompts: hits are seen, and no answer is held against it."""
    bench = Bench("round-robin")
    bench.router.drain("b", on=True)
    for cached in (0, 250, None):
        bench.send(cached=cached)
    found = bench.read()
    assert found["stemcache_route_prompt_tokens_total", "a"] == 600
    assert found["stemcache_route_reported_cached_tokens_total", "a"] == 250
    assert found["stemcache_route_predicted_cached_tokens_total", "a"] == 0
    assert found["stemcache_route_checked_answers_total", "differing", "a"] == 0
    assert found["stemcache_route_checked_answers_total", "nothing", "a"] == 1


def test_the_mirror_is_measured() -> None:
    """Its memory, and what each seat is believed to hold."""
    bench = Bench("cache-aware")
    seat = bench.send()
    found = bench.read()
    assert found["stemcache_route_mirror_bytes",] == bench.router.mirror.bytes_used
    assert found["stemcache_route_held_tokens", seat, "guess"] > 0
    bench.router.restarted("a", "another process answers", now_s=100.0)
    assert bench.read()["stemcache_route_mirror_resets_total", "a"] == 1


def test_what_the_data_path_counts_is_shown() -> None:
    """Under names of its own."""
    bench = Bench()
    counters = bench.counters
    counters.connections, counters.requests, counters.retries = 7, 6, 5
    counters.no_seat, counters.client_left, counters.broken_off, counters.stale = 4, 3, 2, 1
    counters.refused["body_too_large"] += 9
    counters.answered(200)
    counters.answered(200)
    counters.answered(503)
    found = bench.read()
    names = ("connections", "relayed", "retries", "no_replica", "client_left", "broken_off")
    for name, value in zip((*names, "stale_connections"), range(7, 0, -1), strict=True):
        assert found[f"stemcache_route_{name}_total",] == value
    assert found["stemcache_route_refusals_total", "body_too_large"] == 9
    assert found["stemcache_route_answers_total", "200"] == 2
    assert found["stemcache_route_answers_total", "503"] == 1
    assert found["stemcache_route_open",] == 3


def test_times_to_the_first_byte_are_a_histogram() -> None:
    """Cumulative, with sum and count."""
    bench = Bench()
    for seconds in (0.003, 0.02, 0.02, 400.0):
        bench.metrics.first_byte("a", seconds)
    found = bench.read()
    name = "stemcache_route_first_byte_seconds"
    assert found[f"{name}_bucket", "0.005", "a"] == 1
    assert found[f"{name}_bucket", "0.025", "a"] == 3
    assert found[f"{name}_bucket", "300.0", "a"] == 3
    assert found[f"{name}_bucket", "+Inf", "a"] == 4
    assert found[f"{name}_count", "a"] == 4
    assert found[f"{name}_sum", "a"] == 400.043


def test_notices_are_counted_by_kind() -> None:
    """Disagreements and restarts among them."""
    bench = Bench()
    bench.metrics.noticed(Notice(NoticeKind.DISAGREES, "a"))
    bench.metrics.noticed(Notice(NoticeKind.RESTARTED, "a"))
    bench.metrics.noticed(Notice(NoticeKind.RESTARTED, "b#0"))
    found = bench.read()
    assert found["stemcache_route_notices_total", "mirror-disagrees"] == 1
    assert found["stemcache_route_notices_total", "restarted"] == 2


def test_series_of_replicas_that_left_end() -> None:
    """Else those that come and go would add up for ever."""
    bench = Bench()
    for seat in ("a", "b#0", "b#1"):
        bench.metrics.first_byte(seat, 0.1)
    bench.metrics.noticed(Notice(NoticeKind.LEFT, "b"))
    seats: list[Any] = [key[1] for key in bench.read() if key[0].endswith("seconds_count")]
    assert seats == ["a"]


def test_odd_names_are_quoted() -> None:
    """A name from a file may hold what ends a label."""
    bench = Bench()
    name = 'a"b\\c'
    bench.router.configure(bench.router.settings, [ReplicaSpec(name=name, url="http://a:1")])
    assert bench.read()["stemcache_route_replica_up", name] == 1


def test_every_family_has_words() -> None:
    """And the prefix of the gateway."""
    bench = Bench()
    bench.send()
    families = list(text_string_to_metric_families(bench.metrics.page().decode()))
    assert len(families) > 25
    for family in families:
        assert family.name.startswith("stemcache_route")
        assert family.documentation.endswith((".", "…")), family.name
