"""What a run is told as: one value, the same in JSON, on the screen and on the page.

A figure that is not known is null. Times are seconds; `_s` says so. Percentiles are interpolated
between neighbours.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from stemcache.errors import UsageError

__all__ = [
    "Column",
    "Counted",
    "ErrorKind",
    "Goodput",
    "HitRate",
    "LoadPart",
    "Missing",
    "Report",
    "SharePart",
    "Spread",
    "TargetPart",
    "TenantPart",
    "Throughput",
    "TracePart",
    "read_report",
    "report_json",
    "without_columns",
]

KIND = "stemcache replay"
VERSION = 1

_LARGEST_BYTES = 2**30
"""Of a report with columns for some five million requests."""

Column = tuple[float | None, ...]
"""One value for each request of the run, in the order of their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How a time is distributed, seconds."""

    count: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePart:
    """What was replayed."""

    path: str
    requests_read: int
    left_out_too_long: int
    left_out_empty: int
    out_of_order: int
    block_tokens: int | None
    """In the trace."""
    tokens_per_block: int | None
    """As sent; None if blocks were not shrunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPart:
    """Who was asked. Holds no key and no query of the URL."""

    url: str
    api: str
    model: str
    server: str | None
    """As its metrics name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPart:
    """How the requests were paced, and what prompts were made of."""

    mode: str
    speed: float
    rate: float | None
    concurrency: int | None
    think: float | str | None
    max_in_flight: int | None
    duration_s: float | None
    encoding: str
    isolation: str
    salt: str | None
    isolation_in_words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Requests by what became of them. `planned = ok + failed + unfinished + not_sent`."""

    planned: int
    ok: int
    failed: int
    unfinished: int
    """Given up because the run was ended."""
    not_sent: int
    retried: int
    """Sent again on a new connection, as the kept one turned out to be closed."""
    held_by_cap: int
    held_by_cap_max_s: float | None
    connections: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Requests that have no latency, and so stand in no row of the latencies."""

    of: int
    """All that were due."""
    given_up: int
    """For they took longer than the timeout."""
    given_up_after_s: float | None
    """What each of them was waited for at least, from when it was due."""
    ttft_at_least_that_from: str | None
    """The first of the tables' percentiles whose true value is at least that, or `max`."""
    e2e_at_least_that_from: str | None
    unanswered: int
    """As the run was ended before."""
    failed_otherwise: int
    in_words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """Failures of one kind."""

    kind: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Of whole answers, over the time from the start to the last end, the drain included."""

    requests_per_s: float
    prompt_tokens_per_s: float | None
    output_tokens_per_s: float | None
    asked_requests_per_s: float | None
    """Of an open loop: how many were due, over the time from the first to the last of them."""
    answered_while_due_per_s: float | None = None
    """Of an open loop: answers from the first one until the last request was due, so without the
    time in which there could be none yet, and without the drain; None if they are few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """Requests that kept every bound; one that failed kept none."""

    slo: dict[str, float]
    """Bounds in seconds."""
    kept: int
    of: int
    share: float
    requests_per_s: float
    missed: dict[str, int]
    """By bound: how many went beyond it, failed ones apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRate:
    """Cached over prompt tokens, by one source."""

    source: str
    prompt_tokens: float
    cached_tokens: float
    hit_rate: float | None
    answers: int | None
    """That say how many tokens were cached; None where the source does not count answers."""
    silent_answers: int | None
    """That do not say, and are left out."""
    floor: float | None
    """The rate if silent answers had hit nothing, where some do say. Those without any usage count
    with the prompt tokens that were asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantPart:
    """The requests of one tenant."""

    tenant: str
    requests: int
    failed: int
    hit_rate: float | None
    prompt_tokens: int
    ttft: Spread | None
    e2e: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePart:
    """The answers whose cached share of the prompt lies in a range."""

    above: float
    """Excluded, but for the bucket of exactly nothing."""
    up_to: float
    requests: int
    ttft: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run."""

    kind: str = KIND
    version: int = VERSION
    stemcache: str
    started_at: str
    ended_by: str | None
    """What ended the run early, so that all figures are of a part of it; None if it is whole."""
    trace: TracePart
    target: TargetPart
    load: LoadPart
    counts: Counted
    window_s: float
    ttft_s: Spread | None
    inter_token_s: Spread | None
    """Over all gaps between events with text, of all answers."""
    tpot_s: Spread | None
    """One value an answer: time per output token after the first."""
    e2e_s: Spread | None
    send_lag_s: Spread | None
    """From due to sent: what of the latencies is the sender's own."""
    first_byte_s: Spread | None
    """From due to the head of the answer."""
    missing: Missing | None = None
    """What the spreads above do not have in them; None if that is nothing."""
    throughput: Throughput
    goodput: Goodput | None
    hit_rates: tuple[HitRate, ...]
    asked_prompt_tokens: int
    measured_prompt_tokens: int | None
    """Of the same answers, by their usage; None if none says."""
    output_tokens: int | None
    tenants: tuple[TenantPart, ...]
    cached_shares: tuple[SharePart, ...]
    errors: tuple[ErrorKind, ...]
    notes: tuple[str, ...]
    """What a reader has to know to read the figures right."""
    columns: dict[str, Column] | None = field(default=None)
    """Per request, for `stemcache compare` and for plots."""


def report_json(report: Report) -> bytes:
    """The report as JSON, indented but for the columns."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"


def without_columns(report: Report) -> Report:
    """The report without its figures per request."""
    return replace(report, columns=None)


def read_report(path: Path) -> Report:
    """A report that `--json` wrote. Raises UsageError for anything else."""
    try:
        report = msgspec.json.decode(_read(path), type=Report)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; check its name") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} is no report of a replay ({error}); give what --json FILE wrote"
        ) from None
    if report.kind != KIND or report.version != VERSION:
        raise UsageError(
            f"{path} is {report.kind!r}, version {report.version}; "
            f"give a report of {KIND!r}, version {VERSION}"
        )
    return report


def _read(path: Path) -> bytes:
    """A whole file, but for one that has no end. Raises OSError."""
    data = bytearray()
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            data += chunk
            if len(data) > _LARGEST_BYTES:
                raise UsageError(
                    f"{path} is larger than {_LARGEST_BYTES // 2**20} MiB; "
                    "give what --json FILE wrote"
                )
    return bytes(data)
