"""A report as a page. Pure but for what it is drawn with, the extra `report`."""

from stemcache.replay import figures
from stemcache.replay.page import Section, Table, make_page
from stemcache.replay.report import Report, Spread

__all__ = ["report_page"]


def report_page(report: Report) -> str:
    """HTML, complete in itself. `check_extra` has been called before."""
    counts, load, trace = report.counts, report.load, report.trace
    facts = {
        "target": f"{report.target.url} ({report.target.api}), model {report.target.model}",
        "trace": f"{trace.path}, {trace.requests_read:,} requests read, "
        f"{trace.left_out_too_long + trace.left_out_empty:,} left out",
        "pace": load.mode
        + (f", {load.concurrency} at once" if load.concurrency is not None else ""),
        "isolation": load.isolation_in_words,
        "requests": f"{counts.ok:,} answered, {counts.failed:,} failed, "
        f"{counts.unfinished:,} unfinished, {counts.not_sent:,} not sent",
        "started": report.started_at,
        "stemcache": report.stemcache,
    }
    sections = [
        *([Section(title="To read first", words=report.notes)] if report.notes else []),
        Section(title="Latency", words=_missing(report), tables=[_latencies(report)]),
        Section(title="Throughput and hit rate", tables=[_rates(report)]),
    ]
    columns = report.columns
    if columns is not None and counts.ok:
        sections += [
            Section(
                title="Time to first token",
                words=["Each dot is a request, each red line one that failed."],
                svg=figures.ttft_over_time(columns),
            ),
            Section(
                title="Distributions",
                words=["How many requests took at most so long."],
                svg=figures.distributions(columns),
            ),
            Section(
                title="In flight",
                words=["Requests that were due and not yet answered; failed ones are left out."],
                svg=figures.in_flight_over_time(columns),
            ),
        ]
        if report.hit_rates and report.hit_rates[0].hit_rate is not None:
            svg = figures.hit_rate_over_time(columns)
            sections.append(Section(title="Hit rate over time", svg=svg))
    if report.cached_shares:
        sections.append(Section(title="By cached share of the prompt", tables=[_shares(report)]))
    if report.tenants:
        sections.append(Section(title="Tenants", tables=[_tenants(report)]))
    if report.errors:
        rows = [[each.kind, f"{each.count:,}", " · ".join(each.examples)] for each in report.errors]
        sections.append(
            Section(title="Errors", tables=[Table(("kind", "count", "examples"), rows)])
        )
    return make_page("stemcache replay", facts, sections)


def _ms(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds * 1e3:,.1f}"


def _latencies(report: Report) -> Table:
    rows = [
        [name, *_row(spread)]
        for name, spread in (
            ("TTFT", report.ttft_s),
            ("between tokens", report.inter_token_s),
            ("time per token", report.tpot_s),
            ("end to end", report.e2e_s),
            ("send lag", report.send_lag_s),
        )
        if spread is not None
    ]
    return Table(("milliseconds", "mean", "p50", "p90", "p95", "p99", "max", "of"), rows)


def _missing(report: Report) -> tuple[str, ...]:
    return report.missing.in_words if report.missing is not None else ()


def _row(spread: Spread) -> list[str]:
    times = (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.max)
    return [*map(_ms, times), f"{spread.count:,}"]


def _rates(report: Report) -> Table:
    through = report.throughput
    rows = [["requests a second", f"{through.requests_per_s:,.1f}"]]
    if through.asked_requests_per_s is not None:
        answered = through.answered_while_due_per_s
        told = "unknown" if answered is None else f"{answered:,.1f}"
        rows.append(["asked a second, while due", f"{through.asked_requests_per_s:,.1f}"])
        rows.append(["answered a second, while due", told])
    if through.output_tokens_per_s is not None:
        rows.append(["output tokens a second", f"{through.output_tokens_per_s:,.0f}"])
    if report.goodput is not None:
        good = report.goodput
        rows.append(
            ["goodput", f"{good.requests_per_s:,.1f} requests a second, {good.share:.1%} of them"]
        )
    for rate in report.hit_rates:
        value = "unknown" if rate.hit_rate is None else f"{rate.hit_rate:.2%}"
        rows.append(
            [
                f"hit rate by {rate.source}",
                f"{value} ({rate.cached_tokens:,.0f} of {rate.prompt_tokens:,.0f} tokens)",
            ]
        )
    return Table(("", ""), rows)


def _shares(report: Report) -> Table:
    rows = [
        [
            "nothing" if part.up_to == 0 else f"{part.above:.0%} to {part.up_to:.0%}",
            f"{part.requests:,}",
            *((_ms(part.ttft.p50), _ms(part.ttft.p95), _ms(part.ttft.p99)) if part.ttft else ()),
        ]
        for part in report.cached_shares
    ]
    return Table(("cached", "requests", "TTFT p50, ms", "p95", "p99"), rows)


def _tenants(report: Report) -> Table:
    rows = [
        [
            part.tenant,
            f"{part.requests:,}",
            f"{part.failed:,}",
            "unknown" if part.hit_rate is None else f"{part.hit_rate:.1%}",
            _ms(part.ttft.p50 if part.ttft else None),
            _ms(part.ttft.p99 if part.ttft else None),
        ]
        for part in report.tenants
    ]
    heads = ("tenant", "requests", "failed", "hit rate", "TTFT p50, ms", "p99")
    return Table(heads, rows)
