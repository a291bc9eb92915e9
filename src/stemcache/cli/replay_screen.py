"""A replay's report, and a comparison of two, as tables for people."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stemcache.cli.fitting_table import Column, fitting_table
from stemcache.cli.printable import printable
from stemcache.replay.compare import SHARE_FAILED, Comparison, Line
from stemcache.replay.report import HitRate, Report, Spread

__all__ = ["show_comparison", "show_report"]

_LONGEST_NAME = 1024
"""Paths and addresses are told whole, so that they can be copied."""
_LONGEST_WORDS = 2000
"""Of a target, or of a note."""


def _ms(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    return f"{seconds * 1e3:,.1f}" if seconds < 1 else f"{seconds * 1e3:,.0f}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.0f}"


def _columns(heads: Iterable[tuple[str, int]], rows: Sequence[Sequence[str]]) -> list[Column]:
    """Of a table whose first column is of words. Each head says how well it can be spared."""
    return [
        Column(head, [row[at] for row in rows], left=at == 0, spare=spare)
        for at, (head, spare) in enumerate(heads)
    ]


def _pairs(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value, overflow="fold"))
    return table


def show_report(console: Console, report: Report) -> None:
    """Print it. Text of the target's own is never read as markup."""
    console.print(Text("stemcache replay", style="bold"))
    console.print(_pairs(_what(report)))
    console.print()
    fitting_table(console, _latencies(report))
    for line in report.missing.in_words if report.missing is not None else ():
        console.print(Text(line))
    console.print()
    console.print(_pairs(_rates(report)))
    if report.cached_shares:
        console.print()
        fitting_table(console, _shares(report))
    if report.tenants:
        console.print()
        fitting_table(console, _tenants(report))
        more = len(report.tenants) - _MOST_TENANTS
        if more > 0:
            console.print(Text(f"and {more:,} more"))
    if report.errors:
        console.print()
        console.print(_errors(report))
    if report.notes:
        console.print()
        for note in report.notes:
            console.print(Text(f"note: {_words(note)}"))


def _name(text: str) -> str:
    return printable(text, most_characters=_LONGEST_NAME)


def _words(text: str) -> str:
    return printable(text, most_characters=_LONGEST_WORDS)


def _what(report: Report) -> list[tuple[str, str]]:
    counts, load, trace = report.counts, report.load, report.trace
    left_out = [
        f"{count:,} {why}"
        for count, why in (
            (trace.left_out_too_long, "too long"),
            (trace.left_out_empty, "empty"),
        )
        if count
    ]
    blocks = f"blocks of {trace.tokens_per_block or trace.block_tokens}"
    if trace.tokens_per_block is not None:
        blocks += f", {trace.block_tokens} in the trace"
    pace = load.mode
    if load.concurrency is not None:
        pace += f", {load.concurrency} at once, think time {load.think}"
        pace += " s" if isinstance(load.think, float) else ""
    elif load.rate is not None:
        pace += f", rescaled to {load.rate:g} requests a second"
    else:
        pace += f", {load.speed:g} times the trace's speed"
    done = [f"{counts.ok:,} answered"]
    done += [
        f"{count:,} {what}"
        for count, what in (
            (counts.failed, "failed"),
            (counts.unfinished, "unfinished"),
            (counts.not_sent, "not sent"),
            (counts.retried, "sent again"),
        )
        if count
    ]
    return [
        (
            "target",
            f"{_name(report.target.url)} ({report.target.api}), model {_name(report.target.model)}",
        ),
        ("trace", f"{_name(trace.path)}, {trace.requests_read:,} requests read, {blocks}"),
        *((("left out", ", ".join(left_out)),) if left_out else ()),
        ("pace", pace),
        ("prompts", load.encoding),
        ("isolation", _words(load.isolation_in_words)),
        ("requests", f"{', '.join(done)}, in {report.window_s:,.1f} s"),
    ]


def _latencies(report: Report) -> list[Column]:
    heads = ("milliseconds", 0), ("mean", 2), ("p50", 0), ("p90", 4)
    more = ("p95", 1), ("p99", 0), ("max", 3), ("of", 5)
    named = (
        ("TTFT", report.ttft_s),
        ("between tokens", report.inter_token_s),
        ("time per token", report.tpot_s),
        ("end to end", report.e2e_s),
        ("send lag", report.send_lag_s),
    )
    rows = [[name, *_spread(spread)] for name, spread in named if spread is not None]
    return _columns((*heads, *more), rows)


def _spread(spread: Spread) -> list[str]:
    times = (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.max)
    return [*map(_ms, times), f"{spread.count:,}"]


def _rates(report: Report) -> list[tuple[str, str]]:
    through = report.throughput
    rates = (
        f"{through.requests_per_s:,.1f} requests a second",
        f"{_number(through.output_tokens_per_s)} output tokens a second",
        f"{_number(through.prompt_tokens_per_s)} prompt tokens",
    )
    rows = [("throughput", ", ".join(rates))]
    if through.asked_requests_per_s is not None:
        answered = through.answered_while_due_per_s
        rows.append(
            (
                "while due",
                f"{through.asked_requests_per_s:,.1f} requests a second asked, "
                + (
                    "too few answers to tell their rate"
                    if answered is None
                    else f"{answered:,.1f} answered"
                ),
            )
        )
    good = report.goodput
    if good is not None:
        bounds = ", ".join(f"{name} {_ms(bound)} ms" for name, bound in good.slo.items())
        missed = ", ".join(f"{name} {count:,}" for name, count in good.missed.items())
        rate = f"{good.requests_per_s:,.1f} requests a second"
        rows.append(("goodput", f"{rate}, {good.share:.1%} within {bounds} (beyond: {missed})"))
    rows += [(f"hit rate, {rate.source}", _hit_rate(rate)) for rate in report.hit_rates]
    return rows


def _hit_rate(rate: HitRate) -> str:
    if rate.hit_rate is None:
        return "unknown"
    text = f"{rate.hit_rate:.2%}, {rate.cached_tokens:,.0f} of {rate.prompt_tokens:,.0f} tokens"
    return text + (f", {rate.answers:,} answers" if rate.answers is not None else "")


def _shares(report: Report) -> list[Column]:
    heads = ("cached of the prompt", 0), ("requests", 3), ("TTFT p50", 0), ("p95", 2), ("p99", 1)
    rows = []
    for part in report.cached_shares:
        name = "nothing" if part.up_to == 0 else f"{part.above:.0%} to {part.up_to:.0%}"
        ttft = part.ttft
        times = (None,) * 3 if ttft is None else (ttft.p50, ttft.p95, ttft.p99)
        rows.append([name, f"{part.requests:,}", *map(_ms, times)])
    return _columns(heads, rows)


_MOST_TENANTS = 20


def _tenants(report: Report) -> list[Column]:
    heads = ("tenant", 0), ("requests", 2), ("failed", 4), ("hit rate", 0)
    times_heads = ("TTFT p50", 0), ("p99", 1), ("e2e p50", 5), ("p99", 6)
    rows = []
    for part in report.tenants[:_MOST_TENANTS]:
        times = [
            value
            for spread in (part.ttft, part.e2e)
            for value in ((spread.p50, spread.p99) if spread is not None else (None, None))
        ]
        counts = (f"{part.requests:,}", f"{part.failed:,}", _share(part.hit_rate))
        rows.append([printable(part.tenant), *counts, *map(_ms, times)])
    return _columns((*heads, *times_heads), rows)


def _errors(report: Report) -> Table:
    table = Table.grid(padding=(0, 2))
    for error in report.errors:
        table.add_row(
            Text(_name(error.kind), style="red"),
            f"{error.count:,}",
            Text("\n".join(map(_words, error.examples))),
        )
    return table


def show_comparison(console: Console, comparison: Comparison, names: tuple[str, str]) -> None:
    """Print both runs' figures side by side."""
    console.print(Text("stemcache compare", style="bold"))
    how = "pairs of one request" if comparison.paired else "requests that are not paired"
    console.print(
        _pairs(
            [
                ("A", _name(names[0])),
                ("B", _name(names[1])),
                ("interval", f"95%, bootstrap over {how}, seed {comparison.seed}"),
            ]
        )
    )
    console.print()
    heads = ("figure", 0), ("A", 3), ("B", 2), ("B - A", 0), ("95% interval", 1), ("of", 4)
    rows = [[each.name, *_compared(each)] for each in comparison.lines]
    fitting_table(console, _columns((*heads, ("B is", 0)), rows))
    console.print()
    console.print(Text(_verdict(comparison)))
    for note in comparison.notes:
        console.print(Text(f"note: {_words(note)}"))


def _verdict(comparison: Comparison) -> str:
    """With the failed requests, which every other figure leaves out."""
    sentence = _in_a_sentence(comparison)
    failed = next((each for each in comparison.lines if each.name == SHARE_FAILED), None)
    if failed is None or failed.difference.a == failed.difference.b:
        return sentence
    a, b = f"{failed.difference.a:.2%}", f"{failed.difference.b:.2%}"
    return f"{sentence} {a} of A's requests failed and {b} of B's: those have no latency here."


def _in_a_sentence(comparison: Comparison) -> str:
    apart = [each for each in comparison.lines if each.difference.distinguishable]
    if not apart:
        return "B cannot be told from A: every difference is within noise."
    return f"B differs from A: {', '.join(f'{each.name} is {each.verdict}' for each in apart)}."


def _compared(row: Line) -> list[str]:
    diff = row.difference
    if row.unit == "s":
        a, b = f"{_ms(diff.a)} ms", f"{_ms(diff.b)} ms"
        value, low, high = (f"{1e3 * x:+,.1f}" for x in (diff.value, diff.low, diff.high))
    else:
        a, b = f"{diff.a:.2%}", f"{diff.b:.2%}"
        value, low, high = (f"{100 * x:+.2f}" for x in (diff.value, diff.low, diff.high))
    return [a, b, value, f"{low} to {high}", f"{row.requests:,}", row.verdict]
