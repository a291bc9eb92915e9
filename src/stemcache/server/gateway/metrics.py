"""The gateway's `/metrics`: what the data path counts, and the router's own figures at a scrape.

The text is made when somebody asks, from counts that are kept anyway. It is written here line by
line, as it is made between two requests: through the client library it would take ten times as
long. Labels are names of seats and words of ours: nothing that a client sends becomes one.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from stemcache import __version__
from stemcache.clock import Clock
from stemcache.gateway.breaker import BreakerState
from stemcache.gateway.notice import Notice, NoticeKind
from stemcache.gateway.router import Router
from stemcache.gateway.self_check import Standing
from stemcache.server.gateway.counters import Counters

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
)  # fmt: skip
_BREAKER = {BreakerState.CLOSED: 0, BreakerState.HALF_OPEN: 1, BreakerState.OPEN: 2}

Samples = Iterable[tuple[str, float]]
"""Labels, written out with their braces or empty, and values."""


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


class _Page:
    """Prometheus' text format."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def counter(self, name: str, words: str, samples: Samples) -> None:
        """A family of counters; its name gets the ending that they have."""
        self._family(f"stemcache_route_{name}_total", "counter", words, samples)

    def gauge(self, name: str, words: str, samples: Samples) -> None:
        """A family of gauges."""
        self._family(f"stemcache_route_{name}", "gauge", words, samples)

    def histograms(self, name: str, words: str, found: Mapping[str, _Histogram]) -> None:
        """A family of histograms by seat."""
        full = f"stemcache_route_{name}"
        self._lines.append(f"# HELP {full} {words}\n# TYPE {full} histogram")
        bounds = (*map(str, _SECONDS), "+Inf")
        for seat, one in sorted(found.items()):
            label, total = _quoted(seat), 0
            for bound, count in zip(bounds, one.counts, strict=True):
                total += count
                self._lines.append(f'{full}_bucket{{seat={label},le="{bound}"}} {total}')
            self._lines.append(f"{full}_count{{seat={label}}} {total}")
            self._lines.append(f"{full}_sum{{seat={label}}} {one.sum_s!r}")

    def text(self) -> bytes:
        """All of it."""
        return ("\n".join(self._lines) + "\n").encode()

    def _family(self, name: str, kind: str, words: str, samples: Samples) -> None:
        self._lines.append(f"# HELP {name} {words}\n# TYPE {name} {kind}")
        self._lines += [f"{name}{labels} {value}" for labels, value in samples]


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
        self._router = router
        self._counters = counters
        self._clock = clock
        self._gauges = dict(gauges or {})
        self._notices: Counter[str] = Counter()
        self._ttft: dict[str, _Histogram] = {}

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
        """The text that Prometheus reads. Some 60 µs a replica."""
        page = _Page()
        self._write_replicas(page)
        self._write_requests(page)
        self._write_beliefs(page)
        self._write_counters(page)
        page.gauge("info", "The gateway.", [(_label("version", __version__), 1)])
        for name, (words, value) in self._gauges.items():
            page.gauge(name, words, [("", value())])
        return page.text()

    def _write_replicas(self, page: _Page) -> None:
        now_s = self._clock.now()
        named = [(_label("replica", one.spec.name), one) for one in self._router.members]
        page.gauge(
            "replica_up",
            "1 where a replica gets new requests, 0 where it is down, draining or leaving.",
            ((label, int(one.up and not one.draining and not one.leaving)) for label, one in named),
        )
        page.gauge(
            "breaker_state",
            "A replica's breaker: 0 closed, 1 half open, 2 open.",
            ((label, _BREAKER[one.breaker.state(now_s)]) for label, one in named),
        )
        page.counter(
            "breaker_opened",
            "Times that a breaker opened.",
            ((label, one.breaker.opened) for label, one in named),
        )

    def _write_requests(self, page: _Page) -> None:
        seats = [seat for member in self._router.members for seat in member.seats]
        page.gauge(
            "in_flight",
            "Requests sent and not finished.",
            ((_label("seat", seat.name), seat.load.in_flight) for seat in seats),
        )
        page.counter(
            "requests",
            "Requests sent to a seat, by the reason of the choice; a retry counts again.",
            (
                (_label("seat", seat.name, "reason", reason), count)
                for seat in seats
                for reason, count in sorted(seat.reasons.items())
            ),
        )
        page.counter(
            "ended",
            "Requests that ended at a seat, by how: done, client-left, refused, dropped, …",
            (
                (_label("seat", seat.name, "outcome", outcome), count)
                for seat in seats
                for outcome, count in sorted(seat.outcomes.items())
            ),
        )

    def _write_beliefs(self, page: _Page) -> None:
        mirror = self._router.mirror
        seats = [seat for member in self._router.members for seat in member.seats]
        named = [(_label("seat", seat.name), seat, seat.check) for seat in seats]
        page.counter(
            "prompt_tokens",
            "Prompt tokens of answers that reported their cached tokens.",
            ((label, check.prompt_tokens) for label, _, check in named),
        )
        page.counter(
            "predicted_cached_tokens",
            "Cached tokens that were predicted of those answers.",
            ((label, check.predicted_tokens) for label, _, check in named),
        )
        page.counter(
            "reported_cached_tokens",
            "Cached tokens that those answers reported.",
            ((label, check.reported_tokens) for label, _, check in named),
        )
        page.counter(
            "checked_answers",
            "Answers by what they said of their cache: as predicted, differing, or nothing.",
            (
                (_label("seat", seat.name, "result", result), count)
                for _, seat, check in named
                for result, count in (
                    ("as_predicted", check.answers - check.differing),
                    ("differing", check.differing),
                    ("nothing", check.silent),
                )
            ),
        )
        page.gauge(
            "mirror_disagrees",
            "1 where reports of late differ from predictions too often.",
            ((label, int(check.standing is Standing.DISAGREES)) for label, _, check in named),
        )
        page.counter(
            "event_gaps",
            "Times that KV events were missing.",
            ((label, seat.gaps) for label, seat, _ in named),
        )
        page.counter(
            "mirror_resets",
            "Times that what a seat holds was forgotten: it restarted, or its cache was reset.",
            ((label, seat.resets) for label, seat, _ in named),
        )
        page.gauge(
            "mirror_bytes",
            "Memory of what is believed of all replicas' caches.",
            [("", mirror.bytes_used)],
        )
        sources = {True: "events", False: "guess"}
        page.gauge(
            "held_tokens",
            "Tokens that a seat's cache is believed to hold.",
            (
                (
                    _label("seat", seat.name, "source", sources[mirror.follows(seat.number)]),
                    mirror.held_tokens(seat.number),
                )
                for seat in seats
            ),
        )

    def _write_counters(self, page: _Page) -> None:
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
            page.counter(name, words, [("", value)])
        page.counter(
            "answers",
            "Answers to requests that were to be relayed, by status.",
            _by("status", {str(status): count for status, count in counters.statuses.items()}),
        )
        page.counter(
            "refusals",
            "Requests that were refused before a replica was chosen, by code.",
            _by("code", counters.refused),
        )
        page.counter(
            "notices",
            "What the router had to say of the fleet, by kind.",
            _by("kind", self._notices),
        )
        page.histograms(
            "first_byte_seconds",
            "From sending a streamed request to the first byte of its answer's body.",
            self._ttft,
        )


def _by(label: str, counts: Mapping[str, int]) -> Samples:
    return [(_label(label, value), count) for value, count in sorted(counts.items())]


def _label(name: str, value: str, *more: str) -> str:
    if not more:
        return f"{{{name}={_quoted(value)}}}"
    return f"{{{name}={_quoted(value)},{more[0]}={_quoted(more[1])}}}"


def _quoted(value: str) -> str:
    if "\\" in value or '"' in value or "\n" in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{value}"'
