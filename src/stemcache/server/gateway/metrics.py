"""The gateway's `/metrics`: what the data path counts, and the router's own figures at a scrape.

Families are made when somebody asks, from counts that are kept anyway. Labels are names of seats
and words of ours: nothing that a client sends becomes one.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from stemcache import __version__
from stemcache.clock import Clock
from stemcache.gateway.breaker import BreakerState
from stemcache.gateway.member import Member, Seat
from stemcache.gateway.notice import Notice, NoticeKind
from stemcache.gateway.router import Router
from stemcache.gateway.self_check import Standing
from stemcache.server.gateway.counters import Counters

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
)  # fmt: skip


class _Histogram:
    """Counts by bucket; O(log buckets) an observation."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(_SECONDS) + 1)
        self.sum_s = 0.0

    def add(self, seconds: float) -> None:
        """One more."""
        self.counts[bisect_left(_SECONDS, seconds)] += 1
        self.sum_s += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative, as Prometheus wants them."""
        found, total = [], 0
        for bound, count in zip((*map(str, _SECONDS), "+Inf"), self.counts, strict=True):
            total += count
            found.append((bound, float(total)))
        return found


class Metrics:
    """Made once per gateway."""

    def __init__(
        self,
        router: Router,
        counters: Counters,
        *,
        clock: Clock,
        gauges: dict[str, tuple[str, Callable[[], float]]] | None = None,
    ) -> None:
        """`gauges`: names and words of further figures, read at each scrape."""
        self._counters = counters
        self._notices: Counter[str] = Counter()
        self._ttft: dict[str, _Histogram] = {}
        self._registry = CollectorRegistry()
        self._registry.register(_Fleet(router, clock))
        self._registry.register(_Counted(self))
        self._registry.register(_Gauges(dict(gauges or {})))

    def first_byte(self, seat: str, seconds: float) -> None:
        """A stream's answer has begun, so long after it was sent there. Some 0.5 µs."""
        found = self._ttft.get(seat)
        if found is None:
            found = self._ttft[seat] = _Histogram()
        found.add(seconds)

    def noticed(self, notice: Notice) -> None:
        """The router had something to say."""
        self._notices[notice.kind] += 1
        if notice.kind is NoticeKind.LEFT:
            # Its series end, so that those of replicas that come and go do not add up for ever.
            for seat in [one for one in self._ttft if one.partition("#")[0] == notice.seat]:
                del self._ttft[seat]

    def page(self) -> bytes:
        """The text that Prometheus reads. Some 100 µs a replica."""
        return generate_latest(self._registry)

    def families(self) -> Iterator[Metric]:
        """What was counted."""
        counters = self._counters
        for name, words, value in (
            ("connections", "Clients' connections taken.", counters.connections),
            ("relayed", "Requests that were to be relayed.", counters.requests),
            ("retries", "Attempts after a request's first, at another seat.", counters.retries),
            ("no_replica", "Requests that no replica could take.", counters.no_seat),
            ("client_left", "Requests whose client did not wait.", counters.client_left),
            ("broken_off", "Answers whose replica was lost in the middle.", counters.broken_off),
            (
                "stale_connections",
                "Kept connections that a replica had closed, unseen.",
                counters.stale,
            ),
        ):
            yield CounterMetricFamily(f"stemcache_route_{name}", words, value)
        yield _by_label(
            "answers",
            "Answers to requests that were to be relayed, by status.",
            "status",
            {str(status): count for status, count in counters.statuses.items()},
        )
        yield _by_label(
            "refusals",
            "Requests that were refused before a replica was chosen, by code.",
            "code",
            counters.refused,
        )
        yield _by_label(
            "notices", "What the router had to say of the fleet, by kind.", "kind", self._notices
        )
        ttft = HistogramMetricFamily(
            "stemcache_route_first_byte_seconds",
            "From sending a streamed request to the first byte of its answer's body.",
            labels=["seat"],
        )
        for seat, found in sorted(self._ttft.items()):
            ttft.add_metric([seat], buckets=found.buckets(), sum_value=found.sum_s)
        yield ttft


def _by_label(name: str, words: str, label: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(f"stemcache_route_{name}", words, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


class _Counted(Collector):
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        """All of it."""
        yield from self._metrics.families()


class _Gauges(Collector):
    def __init__(self, gauges: dict[str, tuple[str, Callable[[], float]]]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        """Each, as it is now."""
        yield InfoMetricFamily("stemcache_route", "The gateway.", {"version": __version__})
        for name, (words, value) in self._gauges.items():
            yield GaugeMetricFamily(name, words, value())


class _Fleet(Collector):
    """The router's members and seats as families; read at a scrape, so nothing can drift."""

    def __init__(self, router: Router, clock: Clock) -> None:
        self._router = router
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """Everything from one moment."""
        members = self._router.members
        yield from _of_members(members, self._clock.now())
        seats = [(member, seat) for member in members for seat in member.seats]
        yield from _requests(seats)
        yield from _beliefs(seats)
        mirror = self._router.mirror
        yield GaugeMetricFamily(
            "stemcache_route_mirror_bytes",
            "Memory of what is believed of all replicas' caches.",
            mirror.bytes_used,
        )
        held = GaugeMetricFamily(
            "stemcache_route_held_tokens",
            "Tokens that a seat's cache is believed to hold.",
            labels=["seat", "source"],
        )
        for _, seat in seats:
            source = "events" if mirror.follows(seat.number) else "guess"
            held.add_metric([seat.name, source], mirror.held_tokens(seat.number))
        yield held


def _of_members(members: Sequence[Member], now_s: float) -> Iterator[Metric]:
    up = GaugeMetricFamily(
        "stemcache_route_replica_up",
        "1 where a replica gets new requests, 0 where it is down, draining or leaving.",
        labels=["replica"],
    )
    breaker = GaugeMetricFamily(
        "stemcache_route_breaker_state",
        "A replica's breaker: 0 closed, 1 half open, 2 open.",
        labels=["replica"],
    )
    opened = CounterMetricFamily(
        "stemcache_route_breaker_opened", "Times that a breaker opened.", labels=["replica"]
    )
    numbers = {BreakerState.CLOSED: 0, BreakerState.HALF_OPEN: 1, BreakerState.OPEN: 2}
    for member in members:
        name = [member.spec.name]
        up.add_metric(name, int(member.up and not member.draining and not member.leaving))
        breaker.add_metric(name, numbers[member.breaker.state(now_s)])
        opened.add_metric(name, member.breaker.opened)
    yield from (up, breaker, opened)


def _requests(seats: list[tuple[Member, Seat]]) -> Iterator[Metric]:
    flights = GaugeMetricFamily(
        "stemcache_route_in_flight", "Requests sent and not finished.", labels=["seat"]
    )
    reasons = CounterMetricFamily(
        "stemcache_route_requests",
        "Requests sent to a seat, by the reason of the choice; a retry counts again.",
        labels=["seat", "reason"],
    )
    ends = CounterMetricFamily(
        "stemcache_route_ended",
        "Requests that ended at a seat, by how: done, client-left, refused, dropped, …",
        labels=["seat", "outcome"],
    )
    for _, seat in seats:
        flights.add_metric([seat.name], seat.load.in_flight)
        for reason, count in sorted(seat.reasons.items()):
            reasons.add_metric([seat.name, reason], count)
        for outcome, count in sorted(seat.outcomes.items()):
            ends.add_metric([seat.name, outcome], count)
    yield from (flights, reasons, ends)


def _beliefs(seats: list[tuple[Member, Seat]]) -> Iterator[Metric]:
    families = (
        ("prompt_tokens", "Prompt tokens of answers that reported their cached tokens."),
        ("predicted_cached_tokens", "Cached tokens that were predicted of those answers."),
        ("reported_cached_tokens", "Cached tokens that those answers reported."),
    )
    for name, words in families:
        family = CounterMetricFamily(f"stemcache_route_{name}", words, labels=["seat"])
        field = name.replace("_cached", "")
        for _, seat in seats:
            family.add_metric([seat.name], getattr(seat.check, field))
        yield family
    answers = CounterMetricFamily(
        "stemcache_route_checked_answers",
        "Answers by what they said of their cache: as predicted, differing, or nothing.",
        labels=["seat", "result"],
    )
    agrees = GaugeMetricFamily(
        "stemcache_route_mirror_disagrees",
        "1 where reports of late differ from predictions too often.",
        labels=["seat"],
    )
    gaps = CounterMetricFamily(
        "stemcache_route_event_gaps", "Times that KV events were missing.", labels=["seat"]
    )
    resets = CounterMetricFamily(
        "stemcache_route_mirror_resets",
        "Times that what a seat holds was forgotten: it restarted, or its cache was reset.",
        labels=["seat"],
    )
    for _, seat in seats:
        check = seat.check
        answers.add_metric([seat.name, "as_predicted"], check.answers - check.differing)
        answers.add_metric([seat.name, "differing"], check.differing)
        answers.add_metric([seat.name, "nothing"], check.silent)
        agrees.add_metric([seat.name], int(check.standing is Standing.DISAGREES))
        gaps.add_metric([seat.name], seat.gaps)
        resets.add_metric([seat.name], seat.resets)
    yield from (answers, agrees, gaps, resets)
